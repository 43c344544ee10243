/** Looks at every link, picture and script of the built site. VitePress looks at pages alone: not at anchors, nor at what is not Markdown. */
import { readdir, readFile } from "node:fs/promises";
import { join, posix } from "node:path";

export interface DeadLink {
  readonly page: string;
  readonly link: string;
  readonly why: string;
}

export interface LinkReport {
  /** How many were looked at. */
  readonly links: number;
  readonly dead: readonly DeadLink[];
}

/** A site is read offline too: whatever it loads, it has. Links that a reader follows may lead elsewhere. */
export async function deadLinks(folder: string, base = "/"): Promise<LinkReport> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = new Set(
    entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)),
  );
  const pages = new Map<string, string>();
  for (const file of files) if (file.endsWith(".html")) pages.set(file, await readFile(join(folder, file), "utf8"));
  const anchors = new Map([...pages].map(([file, html]) => [file, idsOf(html)]));
  const dead: DeadLink[] = [];
  let links = 0;
  for (const [page, html] of pages)
    for (const { link, loads } of linksOf(html)) {
      links++;
      const why = whyDead(page, link, loads);
      if (why !== undefined) dead.push({ page, link, why });
    }
  return { links, dead };

  function whyDead(page: string, link: string, loads: boolean): string | undefined {
    if (/^(https?:)?\/\//.test(link)) return loads ? "is loaded from elsewhere" : undefined;
    if (/^(mailto|data|javascript):/.test(link)) return undefined;
    const [path = "", anchor] = decodeURIComponent(link).split("#");
    const asked = path.split("?")[0] ?? "";
    const target = asked === "" ? page : fileOf(asked.startsWith(base) ? asked.slice(base.length) : posix.join(posix.dirname(page), asked));
    if (target === undefined) return "leads nowhere";
    if (anchor === undefined || anchor === "" || anchors.get(target)?.has(anchor) !== false) return undefined;
    return `has no such anchor in ${target}`;
  }

  function fileOf(path: string): string | undefined {
    return [path, posix.join(path, "index.html"), `${path}.html`].find((file) => files.has(file));
  }
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => unescaped(id)));
}

function linksOf(html: string): readonly { readonly link: string; readonly loads: boolean }[] {
  const tags = [...html.matchAll(/<(a|img|script|link|source|iframe)\s[^>]*?\b(?:href|src)="([^"]*)"/g)];
  return tags.map(([, tag, link = ""]) => ({ link: unescaped(link), loads: tag !== "a" }));
}

function unescaped(text: string): string {
  return text.replaceAll("&amp;", "&").replaceAll("&quot;", '"').replaceAll("&#39;", "'");
}
