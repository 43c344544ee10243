/** What guides say of tests is true: the files are there, and there are as many attacks as the security model says. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { cases } from "../hostile/cases.ts";
import { filesUnder } from "./files-under.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const guides = join(root, "docs/guides");

test("every test that a guide names is there", async () => {
  const named: string[] = [];
  for (const page of await filesUnder(guides, ".md"))
    for (const [path] of (await readFile(join(guides, page), "utf8")).matchAll(/\b(?:src|test|docs\/snippets)\/[\w./-]+\w/g))
      named.push(path);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("the security model counts the attacks", async () => {
  expect(await readFile(join(guides, "security.md"), "utf8")).toContain(`is ${cases.length} attacks`);
});
