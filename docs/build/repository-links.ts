/** Pages link to files of the repository, which the site does not have: there such a link is text. A file that is not there fails the build. */
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { MarkdownOptions } from "vitepress";

type MarkdownIt = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

export function repositoryLinks(md: MarkdownIt, docs: string): void {
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    const page = (env as { readonly path?: string }).path ?? docs;
    for (const { children } of tokens) {
      let outside = false;
      for (const token of children ?? []) {
        if (token.type === "link_open") {
          const file = repositoryFile(token.attrGet("href") ?? "", page, docs);
          outside = file !== undefined;
          if (file === undefined) continue;
          token.tag = "span";
          token.attrs = [
            ["class", "in-repository"],
            ["title", `${file}, in the repository`],
          ];
        } else if (token.type === "link_close" && outside) {
          token.tag = "span";
          outside = false;
        }
      }
    }
  });
}

/** The file a link leads to, where that is outside docs/. */
function repositoryFile(href: string, page: string, docs: string): string | undefined {
  if (!/^\.\.?\//.test(href)) return undefined;
  const target = resolve(dirname(page), href.split("#")[0] ?? "");
  if (!relative(docs, target).startsWith("..")) return undefined;
  const file = relative(join(docs, ".."), target);
  if (!existsSync(target)) throw new Error(`${relative(docs, page)} links to ${file}, which is not in the repository`);
  return file;
}
