/** Documents that name files of the repository name files that are there: a renamed one is found here, not by a reader. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { filesUnder } from "./files-under.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (document: string): string => readFileSync(`${root}${document}`, "utf8");

/** Paths from the root of everything that may be named. */
async function everything(): Promise<readonly string[]> {
  const folders = ["src", "inspector/src", "test", "scripts", "docs", "decisions", "examples"];
  const below = folders.map(async (folder) => (await filesUnder(`${root}${folder}`, "")).map((file) => `${folder}/${file}`));
  return [...readdirSync(root), ...(await Promise.all(below)).flat()];
}

/** A name may leave out the folders that stand before it. */
async function notThere(document: string): Promise<readonly string[]> {
  const files = await everything();
  const named = [...read(document).matchAll(/`([\w./-]+\.(?:ts|tsx|mjs|md|json))`/g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(20);
  return named.filter((name) => !files.some((file) => file === name || file.endsWith(`/${name}`)));
}

test.each(["ARCHITECTURE.md", "docs/guides/security.md"])("%s names files that are there", async (document) => {
  expect(await notThere(document)).toEqual([]);
});

test("relative links of pages lead to files of the repository, so that they work there too", async () => {
  const written = await filesUnder(`${root}docs`, ".md");
  const pages = [...readdirSync(root).filter((name) => name.endsWith(".md")), ...written.map((page) => `docs/${page}`)];
  const links = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link = ""]) => ({
      page,
      link,
      target: join(root, dirname(page), link),
    })),
  );
  expect(links.length).toBeGreaterThan(100);
  const dead = links.filter(({ target }) => !existsSync(target) && !relative(root, target).startsWith("docs/reference/"));
  expect(dead.map(({ page, link }) => `${page}: ${link}`)).toEqual([]);
});

test("ARCHITECTURE.md says what each folder of src is for", () => {
  const text = read("ARCHITECTURE.md");
  const layers = text.slice(text.indexOf("## Layers"), text.indexOf("## Invariants"));
  const folders = readdirSync(`${root}src`, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).filter((name) => !new RegExp(`\\b${name}\\b`).test(layers))).toEqual([]);
});
