import type { DefaultTheme } from "vitepress";

const page = (text: string, link: string): DefaultTheme.SidebarItem => ({ text, link });

const start = [
  page("Ten minutes", "/tutorial/"),
  page("Everything on one page", "/overview"),
  page("Questions and answers", "/faq"),
  page("The inspector", "/inspector"),
];

const concepts = [
  page("Session", "/concepts/session"),
  page("Effects", "/concepts/effects"),
  page("Agents and models", "/concepts/agents"),
  page("Replay", "/concepts/replay"),
  page("Fork and merge", "/concepts/fork-and-merge"),
  page("Sandbox", "/concepts/sandbox"),
  page("Memory", "/concepts/memory"),
  page("Selector", "/concepts/selector"),
  page("Runs", "/concepts/runs"),
  page("Audit", "/concepts/audit"),
];

const guides = [
  page("From LangGraph", "/guides/from-langgraph"),
  page("From the AI SDK", "/guides/from-ai-sdk"),
  page("From the Python reference", "/guides/from-python-reference"),
  page("Test prompts by replay", "/guides/testing-prompts"),
  page("Keep an experiment on record", "/guides/experiments"),
  page("Add a store", "/guides/add-a-store"),
  page("Add a sandbox", "/guides/add-a-sandbox"),
  page("Add a memory", "/guides/add-a-memory"),
  page("Add a tool", "/guides/add-a-tool"),
  page("Security model", "/guides/security"),
  page("Operations", "/guides/operations"),
  page("Server", "/server"),
  page("Image and compose file", "/deployment"),
  page("Erasing", "/erasure"),
];

const reference = [
  page("Command line", "/reference/cli"),
  page("HTTP", "/reference/http"),
  page("API", "/reference/api/"),
  page("Errors", "/reference/errors"),
];

const formats = [
  page("Stored format", "/formats/session"),
  page("Exports", "/formats/exports"),
  page("Changes of formats", "/formats/changelog"),
];

const evidence = [page("Claims", "/claims"), page("Questions it answers", "/questions"), page("Parity", "/parity")];

export const nav: DefaultTheme.NavItem[] = [
  { text: "Tutorial", link: "/tutorial/" },
  { text: "Concepts", link: "/concepts/session", activeMatch: "^/concepts/" },
  { text: "Guides", link: "/guides/testing-prompts", activeMatch: "^/guides/" },
  { text: "Reference", link: "/reference/cli", activeMatch: "^/(reference|formats)/" },
];

export const sidebar: DefaultTheme.Sidebar = [
  { text: "Start", items: start },
  { text: "Concepts", items: concepts },
  { text: "Guides", items: guides },
  { text: "Reference", items: reference, collapsed: false },
  { text: "Formats", items: formats, collapsed: true },
  { text: "Evidence", items: evidence, collapsed: true },
];
