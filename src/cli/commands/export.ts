/** `openrath export ID [FILE]`: writes a session so that it can leave this store. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { type WriteFormat, write } from "../../audit/export/write.ts";
import type { Session } from "../../session/session.ts";
import type { Cli } from "../cli.ts";
import { progressing } from "../progress.ts";
import { openSession, shortIds } from "../sessions.ts";
import { jsonText, Shown, show } from "../shown.ts";

interface Options {
  readonly format: WriteFormat;
  readonly yes?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("write a session to a file")
    .description(
      "Writes a session with everything behind it. A bundle can be imported elsewhere; it is one file when its name ends in .jsonl, else a folder.",
    )
    .argument("<id>", "a session")
    .argument("[file]", "where to; default: session-ID.jsonl here; - is stdout")
    .addOption(new Option("-f, --format <format>", "what to write").choices(["bundle", "html", "lineage-jsonl"]).default("bundle"))
    .option("-y, --yes", "write over a file that is there")
    .action((id: string, file: string | undefined, options: Options) => exportSession(cli, id, file, options));
}

async function exportSession(cli: Cli, id: string, file: string | undefined, { format, yes }: Options): Promise<void> {
  const session = await openSession(cli, id);
  if (file === "-") return toStdout(cli, session, format);
  const short = await shortIds(cli);
  const target = resolve(cli.host.cwd, file ?? nameOf(format, short(session.id)));
  if (existsSync(target)) await cli.confirm(`${target} is there already. Write over it?`, yes);
  await progressing(cli, "exporting", "events", () => write(session, target, { format }));
  if (cli.asJson) return cli.data({ session: session.toJSON(), file: target, format });
  cli.print(show`${target}`);
  if (format === "bundle") cli.next(`openrath import ${target}, in another project`);
}

function nameOf(format: WriteFormat, id: string): string {
  return format === "html" ? `session-${id}.html` : `${format === "bundle" ? "session" : "lineage"}-${id}.jsonl`;
}

async function toStdout(cli: Cli, session: Session, format: WriteFormat): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "openrath-export-"));
  try {
    const file = join(folder, "session.jsonl");
    await write(session, file, { format });
    // To a file or another program byte for byte, since hashes are over bytes; to a terminal the same values, harmless.
    const text = await readFile(file, "utf8");
    for (const line of text.trimEnd().split("\n")) cli.print(cli.host.out.isTTY ? jsonText(line) : new Shown(line, 0));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
