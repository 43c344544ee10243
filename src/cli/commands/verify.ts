/** `openrath verify ID`: is the record what was written? With `--all`, of every session of the store. */
import { existsSync } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { verdictOf } from "../../audit/verdict.ts";
import type { Problem, Verification, VerifyOptions } from "../../audit/verify.ts";
import type { ReplayReport, ReplayStep } from "../../runtime/replay.ts";
import { RathError } from "../../session/errors.ts";
import { refusalOf } from "../../session/thrown.ts";
import type { LogRow } from "../../store/store.ts";
import { count, plural, shortEvent } from "../../wire/format.ts";
import type { Workflow } from "../../workflow/workflow.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { findWorkflow } from "../find-workflow.ts";
import { collected } from "../options.ts";
import { printList } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { openSession, sessionRows, shortIds } from "../sessions.ts";
import { type Shown, show } from "../shown.ts";

interface Options {
  readonly all?: boolean;
  readonly anchor?: string;
  readonly writeAnchor?: string;
  readonly replay?: boolean;
  readonly workflow?: string;
  readonly key?: readonly string[];
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("check the record against its hashes and signatures")
    .description(
      "Reads everything behind a session again and checks hashes, order, signatures and contents. Problems are printed, each with its place; then the exit code is 4. It is 1 when nothing is wrong but signatures are of keys that are not known here.",
    )
    .argument("[id]", "a session")
    .option("-a, --all", "every session of the store")
    .option("--anchor <file>", "statements kept elsewhere, against a record that was cut back")
    .option(
      "--write-anchor <file>",
      "add the newest statement to a file, with --all that of every run, if nothing is wrong: keep it elsewhere, for --anchor",
    )
    .option("--replay", "execute the runs behind it again, too, and compare each step; calls nothing")
    .option("-w, --workflow <name>", "with --replay, a name of the project file, or FILE[#export]; default: the recorded names")
    .option("--key <key>", "a key of another home whose signatures count; may be given again", collected)
    .action((id: string | undefined, options: Options) =>
      options.all === true ? verifyAll(cli, id, options) : verifyOne(cli, id, options),
    );
}

async function verifyOne(cli: Cli, id: string | undefined, options: Options): Promise<void> {
  if (id === undefined) throw new Fault(exits.usage, "Which session? Give its id, or --all for every one.", { next: "openrath ls" });
  if (options.workflow !== undefined && options.replay !== true) throw new Fault(exits.usage, "--workflow is for --replay.");
  const anchor = anchorFile(cli, options);
  const replay: Workflow | true | undefined =
    options.workflow !== undefined ? (await findWorkflow(cli, options.workflow)).workflow : options.replay === true || undefined;
  const { session, found } = await progressing(cli, "verifying", "events", (progress) =>
    verified(cli, id, { anchor, keys: options.key, replay, onProgress: (events) => progress.add(events) }),
  );
  const intact = found.problems.length === 0;
  if (!found.ok) cli.exit = intact ? exits.error : exits.differs;
  if (cli.asJson) cli.data({ session, ...found, statement: found.statement ?? null });
  else {
    for (const report of found.replays) tellReplay(cli, report);
    if (!intact) printProblems(cli, found.problems);
    tellResult(cli, id, found);
  }
  await keep(cli, options, found.ok, found.statement === undefined ? [] : [found.statement]);
  if (found.statement !== undefined && anchor === undefined && options.writeAnchor === undefined && cli.onTerminal) {
    const short = (await shortIds(cli))(session.id);
    cli.next(`openrath verify ${short} --write-anchor FILE, kept elsewhere: --anchor FILE shows later if it was cut back`);
  }
}

interface Verified {
  readonly session: { readonly id: string; readonly head: string; readonly step?: number };
  readonly found: Verification;
}

/** What is damaged may not open any more, and is verified all the same. */
async function verified(cli: Cli, id: string, options: VerifyOptions): Promise<Verified> {
  const { verify } = await import("../../audit/verify.ts");
  try {
    const session = await openSession(cli, id);
    return { session: session.toJSON(), found: await verify(session, options) };
  } catch (error) {
    if (!RathError.is(error) || !/^(?:store\.corrupt$|event\.)/.test(error.code)) throw error;
    const project = await cli.project();
    const [row, ...others] = (await sessionRows(project)).filter((one) => one.id.startsWith(id.toLowerCase()));
    if (row === undefined || others.length > 0) throw error;
    const { verifyLog } = await import("../../audit/check-record.ts");
    const found = await verifyLog(project.runtime, row, options);
    if (found.problems.length === 0) throw error;
    return { session: { id: row.id, head: row.head }, found };
  }
}

