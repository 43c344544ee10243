/** `openrath scan`: is a secret in the store? */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { type ScanReport, type SecretFinding, scan } from "../../audit/scan.ts";
import { refusalOf } from "../../session/thrown.ts";
import { plural, shortEvent, size } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { printList } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { shortIds } from "../sessions.ts";
import { clip, show } from "../shown.ts";

interface Options {
  readonly secrets?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("prove that no secret is in the store")
    .description(
      "Looks through everything in the store (events, titles, runs, blobs, files, memories, answers, signals) for the secrets that openrath({ secrets }) declares, in plain and in the usual encodings, and for keys whose shape gives them away. What is found is named by its place, never shown; then the exit code is 4. It is 1 when something could not be read.",
    )
    .option("--secrets <file>", "more secrets, one on each line of a file; - reads them from stdin")
    .action((options: Options) => scanStore(cli, options));
}

async function scanStore(cli: Cli, { secrets }: Options): Promise<void> {
  const { rath } = await cli.project();
  const more = secrets === undefined ? [] : (await textIn(cli, secrets)).split(/\r?\n/).filter((line) => line !== "");
  const report = await progressing(cli, "scanning", "bytes", ({ add }) => scan(rath, { secrets: more, onProgress: add }));
  if (report.findings.length > 0) cli.exit = exits.differs;
  else if (!report.clean) cli.exit = exits.error;
  if (cli.settings.json === true) return cli.data(report);
  const short = await shortIds(cli);
  if (report.findings.length > 0)
    printList(cli, report.findings, {
      columns: [
        { name: "SECRET", cell: ({ secret }) => cli.ink.red(secret), plain: ({ secret }) => secret },
        { name: "IN", cell: (found) => found.in },
        {
          name: "PLACE",
          cell: (found) => cli.ink.cyan(placeOf(found, short)),
          plain: ({ session, step, id }) => (step === undefined ? id : `${session}@${step}`),
        },
        { name: "WHERE", cell: ({ where }) => clip(where, 60), plain: ({ where }) => where },
        { name: "BEGINS", cell: ({ masked }) => masked },
      ],
      data: (found) => found,
      empty: show``,
    });
  for (const { what, problem } of report.unreadable) cli.warn(show`${cli.errInk.yellow("not read:")} ${what}: ${problem}`);
  tell(cli, report);
}

async function textIn(cli: Cli, file: string): Promise<string> {
  if (file === "-") return cli.host.input.text();
  return readFile(resolve(cli.host.cwd, file), "utf8").catch((cause: unknown) => {
    throw new Fault(exits.notFound, `--secrets names ${file}, which cannot be read: ${refusalOf(cause)}.`, { cause });
  });
}

function placeOf({ session, step, id }: SecretFinding, short: (id: string) => string): string {
  if (session !== undefined && step !== undefined) return `${short(session)}@${step}`;
  return /^[0-9a-f]{64}$/.test(id) ? shortEvent(id) : id;
}

function tell(cli: Cli, { clean, findings, unreadable, looked }: ScanReport): void {
  const { events, logs, runs, blobs, files, memories, bytes } = looked;
  const counted = `${plural(events, "event")} in ${plural(logs, "log")}, ${plural(runs, "run")}, ${plural(blobs, "blob")}, ${plural(files, "file")}, ${plural(memories, "memory")}: ${size(bytes)}`;
  if (findings.length > 0) {
    cli.warn(show`${cli.errInk.red("not clean:")} secrets in ${plural(findings.length, "place")}; looked at ${counted}`);
    const events = [...new Set(findings.flatMap(({ event }) => event ?? []))];
    const [first] = events;
    if (first !== undefined)
      cli.next(
        `openrath erase --event ${first} --reason "…"${events.length > 1 ? `, and ${plural(events.length - 1, "more event")}` : ""}`,
      );
    cli.afterwards("change what became known: whoever could read the store may have it");
  } else if (!clean)
    cli.warn(
      show`${cli.errInk.yellow("not proven:")} no secret was found, but ${plural(unreadable.length, "thing")} could not be read; looked at ${counted}`,
    );
  else if (cli.onTerminal) cli.print(show`${cli.ink.green("clean:")} no secret in ${counted}`);
  else if (!cli.asJson) cli.print(show`ok\t${events}\t${bytes}`);
}
