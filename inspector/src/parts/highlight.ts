/** Colours for code: which language a path names, and the tokens of its lines. Loaded when something is shown that has colours. */
import type { GrammarState, HighlighterCore, LanguageRegistration } from "shiki/core";
import { createCssVariablesTheme, createHighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

export interface Token {
  /** Where it begins. */
  readonly at: number;
  readonly text: string;
  /** A variable of theme.css. */
  readonly colour: string | undefined;
}

type Loaded = Promise<{ readonly default: LanguageRegistration[] }>;

const languages: Readonly<Record<string, () => Loaded>> = {
  typescript: () => import("shiki/langs/typescript.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  shellscript: () => import("shiki/langs/shellscript.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  c: () => import("shiki/langs/c.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  xml: () => import("shiki/langs/xml.mjs"),
  docker: () => import("shiki/langs/docker.mjs"),
  ini: () => import("shiki/langs/ini.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
};

const endings: Readonly<Record<string, string>> = {
  ...{ ts: "typescript", mts: "typescript", cts: "typescript" },
  ...{ tsx: "tsx", jsx: "tsx", js: "tsx", mjs: "tsx", cjs: "tsx" },
  ...{ json: "json", jsonl: "json", jsonc: "json", py: "python", pyi: "python" },
  ...{ sh: "shellscript", bash: "shellscript", zsh: "shellscript", css: "css", html: "html", htm: "html" },
  ...{ md: "markdown", markdown: "markdown", yaml: "yaml", yml: "yaml", toml: "toml", rs: "rust", go: "go" },
  ...{ java: "java", kt: "java", c: "c", h: "c", cc: "c", cpp: "c", hpp: "c", cs: "java", sql: "sql" },
  ...{ xml: "xml", svg: "xml", dockerfile: "docker", ini: "ini", cfg: "ini", conf: "ini", env: "ini", diff: "diff", patch: "diff" },
};

const theme = "openrath";
/** So many lines are coloured before the page may do something else. */
const linesAtOnce = 50;

let core: Promise<HighlighterCore> | undefined;

export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return endings[name.slice(name.lastIndexOf(".") + 1)];
}

/** Gives the tokens of more and more lines, from the first on, until all have them or nobody wants them. */
export async function highlight(
  lines: readonly string[],
  language: string,
  { signal, done }: { readonly signal: AbortSignal; readonly done: (tokens: readonly (readonly Token[])[]) => void },
): Promise<void> {
  const highlighter = await withLanguage(language);
  const tokens: (readonly Token[])[] = [];
  let grammarState: GrammarState | undefined;
  while (tokens.length < lines.length && !signal.aborted) {
    const part = lines.slice(tokens.length, tokens.length + linesAtOnce);
    const found = highlighter.codeToTokens(part.join("\n"), {
      ...{ lang: language, theme, tokenizeMaxLineLength: 2000, tokenizeTimeLimit: 1000 },
      ...(grammarState === undefined ? {} : { grammarState }),
    });
    ({ grammarState } = found);
    for (const line of found.tokens) tokens.push(line.map(({ content, color, offset }) => ({ at: offset, text: content, colour: color })));
    done([...tokens]);
    await new Promise((resolve) => setTimeout(resolve));
  }
}

async function withLanguage(language: string): Promise<HighlighterCore> {
  core ??= createHighlighterCore({
    themes: [createCssVariablesTheme({ name: theme, variablePrefix: "--code-", fontStyle: false })],
    // What the browser has: the usual engine is WebAssembly, which the policy of the page forbids.
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const highlighter = await core;
  const load = languages[language];
  if (load !== undefined && !highlighter.getLoadedLanguages().includes(language)) await highlighter.loadLanguage(load());
  return highlighter;
}
