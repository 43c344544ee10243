/** llms.txt names every page for models that read; llms-full.txt holds the texts, with the code they show. */
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DefaultTheme } from "vitepress";
import { sidebar } from "../.vitepress/sidebar.ts";

/** Gives the number of pages. */
export async function writeLlms(docs: string): Promise<number> {
  const lines = [
    "# OpenRath",
    "",
    "> A TypeScript runtime for agents in which the Session is the program's value: immutable, with everything that was said, asked of a model,",
    "> done by a tool, written to a file and decided. Sessions are forked, merged, killed and resumed, replayed, rerun and verified.",
    "",
    "All pages as one text: llms-full.txt.",
  ];
  const texts: string[] = [];
  let pages = 0;
  for (const { text: heading = "", items = [] } of sidebar as DefaultTheme.SidebarItem[]) {
    lines.push("", `## ${heading}`, "");
    for (const { text = "", link = "" } of items) {
      const path = `${link.slice(1)}${link.endsWith("/") ? "index" : ""}`;
      const page = await readFile(join(docs, `${path}.md`), "utf8");
      lines.push(`- [${text}](${path}.html): ${firstSentence(page)}`);
      texts.push(await withCode(page, dirname(join(docs, path))));
      pages++;
    }
  }
  await writeFile(join(docs, "dist/llms.txt"), `${lines.join("\n")}\n`);
  await writeFile(join(docs, "dist/llms-full.txt"), texts.join("\n\n---\n\n"));
  return pages;
}

function body(page: string): string {
  return page.replace(/^---\n.*?\n---\n/s, "").trim();
}

/** What a page is about: the beginning of its first paragraph, outside its code. */
function firstSentence(page: string): string {
  const paragraph = body(page)
    .replace(/^```.*?^```$/gms, "")
    .split(/\n{2,}/)
    .find((part) => /^[A-Z`[*]/.test(part));
  const words = (paragraph ?? "").replace(/\s+/g, " ").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return /^.*?[.:](?= |$)/.exec(words)?.[0].replace(/:$/, ".") ?? words;
}

/** Snippets in place of the lines that include them; drawings say what they show. */
async function withCode(page: string, folder: string): Promise<string> {
  const parts: string[] = [];
  for (const line of body(page)
    .replace(/<svg.*?<\/svg>/gs, told)
    .split("\n")) {
    const drawing = /^\s*<!--@include: (\S+\.svg)-->$/.exec(line)?.[1];
    if (drawing !== undefined) {
      parts.push(told(await readFile(join(folder, drawing), "utf8")));
      continue;
    }
    const [, path, region] = /^\s*<<< (\S+?)(?:#([\w-]+))?(?:\{.*\})?(?:\s*\[.*\])?$/.exec(line) ?? [];
    if (path === undefined) parts.push(line);
    else
      parts.push(
        "```ts",
        regionOf(await readFile(path.startsWith("@/") ? join(folder, "..", path.slice(2)) : join(folder, path), "utf8"), region),
        "```",
      );
  }
  return parts.join("\n");
}

/** What a drawing says of itself. */
function told(svg: string): string {
  const [title, text] = ["title", "desc"].map((name) => new RegExp(`<${name}[^>]*>(.*?)</${name}>`, "s").exec(svg)?.[1]);
  if (title === undefined) throw new Error(`A drawing has no title: ${svg.slice(0, 80)}`);
  return `[drawing: ${text === undefined ? title : `${title}. ${text}`}]`;
}

function regionOf(source: string, region: string | undefined): string {
  const inside =
    region === undefined ? source : (new RegExp(`// #region ${region}\\n(.*?)\\n\\s*// #endregion`, "s").exec(source)?.[1] ?? source);
  return inside
    .split("\n")
    .filter((line) => !/^\s*\/\/ #(end)?region/.test(line))
    .join("\n")
    .trim();
}
