import { defineConfig } from "vitepress";
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
  srcExclude: ["snippets/**", "inspector-checklist.md"],
  lastUpdated: false,
  themeConfig: {
    nav,
    sidebar,
    search: { provider: "local" },
    outline: { level: [2, 3] },
    docFooter: { prev: "Before", next: "Next" },
  },
});
