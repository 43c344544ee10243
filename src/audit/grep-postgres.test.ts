import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshDatabase } from "../../test/support/postgres.ts";
import { openrath } from "../openrath.ts";
import { grep } from "./grep.ts";
import { scan } from "./scan.ts";

let home = "";
const before = process.env["OPENRATH_HOME"];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "openrath-grep-"));
  process.env["OPENRATH_HOME"] = home;
});
afterAll(async () => {
  if (before === undefined) delete process.env["OPENRATH_HOME"];
  else process.env["OPENRATH_HOME"] = before;
  await rm(home, { recursive: true, force: true });
});

test("a database is searched by an index in this machine's home, and scanned", async () => {
  await using database = await freshDatabase();
  await using rath = openrath({ store: database.url });
  const made = await rath.save(rath.session("a needle", { title: "Sewing" }).note(`${"long ".repeat(1000)}needle`));
  await rath.save(made.fork("other").note("another needle"));
  const found = async (pattern: string): Promise<string[]> => {
    const places: string[] = [];
    for await (const { kind, where } of grep(rath, pattern)) places.push(`${kind} ${where}`);
    return places;
  };
  for (let round = 0; round < 2; round++) {
    expect(await found("needle")).toEqual(["message.added parts[0].text", "note.added text", "note.added text"]);
    expect(await found("haystack")).toEqual([]);
  }
  expect((await readdir(home)).filter((name) => /^index-[0-9a-f]{16}\.db$/.test(name))).toHaveLength(1);
  expect(await scan(rath)).toMatchObject({ clean: true, looked: { logs: 2, blobs: 1 } });
  expect((await scan(rath, { secrets: ["another needle"] })).findings).toMatchObject([{ in: "event", where: "data.text" }]);
});
