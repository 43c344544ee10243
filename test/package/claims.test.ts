// The ledgers name tests and scripts. This keeps them from naming what does not exist; it cannot judge whether a status is right.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const read = (file: string) => readFile(new URL(file, root), "utf8");
const claims = await read("docs/claims.md");
const parity = await read("docs/parity.md");
const { scripts } = JSON.parse(await read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };

test("the claims hold one row for each of R1 to R64", () => {
  const rows = [...claims.matchAll(/^\| R(\d+) \|/gm)].map(([, number]) => Number(number));
  expect(rows).toEqual(Array.from({ length: 64 }, (_, index) => index + 1));
});

test("every claim has a known status, and a command unless nothing shows it", () => {
  const rows = [...claims.matchAll(/^\| (R\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \| [^|]+ \|$/gm)];
  expect(rows).toHaveLength(64);
  const wrong = rows.filter(([, , status, command]) =>
    status === "not yet" ? command !== "–" : !/^(supported|partial)$/.test(status ?? "") || command === "–",
  );
  expect(wrong.map(([, name]) => name)).toEqual([]);
});

test("parity holds G1 to G12, and a known state in every row", () => {
  const gaps = [...parity.matchAll(/^\| G(\d+) \|/gm)].map(([, number]) => Number(number));
  expect(gaps).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
  const rows = parity.split("\n").filter((line) => /^\| (?!capability|defect|G \|)/.test(line));
  expect(rows.filter((row) => !/ \| (covered|partly|planned|not planned) \| [^|]+ \|$/.test(row))).toEqual([]);
});

test.each(["docs/claims.md", "docs/parity.md"])("%s names only tests and scripts that exist", async (file) => {
  const text = await read(file);
  const paths = new Set([...text.matchAll(/\b(?:src|test)\/[\w./-]*/g)].map(([path]) => path));
  const commands = new Set([...text.matchAll(/`npm (?:run )?([\w:]+)`/g)].map(([, name]) => name ?? ""));
  const missing = [...paths].filter((path) => !existsSync(fileURLToPath(new URL(path, root))));
  expect([...missing, ...[...commands].filter((name) => !(name in scripts))].sort()).toEqual([]);
});

test("docs/parity.md quotes only names of tests that are in the file before them", async () => {
  const quoted = [...parity.matchAll(/`((?:src|test)\/[\w./-]*)` \(("[^|]*?")\)/g)].flatMap(([, file = "", names = ""]) =>
    [...names.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => ({ file, name })),
  );
  expect(quoted.length).toBeGreaterThan(40);
  const missing = await Promise.all(
    quoted.map(async ({ file, name }) => ((await read(file)).includes(`"${name}"`) ? [] : [`${file}: ${name}`])),
  );
  expect(missing.flat()).toEqual([]);
});
