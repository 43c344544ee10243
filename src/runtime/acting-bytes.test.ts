/** Bytes that are kept under their hash are nobody's to change: tools and users give and get copies. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sharedStore } from "../../test/support/shared-store.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";

/** The files as whoever opens the session later reads them. */
async function texts(session: Session, paths: readonly string[]): Promise<readonly string[]> {
  return Promise.all(paths.map((path) => session.files.text(path)));
}

test("a tool may use one buffer for many files", async () => {
  const store = sharedStore();
  const names = ["f0", "f1", "f2"];
  const contents = ["0000", "1111", "2222"];
  await using rath = testRath({ store });
  const written = await rath
    .session("x")
    .to("memory", {})
    .do("write", async ({ sandbox }) => {
      const buffer = Buffer.alloc(4);
      const writing = names.map((name, index) => {
        buffer.write(contents[index] as string);
        return sandbox.write(name, buffer);
      });
      await Promise.all(writing);
      buffer.fill("x");
    });
  expect(await texts(written, names)).toEqual(contents);
  await rath.save(written);
  await using later = testRath({ store });
  expect(await texts(await later.open(written.id), names)).toEqual(contents);
});

test("a tool may change the bytes that it read", async () => {
  await using rath = testRath();
  const base = await rath
    .session("x")
    .to("memory", {})
    .do("write", ({ sandbox }) => sandbox.write("a", "old"));
  const next = await base.do("flip", async ({ sandbox }) => {
    const bytes = await sandbox.read("a");
    bytes[0] = 79;
    const again = Buffer.from(await sandbox.read("a")).toString();
    await sandbox.write("b", bytes);
    return again;
  });
  expect(next.output).toBe("old");
  expect(await texts(next, ["a", "b"])).toEqual(["old", "Old"]);
});

test("what a user does to bytes of a session reaches no command and no directory", async () => {
  const directory = await mkdtemp(join(tmpdir(), "bytes-"));
  await writeFile(join(directory, "a"), "first");
  const store = sharedStore();
  await using rath = testRath({ store });
  const { id } = await rath
    .session("x")
    .to("memory", { workspace: directory })
    .do("write", ({ sandbox }) => sandbox.write("a", "second"));
  await rath.close();
  await using later = testRath({ store });
  const session = await later.open(id);
  (await session.files.read("a")).fill(90);
  const seen = await session.do("cat", async ({ sandbox }) => (await sandbox.exec("cat a")).stdout);
  expect(seen.output).toBe("second");
  await session.apply(directory);
  expect(await readFile(join(directory, "a"), "utf8")).toBe("second");
  await rm(directory, { recursive: true });
});
