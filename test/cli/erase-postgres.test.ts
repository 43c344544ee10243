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
