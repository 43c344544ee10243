/** Searching a store in which a log cannot be read: what others have is found, and the damage is told. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serve } from "../../test/support/served.ts";
import { openrath } from "../openrath.ts";
import type { Rath } from "../runtime/rath.ts";
import { openDatabase } from "../sqlite/driver.ts";
import { type GrepHit, grep } from "./grep.ts";

/** What is found, and how it ends. */
async function searched(rath: Rath, pattern: string, limit?: number): Promise<{ found: string[]; code: string | undefined }> {
  const found: string[] = [];
  try {
    for await (const { session } of grep(rath, pattern, { limit })) found.push(session);
    return { found, code: undefined };
  } catch (error) {
    return { found, code: (error as { code: string }).code };
  }
}

// Mutants: the search ends at the first damaged log; what is damaged is left out without a word; the same where an index chose what to read. Over HTTP: a page with
// hits is lost to the damage; the last page says nothing of it.
test.each([false, true])("hits in other logs come, and then the damage of one; indexed before: %s", async (indexed) => {
  const folder = await mkdtemp(join(tmpdir(), "openrath-grep-damaged-"));
  try {
    const store = join(folder, "store.db");
    const ids: string[] = [];
    {
      await using rath = openrath({ store });
      for (const name of ["first", "second", "third"]) {
        const saved = await rath.save(rath.session(`the tide of the ${name}`));
        ids.push((await rath.save(saved.note("and later"))).id);
      }
      if (indexed) for (let times = 0; times < 2; times++) expect((await searched(rath, "tide")).found).toEqual(ids);
    }
    const database = openDatabase(store);
    const log = `(SELECT no FROM logs WHERE id = '${ids[1]}')`;
    // Its end stays, so that an index takes the log for the one it knows.
    database.exec(
      `UPDATE frames SET body = zeroblob(length(body)) WHERE place = (SELECT min(place) FROM frames WHERE place / 16777216 = ${log})`,
    );
    database.close();
    await using rath = openrath({ store });
    const others = [ids[0], ids[2]];
    expect(await searched(rath, "tide")).toEqual({ found: others, code: "store.corrupt" });
    expect(await searched(rath, "a word that is nowhere")).toMatchObject({ found: [] });
    // Over HTTP it is told by the page after the last hit.
    const pages = serve(rath);
    const { items, next } = await pages.ask("grepProject", { q: "tide" });
    expect([items.map((hit: GrepHit) => hit.session), next]).toEqual([others, "2"]);
    expect(await pages.refused("grepProject", { q: "tide", after: next })).toMatchObject({ status: 500, code: "store.corrupt" });
    expect(await pages.ask("grepProject", { q: "tide", limit: 1 })).toMatchObject({ items: [{ session: ids[0] }], next: "1" });
    // Who has enough is not told of what was not asked for.
    expect(await searched(rath, "tide", 2)).toEqual({ found: others, code: undefined });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