function tellResult(cli: Cli, id: string, found: Verification): void {
  const { checked, problems, unknownKeys } = found;
  const { word, because } = verdictOf(found);
  if (problems.length > 0) cli.warn(show`${cli.errInk.red(`${word}:`)} ${because}`);
  else if (!found.ok) {
    cli.warn(show`${cli.errInk.yellow(`${word}:`)} ${because}`);
    cli.next(`openrath verify ${id} --key ${unknownKeys[0] ?? ""}, if openrath doctor shows this key where it was signed`);
  } else if (cli.onTerminal) cli.print(show`${cli.ink.green(`${word}:`)} ${because}`);
  else cli.print(show`intact\t${checked.events}\t${found.unsigned}`);
  if (!cli.onTerminal) return;
  const { events, blobs, trees, files, runs, statements, answers, replayed } = checked;
  const parts = Object.entries({ event: events, blob: blobs, tree: trees, file: files, run: runs, statement: statements, answer: answers });
  const seen = parts.flatMap(([name, number]) => (number === 0 ? [] : [plural(number, name)]));
  if (replayed > 0) seen.push(`${plural(replayed, "step")} replayed`);
  cli.note(show`${cli.errInk.dim(`checked: ${seen.join(", ")}`)}`);
  for (const erasure of found.erasures) {
    const { entry, by, at, reason } = erasure;
    cli.note(show`${cli.errInk.dim("erased:")} ${takenBy(erasure)} by ${by} on ${at.slice(0, 10)}: ${reason} (entry ${shortEvent(entry)})`);
  }
  for (const { part, count: number, why } of found.unchecked)
    cli.note(show`${cli.errInk.dim(`not checked: ${part === "anchor" && number === 1 ? "" : `${count(number)} `}${why}`)}`);
}

/** What an erasure took of the record. */
function takenBy({ events, contents }: Verification["erasures"][number]): string {
  const taken = [...(events === 0 ? [] : [plural(events, "event")]), ...(contents === 0 ? [] : [plural(contents, "content")])];
  return taken.join(" and ");
}

function printProblems(cli: Cli, problems: readonly Problem[]): void {
  printList(cli, problems, {
    columns: [
      { name: "EVENT", cell: ({ event }) => cli.ink.cyan(shortEvent(event)), plain: ({ event }) => event },
      { name: "SESSION", cell: ({ session = "" }) => session.slice(0, 8), plain: ({ session = "" }) => session, optional: true },
      { name: "STEP", cell: ({ step = "" }) => step, right: true, optional: true },
      { name: "FIELD", cell: ({ field = "" }) => field, optional: true },
      { name: "PROBLEM", cell: ({ problem }) => problem },
    ],
    data: (problem) => problem,
    empty: show``,
  });
  for (const { means, next } of new Map(problems.map((problem) => [problem.kind, problem])).values()) {
    cli.warn(show`${means}`);
    cli.next(next);
  }
}

/** A line for each step: of one run, in its order. */
function tellReplay(cli: Cli, report: ReplayReport): void {
  printList<ReplayStep>(cli, report.steps, {
    columns: [
      { name: "STEP", cell: ({ step }) => step, right: true },
      { name: "EVENT", cell: ({ event }) => cli.ink.cyan(shortEvent(event)), plain: ({ event }) => event },
      { name: "KIND", cell: ({ kind }) => kind },
      { name: "REPLAYED", cell: ({ result }) => resultInk(cli, result) },
    ],
    data: (step) => step,
    empty: show`Run ${report.run} has nothing to replay.`,
  });
  if (report.identical) cli.note(show`${cli.errInk.green("replayed:")} ${report.workflow} ${String(report)}`);
  else cli.warn(show`${cli.errInk.red("replayed:")} ${report.workflow} ${String(report)}`);
}

function resultInk(cli: Cli, result: ReplayStep["result"]): Shown {
  const { green, red, yellow, dim } = cli.ink;
  return { same: green, differs: red, "not-reached": yellow, nested: dim, erased: dim }[result](result);
}

interface Row {
  readonly session: LogRow;
  readonly verification: Verification;
  readonly problems: readonly Problem[];
}

