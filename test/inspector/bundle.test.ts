/** How much a browser loads before it shows something. */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { builtInspector } from "../support/built.ts";

test("the first view is at most 600 KB gzipped, with the graph and what it needs", async () => {
  const folder = `${await builtInspector()}/`;
  const page = readFileSync(`${folder}index.html`, "utf8");
  const loaded = new Set<string>();
  const load = (name: string): void => {
    if (loaded.has(name)) return;
    loaded.add(name);
    if (!name.endsWith(".js")) return;
    // What a file imports is loaded with it; what it imports later is not.
    const text = readFileSync(`${folder}assets/${name}`, "utf8");
    for (const [, other = ""] of text.matchAll(/(?:import|from)\s*["']\.\/([\w.-]+)["']/g)) load(other);
  };
  for (const [, name = ""] of page.matchAll(/assets\/([\w.-]+)/g)) load(name);
  for (const name of readdirSync(`${folder}assets`)) if (/^(?:graph|sessions)-screen/.test(name)) load(name);
  const bytes = [...loaded].reduce((sum, name) => sum + gzipSync(readFileSync(`${folder}assets/${name}`)).length, gzipSync(page).length);
  console.log(`inspector: first view ${(bytes / 1000).toFixed(0)} KB gzipped in ${loaded.size} files`);
  expect(bytes).toBeLessThan(600_000);
  expect([...loaded].filter((name) => /shiki|highlight|patch|diff-view/.test(name))).toEqual([]);
});
