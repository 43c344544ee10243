/** `openrath export ID [FILE]`: writes a session so that it can leave this store, or sends its trace to a collector. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type WriteFormat, type WriteOptions, write, writeFormats } from "../../audit/export/write.ts";
import type { Session } from "../../session/session.ts";
import { plural } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { printFile } from "../print-file.ts";
import { progressing } from "../progress.ts";
import { openSession, shortIds } from "../sessions.ts";
import { shellWord } from "../shell-word.ts";
import { show } from "../shown.ts";

interface Options {
  readonly format: WriteFormat;
  readonly to?: string;
  readonly content?: true;
  readonly service?: string;
  readonly branches?: "all" | "session";
  readonly reasoning?: true;
  readonly images?: "inline" | "placeholder";
  readonly longest?: number;
  readonly yes?: boolean;
}

/** What a file is called that nobody named. */
const names: Readonly<Record<WriteFormat, readonly [name: string, ending: string]>> = {
  bundle: ["session", "jsonl"],
  "lineage-jsonl": ["lineage", "jsonl"],
  "chat-jsonl": ["chat", "jsonl"],
  otlp: ["trace", "json"],
  atif: ["trajectory", "json"],
  markdown: ["report", "md"],
  mermaid: ["lineage", "mmd"],
  dot: ["lineage", "dot"],
  svg: ["lineage", "svg"],
  html: ["report", "html"],
};

export function define(command: Command, cli: Cli): void {
  command
    .summary("write a session to a file, or send its trace")
    .description(
      "Writes a session with everything behind it. A bundle can be imported elsewhere; it is one file when its name ends in .jsonl, else a folder. The other formats are for other tools and for people: lineage and chat as JSON lines, a trace for OpenTelemetry, a trajectory for Harbor, a report in Markdown, and drawings of the lineage.",
    )
    .argument("<id>", "a session")
    .argument("[file]", "where to; default: a name of its own, here; - is stdout")
    .addOption(new Option("-f, --format <format>", "what to write").choices(writeFormats).default("bundle"))
    .option("--to <url>", "otlp: send it to this collector instead, with the headers in OTEL_EXPORTER_OTLP_HEADERS")
    .option("--content", "otlp: with messages, inputs and results")
    .option("--service <name>", "otlp: the name of the service; default: OTEL_SERVICE_NAME, else openrath")
    .addOption(
      new Option("--branches <which>", "chat-jsonl: every branch nothing was made of, or the session alone").choices(["all", "session"]),
    )
    .option("--reasoning", "chat-jsonl, atif: with what models thought")
    .addOption(new Option("--images <how>", "chat-jsonl: pictures as data URLs, or only named").choices(["inline", "placeholder"]))
    .option("--longest <characters>", "markdown: how long the report may be; default: 60000", lengthOf)
    .option("-y, --yes", "write over a file that is there")
    .action((id: string, file: string | undefined, options: Options) => exportSession(cli, id, file, options));
}

function lengthOf(text: string): number {
  const length = Number(text);
  if (!Number.isSafeInteger(length) || length < 1) throw new InvalidArgumentError("Give a number of characters.");
  return length;
}

async function exportSession(cli: Cli, id: string, file: string | undefined, options: Options): Promise<void> {
  const session = await openSession(cli, id);
  const { format, to, yes } = options;
  if (to !== undefined) return send(cli, session, to, options);
  const how = writeOptions(cli, options);
  if (file === "-") return toStdout(cli, session, how);
  const short = await shortIds(cli);
  const [name, ending] = names[format];
  const target = resolve(cli.host.cwd, file ?? `${name}-${short(session.id)}.${ending}`);
  if (existsSync(target)) await cli.confirm(`${target} is there already. Write over it?`, yes);
  await progressing(cli, "exporting", "events", () => write(session, target, how));
  if (cli.asJson) return cli.data({ session: session.toJSON(), file: target, format });
  cli.print(show`${target}`);
  if (format === "bundle") cli.next(`openrath import ${shellWord(target)}, in another project`);
}

/** What was said of the format; the environment where no option does. What does not fit it is refused by `write`. */
function writeOptions(cli: Cli, { format, content, service, branches, reasoning, images, longest }: Options): WriteOptions {
  const named = service ?? (format === "otlp" ? cli.host.env["OTEL_SERVICE_NAME"] || undefined : undefined);
  const given = Object.entries({ content, service: named, branches, reasoning, images, longest }).filter(
    ([, value]) => value !== undefined,
  );
  return { format, ...Object.fromEntries(given) } as WriteOptions;
}

async function send(cli: Cli, session: Session, to: string, options: Options): Promise<void> {
  if (options.format !== "otlp")
    throw new Fault(exits.usage, `Only traces are sent, and --format is ${options.format}.`, {
      next: `openrath export ${session.id} --format otlp --to URL`,
    });
  const { headersFrom, sendOtlp } = await import("../../audit/export/otlp-send.ts");
  const headers = headersFrom(cli.host.env["OTEL_EXPORTER_OTLP_TRACES_HEADERS"] || cli.host.env["OTEL_EXPORTER_OTLP_HEADERS"]);
  const { content, service } = writeOptions(cli, options) as { readonly content?: boolean; readonly service?: string };
  const sent = await progressing(cli, "sending", "spans", (progress) =>
    sendOtlp(session, { to, headers, content, service, signal: cli.host.signal, onSent: (spans) => progress.add(spans) }),
  );
  if (sent.rejected > 0) cli.exit = exits.differs;
  if (cli.asJson) return cli.data({ session: session.toJSON(), format: "otlp", ...sent });
  cli.print(show`${plural(sent.sent - sent.rejected, "span")} sent`);
  if (sent.rejected > 0) cli.warn(show`The collector did not take ${plural(sent.rejected, "span")}.`);
  for (const message of sent.messages) cli.warn(show`The collector says: ${message}`);
}

async function toStdout(cli: Cli, session: Session, options: WriteOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "openrath-export-"));
  try {
    const file = join(folder, "session.jsonl");
    await write(session, file, options);
    await printFile(cli, file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
