import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Cli } from "./cli.ts";
import { printFile } from "./print-file.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-print-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Prints a file, and hands over what is written. */
async function printed(file: string, write: (text: string) => void): Promise<void> {
  const terminal = { columns: 80, isTTY: false, write };
  const input = { isTTY: false, text: async () => "", lines: async function* () {} };
  const { signal } = new AbortController();
  const host = { out: terminal, err: terminal, input, env: {}, cwd: folder, signal, now: () => new Date(0) };
  await printFile(new Cli(host, () => Promise.reject(new Error("no project"))), file);
}

// Mutant: the file is read as one text.
test("a file that is longer than a text can be is printed whole", async () => {
  const file = join(folder, "large");
  const [line, lines] = [2 ** 25, 16];
  const handle = await open(file, "w");
  // Nothing but the ends of lines is written: the rest takes no place on the disk.
  for (let index = 1; index <= lines; index++) await handle.write("\n", index * line - 1);
  await handle.close();
  let length = 0;
  await printed(file, (text) => {
    length += text.length;
  });
  expect(length).toBe(line * lines);
});

test("letters are whole wherever the file was cut into pieces", async () => {
  const file = join(folder, "letters");
  const text = `${"a日😀".repeat(50_000)}\n\nend\n`;
  await writeFile(file, text);
  let out = "";
  await printed(file, (more) => {
    out += more;
  });
  expect(out).toBe(text);
});
