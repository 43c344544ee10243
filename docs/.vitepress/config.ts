import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { repositoryLinks } from "../build/repository-links.ts";
import { nav, sidebar } from "./sidebar.ts";

export default defineConfig({
  title: "OpenRath",
  description: "A runtime for agents in which the session is the program's value.",
  lang: "en-GB",
  cleanUrls: false,
  // The site is read from any folder of any server: DOCS_BASE says which.
  base: process.env["DOCS_BASE"] ?? "/",
  outDir: "dist",
  cacheDir: ".vitepress/cache",
  srcExclude: ["snippets/**", "build/**", "inspector-checklist.md"],
  lastUpdated: false,
  markdown: { config: (md) => repositoryLinks(md, fileURLToPath(new URL("..", import.meta.url))) },
  themeConfig: {
    nav,
    sidebar,
    search: { provider: "local" },
    outline: { level: [2, 3] },
    docFooter: { prev: "Before", next: "Next" },
  },
});
