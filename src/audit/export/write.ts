/** Writing sessions to files, one function for all formats. */
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import type { PageOptions } from "../dossier/page.ts";
import type { AtifOptions } from "./atif.ts";
import type { ChatOptions } from "./chat.ts";
import type { MarkdownOptions } from "./markdown.ts";
import type { OtlpOptions } from "./otlp.ts";

/** For whoever watches. */
export interface WriteProgress {
  /** Told how many more events were read or lines written. What it throws ends the work, and nothing is written. */
  readonly onProgress?: ((more: number) => void) | undefined;
}

/** How a session is written. The default is "bundle", which `rath.import` takes in again. */
export type WriteOptions = WriteProgress &
  (
    | { readonly format?: "bundle" | "lineage-jsonl" | "mermaid" | "dot" | "svg" | undefined }
    | ({ readonly format: "html" } & PageOptions)
    | ({ readonly format: "otlp" } & OtlpOptions)
    | ({ readonly format: "chat-jsonl" } & ChatOptions)
    | ({ readonly format: "atif" } & AtifOptions)
    | ({ readonly format: "markdown" } & MarkdownOptions)
  );

/** The formats `write` knows by name; others are refused with `value.unsupported`. */
export type WriteFormat = NonNullable<WriteOptions["format"]>;

/** What may be said of each format beside its name. */
const known: Readonly<Record<WriteFormat, readonly string[]>> = {
  bundle: [],
  "lineage-jsonl": [],
  "chat-jsonl": ["branches", "reasoning", "images"],
  otlp: ["content", "service"],
  atif: ["reasoning"],
  markdown: ["longest"],
  mermaid: [],
  dot: [],
  svg: [],
  html: ["replay"],
};

/** The names of all formats. */
export const writeFormats = Object.keys(known) as readonly WriteFormat[];

/**
 * Writes a session to a file, which appears under its name only when all of it is there. A bundle becomes one file when its name
 * ends in ".jsonl", else a folder with its blobs beside it. What is not stored yet is saved first.
 *
 * @example
 * await write(session, "fix.jsonl");
 * await write(session, "lineage.jsonl", { format: "lineage-jsonl" }); // jq 'select(.status == "rejected") | .reason' lineage.jsonl
 * await write(session, "trace.json", { format: "otlp", content: true }); // OpenTelemetry, with what was said
 * await write(session, "train.jsonl", { format: "chat-jsonl", branches: "session" });
 * await write(session, "report.md", { format: "markdown" }); // to paste into a pull request
 */
export async function write(session: Session, file: string, options: WriteOptions = {}): Promise<void> {
  const { format = "bundle", onProgress = () => {} } = options;
  checkOptions(session, format, options);
  if (format === "bundle") {
    const { writeBundle } = await import("./bundle-write.ts");
    return writeBundle(session, file, onProgress);
  }
  if (options.format === "html") {
    const { writePage } = await import("../dossier/page.ts");
    return writePage(session, file, options);
  }
  const [{ writeLines }, { runtimeOf }] = await Promise.all([import("./lines.ts"), import("../../runtime/replay.ts")]);
  await runtimeOf(session).save(session);
  return writeLines(file, counted(await linesOf(session, options), onProgress));
}

async function* counted(lines: AsyncIterable<string>, onProgress: (more: number) => void): AsyncGenerator<string, void> {
  for await (const line of lines) {
    onProgress(1);
    yield line;
  }
}

/** The lines of a format that is text in one file. */
async function linesOf(session: Session, options: WriteOptions): Promise<AsyncIterable<string>> {
  switch (options.format) {
    case "lineage-jsonl":
      return (await import("./lineage.ts")).lineageLines(session);
    case "otlp":
      return (await import("./otlp.ts")).otlpLines(session, options);
    case "chat-jsonl":
      return (await import("./chat.ts")).chatLines(session, options);
    case "atif":
      return (await import("./atif.ts")).atifLines(session, options);
    case "markdown":
      return (await import("./markdown.ts")).markdownLines(session, options);
    case "mermaid":
    case "dot":
    case "svg":
      return drawing(session, options.format);
    case "bundle":
    case undefined:
    case "html":
      throw new Error("it is written by a function of its own");
    default:
      return options satisfies never;
  }
}

async function* drawing(session: Session, format: "mermaid" | "dot" | "svg"): AsyncGenerator<string, void> {
  const { graph } = await import("../graph.ts");
  const { toMermaid, toDot, toSvg } = await graph(session);
  const text = { mermaid: toMermaid, dot: toDot, svg: toSvg }[format]();
  yield text.trimEnd();
}

/** What is misspelt would be left out silently. */
function checkOptions(session: Session, format: string, options: object): void {
  if (!Object.hasOwn(known, format))
    throw new RathError("value.unsupported", `There is no format "${format}". There are: ${writeFormats.join(", ")}.`, {
      session,
      details: { field: "format" },
    });
  const fitting = known[format as WriteFormat];
  const extra = Object.keys(options).find((option) => option !== "format" && option !== "onProgress" && !fitting.includes(option));
  if (extra === undefined) return;
  const there = fitting.length === 0 ? "It has none." : `It has: ${fitting.join(", ")}.`;
  throw new RathError("value.unsupported", `The format "${format}" has no option "${extra}". ${there}`, {
    session,
    details: { field: extra },
  });
}
