/** What `openrath erase` says of a store in PostgreSQL that SQLite has no need of. */
import { expect, test } from "vitest";
import { projectOf } from "../../src/cli/project.ts";
import { openrath } from "../../src/openrath.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { call } from "../golden-cli/world.ts";
import { ownSchemas } from "../support/postgres.ts";

let url = "";
const schema = ownSchemas((shared) => {
  url = shared;
});

test("the tables whose files may hold bytes of it are listed once it is done", async () => {
  const name = schema();
  const opened = () => openrath({ store: postgresStore(url, { schema: name }) });
  const made = opened();
  const { id } = await made.session("My PIN is 4711").do("x", () => 1);
  await made.close();
  const run = (...argv: readonly string[]) =>
    call(() => projectOf(opened(), undefined), ["erase", id, "--reason", "asked", ...argv], { terminal: false });
  expect((await run("--dry-run")).out).not.toContain("table");
  const { exit, out, err } = await run("--yes");
  expect(exit).toBe(0);
  expect(out).toContain(`left\ttable\t${name}.frames, ${name}.blobs, `);
  expect(err).toMatch(/1 thing still says, names or may hold it: see above/);
});

test("gc says as erase does that the files are not clean, and no more once they are", async () => {
  const name = schema();
  let mayVacuum = false;
  const opened = () => {
    const store = postgresStore(url, { schema: name });
    return openrath({ store: { ...store, scrub: async () => (mayVacuum ? ((await store.scrub?.()) ?? true) : false) } });
  };
  const made = opened();
  const { id } = await made.session("My PIN is 4711").do("x", () => 1);
  await made.close();
  const run = (...argv: readonly string[]) => call(() => projectOf(opened(), undefined), argv, { terminal: false });
  const unclean = /not clean yet: the files of the store may still hold what was erased.*\n.*openrath gc, when/;
  expect((await run("erase", id, "--reason", "asked", "--yes")).err).toMatch(unclean);
  const open = await run("gc");
  expect([open.exit, open.err]).toEqual([0, expect.stringMatching(unclean)]);
  expect(JSON.parse((await run("gc", "--json")).out)).toMatchObject({ finished: [], open: [expect.stringMatching(/^[0-9a-f]{64}$/)] });
  mayVacuum = true;
  const done = await run("gc");
  expect(done.err).toMatch(/1 erasure that had been interrupted was finished/);
  expect(done.err).not.toMatch(/not clean/);
});