async function verifyAll(cli: Cli, id: string | undefined, options: Options): Promise<void> {
  if (id !== undefined) throw new Fault(exits.usage, "Either one session or --all.");
  if (options.replay === true) throw new Fault(exits.usage, "--replay is for one session: openrath verify ID --replay.");
  const { runtime } = await cli.project();
  const anchor = anchorFile(cli, options);
  const { verifyStore } = await import("../../audit/verify-store.ts");
  const { families, problems, statements } = await progressing(cli, "verifying", "events", (progress) => {
    const asked: VerifyOptions = { anchor, keys: options.key, onProgress: (events) => progress.add(events) };
    return verifyStore(runtime, asked);
  });
  // What is wrong with a run or an answer is told with the session that its family comes from.
  const rows = families.flatMap(({ sessions, verification }): Row[] => {
    const ids = new Set(sessions.map((session) => session.id));
    return sessions.map((session, index) => ({
      session,
      verification,
      problems: verification.problems.filter(({ session: of = "" }) => of === session.id || (index === 0 && !ids.has(of))),
    }));
  });
  const all = [...rows.flatMap((row) => row.problems), ...problems];
  const proven = families.every(({ verification }) => verification.unknownKeys.length === 0);
  if (all.length > 0) cli.exit = exits.differs;
  else if (!proven) cli.exit = exits.error;
  if (cli.asJson) printList(cli, dataOf(rows, problems), { columns: [], data: (row) => row, empty: show`` });
  else {
    await printRows(cli, rows);
    if (all.length > 0) printProblems(cli, all);
  }
  const events = families.reduce((sum, { verification }) => sum + verification.events, 0);
  const counted = `${plural(rows.length, "session")}, ${plural(events, "event")} checked`;
  if (all.length > 0) cli.warn(show`${cli.errInk.red("not intact:")} ${plural(all.length, "problem")}; ${counted}`);
  else cli.note(show`${proven ? cli.errInk.green("intact:") : cli.errInk.yellow("not proven:")} ${counted}`);
  await keep(cli, options, all.length === 0 && proven, statements);
}

async function printRows(cli: Cli, rows: readonly Row[]): Promise<void> {
  const short = await shortIds(cli);
  printList(cli, rows, {
    columns: [
      { name: "SESSION", cell: ({ session }) => cli.ink.cyan(short(session.id)), plain: ({ session }) => session.id },
      { name: "RESULT", cell: (row) => wordFor(cli, row) },
      { name: "PROBLEMS", cell: (row) => row.problems.length || "", plain: (row) => row.problems.length, right: true, optional: true },
      { name: "TITLE", cell: ({ session }) => session.title ?? "", rest: true, optional: true },
    ],
    data: (row) => row,
    empty: show`There are no sessions.`,
  });
}

/** One item for each session. What an anchor shows belongs to none and comes last. */
function dataOf(rows: readonly Row[], anchored: readonly Problem[]): readonly object[] {
  const data: object[] = rows.map(({ session, verification: { ok, unsigned, unknownKeys, statement }, problems }) => ({
    ...{ session: session.id, ok: ok && problems.length === 0, problems, unsigned, unknownKeys, statement: statement ?? null },
  }));
  if (anchored.length === 0) return data;
  return [...data, { session: null, ok: false, problems: anchored, unsigned: 0, unknownKeys: [], statement: null }];
}

function wordFor(cli: Cli, { problems, verification }: Row): Shown {
  if (problems.length > 0) return cli.ink.red("not intact");
  return verification.unknownKeys.length > 0 ? cli.ink.yellow("not proven") : cli.ink.green("intact");
}

function anchorFile(cli: Cli, { anchor }: Options): string | undefined {
  const file = anchor === undefined ? undefined : resolve(cli.host.cwd, anchor);
  if (file !== undefined && !existsSync(file))
    throw new Fault(exits.notFound, `There is no file ${file} with statements to check against.`, {
      next: "openrath verify ID --write-anchor FILE makes one",
    });
  return file;
}

/** Adds statements to a file, each once. Of a record that does not hold nothing is kept. */
async function keep(cli: Cli, { writeAnchor }: Options, ok: boolean, statements: readonly string[]): Promise<void> {
  if (writeAnchor === undefined) return;
  const file = resolve(cli.host.cwd, writeAnchor);
  if (!ok) return cli.warn(show`Nothing was added to ${file}: only a record that is intact and proven is worth keeping.`);
  if (statements.length === 0) return cli.warn(show`Nothing was added to ${file}: nothing is signed yet.`);
  const known = new Set(existsSync(file) ? (await readFile(file, "utf8")).split("\n") : []);
  const fresh = statements.filter((statement) => !known.has(statement));
  try {
    if (fresh.length > 0) await appendFile(file, fresh.map((statement) => `${statement}\n`).join(""));
  } catch (cause) {
    throw new Fault(exits.error, `${file} cannot be written: ${refusalOf(cause)}.`, { cause });
  }
  cli.note(show`${plural(fresh.length, "statement")} added to ${file}. Keep it where whoever writes the store cannot write.`);
}
