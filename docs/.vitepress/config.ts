import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { repositoryLinks } from "../build/repository-links.ts";
import { nav, sidebar } from "./sidebar.ts";

/** The site may lie in any folder of a server: DOCS_BASE says which. */
const base = process.env["DOCS_BASE"] ?? "/";

export default defineConfig({
  title: "OpenRath",
  description: "A runtime for agents in which the session is the program's value.",
  lang: "en-GB",
  cleanUrls: false,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `${base}icon.svg` }]],
  base,
  outDir: "dist",
  cacheDir: ".vitepress/cache",
  srcExclude: ["snippets/**", "build/**", "inspector-checklist.md"],
  lastUpdated: false,
  markdown: { config: (md) => repositoryLinks(md, fileURLToPath(new URL("..", import.meta.url))) },
  themeConfig: {
    logo: "/icon.svg",
    nav,
    sidebar,
    search: { provider: "local" },
    outline: { level: [2, 3] },
    docFooter: { prev: "Before", next: "Next" },
  },
});
