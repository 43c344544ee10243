import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { capture } from "./capture.ts";
import { ObjectMap } from "./objects.ts";
import { Trees } from "./tree.ts";

test("several may take the files of one directory at the same time, and one memory stays", async () => {
  const home = await mkdtemp(join(tmpdir(), "capture-"));
  const directory = await mkdtemp(join(tmpdir(), "captured-"));
  for (let at = 0; at < 50; at++) await writeFile(join(directory, `f${at}`), `${at}`);
  const trees = new Trees(new ObjectMap());
  const memory = join(home, "captures");
  const taken = await Promise.all([1, 2, 3, 4].map(() => capture(trees, directory, { memory })));
  expect(new Set(taken.map(({ tree }) => tree)).size).toBe(1);
  expect(await readdir(memory)).toHaveLength(1);
  await Promise.all([home, directory].map((path) => rm(path, { recursive: true })));
});
