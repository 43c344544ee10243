/** What `verify` says of contents of files that were erased: who took them, and what else lies under their names. */
import { hash } from "node:crypto";
import { mkdtemp, rm, writeFile as toDisk } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sharedStore } from "../../test/support/shared-store.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { writeFile } from "../tool/builtin/tools.ts";
import { verify } from "./verify.ts";

const secret = "the word is Xanadu\n";
const name = hash("sha256", secret);

/** A session whose file was in its directory: no event says what is in it, and the erasure takes its content alone. */
async function erasedIn(store: Store): Promise<Session> {
  const workspace = await mkdtemp(join(tmpdir(), "openrath-erased-"));
  await toDisk(join(workspace, "secret.txt"), secret);
  await using rath = testRath({ store });
  const placed = rath.session("Begin").to("memory", { workspace });
  const session = await placed.call(writeFile, { path: "open.txt", content: "for all\n" });
  await rm(workspace, { recursive: true });
  await rath.erase({ matching: "Xanadu" }, { by: "human:ada", reason: "asked to" });
  return session;
}

// Mutant: erasures are counted by events alone.
test("an erased content that the record names is told, with who erased it", async () => {
  const store = sharedStore();
  const { id } = await erasedIn(store);
  await using rath = testRath({ store });
  const found = await verify(await rath.open(id));
  expect(found).toMatchObject({ ok: true, erased: 0, erasures: [{ by: "human:ada", reason: "asked to", events: 0, contents: 1 }] });
  expect(found.unchecked).toContainEqual({
    part: "data",
    count: 1,
    why: "content of a file that was erased: what it said cannot be judged",
  });
});

// Mutant: whatever is wrong with a listed content is taken for its erasure.
test("other bytes under the name of an erased content are a problem", async () => {
  const kept = sharedStore();
  const { id } = await erasedIn(kept);
  const store: Store = { ...kept, blob: async (asked) => (asked === name ? Buffer.from("forged") : await kept.blob(asked)) };
  await using rath = testRath({ store });
  const { problems, erasures } = await verify(await rath.open(id));
  expect(problems).toMatchObject([{ kind: "changed", problem: `blob ${name} was changed: its SHA-256 is not its name` }]);
  expect(erasures).toEqual([]);
});
