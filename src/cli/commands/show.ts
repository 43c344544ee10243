/** `openrath show ID[@step]`: a session, what it was at a step, or a run. */
import type { Command } from "commander";
import { openRuns } from "../../runtime/open-runs.ts";
import { RathError } from "../../session/errors.ts";
import type { DataOf, Event } from "../../session/event.ts";
import { versionName } from "../../session/remembered.ts";
import type { MemoryItem, Message, Pending, Placement, Publish, Route, Session } from "../../session/session.ts";
import { valueText } from "../../wire/event-line.ts";
import { count, plural, shortEvent } from "../../wire/format.ts";
import { compressionLine, readLine, writeLine } from "../../wire/memory-line.ts";
import { pendingText } from "../../wire/pending-line.ts";
import { standingOf } from "../../wire/standing.ts";
import type { Cli } from "../cli.ts";
import { kindOf } from "../print-changes.ts";
import { printFields } from "../print-list.ts";
import type { Project } from "../project.ts";
import { showRun } from "../runs.ts";
import { answerCommand, failureOf, outputOf, outputText, statusInk, stepText, stopOf, stopText, usageText } from "../session-text.ts";
import { openSession, runNamed, runRows, sessionRows, shortIds } from "../sessions.ts";
import { clip, joined, type Showable, show } from "../shown.ts";

type Field = readonly [name: string, value: Showable];

export function define(command: Command, cli: Cli): void {
  command
    .summary("show a session, what it was at a step, or a run")
    .description(
      "Shows a session: where it stands, what was said, what waits and what came out. ID@12 shows it at step 12, ID@EVENT at an event. Of a run: how it stands, who executes it, and when it goes on.",
    )
    .argument("<id>", "a session, a place in it: ID@step, or a run")
    .option("--request", "what exactly the newest model call up to there read, as JSON: rebuilt, and checked against its digest")
    .action((id: string, options: { readonly request?: boolean }) =>
      options.request === true ? showRequest(cli, id) : showSession(cli, id),
    );
}

async function showRequest(cli: Cli, id: string): Promise<void> {
  cli.data(await (await openSession(cli, id)).request());
}

async function showSession(cli: Cli, id: string): Promise<void> {
  const project = await cli.project();
  const session = await openSession(cli, id).catch(async (error: unknown) => {
    const run = RathError.is(error, "session.not-found") ? await runNamed(cli, id) : undefined;
    if (run === undefined) throw error;
    return run;
  });
  if ("workflow" in session) return showRun(cli, session);
  const today = await todayOf(project, session);
  if (cli.asJson) return cli.data(await jsonOf(cli, session, today));
  printFields(cli, await fieldsOf(cli, session, today));
  conversation(cli, session.messages);
  const output = outputText(cli, session);
  if (output !== undefined && output !== session.messages.at(-1)?.text) {
    if (cli.onTerminal) cli.print(show``);
    printFields(cli, [["output", output]]);
  }
  for (const one of today.pending) {
    const answer = answerCommand(one, shortEvent(one.id));
    if (answer !== undefined) cli.next(answer);
  }
}

type Today = Awaited<ReturnType<typeof todayOf>>;

/** What the store says of it beside its own events. What it was at a step is told by itself alone. */
async function todayOf(project: Project, session: Session) {
  const row = (await sessionRows(project)).find((one) => one.id === session.id);
  const runs = await runRows(project, session.id);
  if (row?.head !== session.head) return { row, runs, status: session.status, pending: session.pending };
  const open = (await openRuns(await project.runtime.store(), [session.id])).get(session.id) ?? [];
  return { row, runs, status: standingOf(session.status, open), pending: await pendingNow(project, session) };
}

async function jsonOf(cli: Cli, session: Session, { row, runs, status, pending }: Today): Promise<object> {
  const { lineage, usage, placement, calls, checks, routes, messages, stop, compressions } = session;
  return {
    ...session.toJSON(),
    ...{ status, stop: stop ?? null, reason: stopOf(session)?.reason ?? failureOf(session) ?? null },
    ...{ title: row?.title ?? null, tags: row?.tags ?? [], principal: row?.principal ?? null, lineage, usage },
    ...{ placement: placement ?? null, runs: runs.map(({ id: run, workflow, status: state }) => ({ id: run, workflow, status: state })) },
    ...{ files: { hash: session.files.hash, changes: await session.files.changes() } },
    ...{ memory: { reads: session.memory.reads, writes: await writesNow(cli, session) }, compressions },
    ...{ messages, calls, checks, routes, pending, output: outputOf(session) ?? null },
    ...{ rejected: rejectionOf(session) ?? null },
  };
}

async function fieldsOf(cli: Cli, session: Session, { row, runs, status, pending }: Today): Promise<readonly Field[]> {
  const short = await shortIds(cli);
  const stopped = stopOf(session);
  return [
    ["session", cli.ink.cyan(cli.onTerminal ? short(session.id) : session.id)],
    ...(row?.title === undefined ? [] : [["title", row.title] as const]),
    ["status", show`${statusInk(cli, status)}, ${stepText(session)}`],
    ...field("stopped", stopped === undefined ? undefined : stopText(stopped)),
    ...field("because", failureOf(session)),
    ...field("rejected", rejectionOf(session)),
    ["head", cli.onTerminal ? shortEvent(session.head) : session.head],
    ["changed", session.now().toISOString()],
    ...lineageFields(session),
    ...(row?.tags === undefined || row.tags.length === 0 ? [] : [["tags", row.tags.join(", ")] as const]),
    ...(session.usage.input + session.usage.output === 0 ? [] : [["usage", usageText(session.usage)] as const]),
    ...(await fileFields(cli, session)),
    ...runs.map((run): Field => ["run", show`${cli.onTerminal ? short(run.id) : run.id} ${statusInk(cli, run.status)}, ${run.workflow}`]),
    ...listed(cli, "route", session.routes.map(routeLine)),
    ...session.checks.map(
      (check): Field => [
        "check",
        show`${check.name}: ${check.passed ? cli.ink.green("passed") : cli.ink.red("failed")}${check.reason === undefined ? "" : ` (${check.reason})`}`,
      ],
    ),
    ...(await memoryFields(cli, session)),
    ...listed(cli, "context", session.compressions.map(compressionLine)),
    ...pending.map((one): Field => ["pending", `${one.kind} ${cli.onTerminal ? shortEvent(one.id) : one.id}: ${pendingText(one)}`]),
  ];
}

/** What waits in it, and on branches of the runs that work on it. */
async function pendingNow({ rath }: Project, session: Session): Promise<readonly Pending[]> {
  const own = new Set(session.pending.map(({ id }) => id));
  return [...session.pending, ...(await rath.pending({ session: session.id })).filter(({ id }) => !own.has(id))];
}

/** What it recalled, and what it remembered. */
async function memoryFields(cli: Cli, session: Session): Promise<readonly Field[]> {
  const { reads } = session.memory;
  const writes = await writesNow(cli, session);
  const waits = publishOf(session);
  const most = cli.onTerminal ? 200 : Number.POSITIVE_INFINITY;
  const event = (id: string): string => (cli.onTerminal ? shortEvent(id) : id);
  return [
    ...listed(
      cli,
      "recalled",
      reads.map((read) => clip(readLine(read), most)),
    ),
    ...listed(
      cli,
      "learned",
      writes.map((item) => clip(writeLine(item, event, { publish: waits.get(versionName(item)) }), most)),
    ),
  ];
}

/** When each of its writes is seen by others. */
function publishOf(session: Session): ReadonlyMap<string, Publish> {
  const found = new Map<string, Publish>();
  for (const { kind, data } of session.events()) {
    if (kind !== "remember.returned" && kind !== "forget.returned") continue;
    const { item } = (data ?? {}) as Partial<DataOf<"remember.returned">>;
    if (item !== undefined) found.set(versionName(item), item.publish);
  }
  return found;
}

/** Its writes, with what became of them. */
async function writesNow(cli: Cli, session: Session): Promise<readonly MemoryItem[]> {
  const { memory } = (await cli.project()).rath;
  const now: MemoryItem[] = [];
  for (const item of session.memory.writes) {
    const versions = await memory.history(item.uri);
    const stored = versions.find(({ event }) => event === item.event);
    const newest = versions.at(-1);
    const state = newest?.state === "retracted" && newest.version >= item.version ? newest.state : (stored?.state ?? item.state);
    now.push({ ...item, state });
  }
  return now;
}

/** The newest of several, where a person reads them. */
function listed(cli: Cli, name: string, lines: readonly string[]): readonly Field[] {
  const shown = cli.onTerminal ? lines.slice(-mostListed) : lines;
  const more = lines.length - shown.length;
  return [...(more === 0 ? [] : [[name, `… ${more} earlier: --json shows all`] as const]), ...shown.map((line): Field => [name, line])];
}

/** More are not listed for a person. */
const mostListed = 20;

/** Where it acts, and what it changed there. */
async function fileFields(cli: Cli, session: Session): Promise<readonly Field[]> {
  const { placement } = session;
  if (placement === undefined) return [];
  const changes = await session.files.changes();
  const since = placement.workspace === undefined ? "" : ` since ${placement.workspace} was taken`;
  const fields: Field[] = [
    ["placed", placedText(placement)],
    ["files", `${changes.length === 0 ? "none" : count(changes.length)} changed${since}`],
  ];
  if (!cli.onTerminal) return [...fields, ...changes.map((change): Field => ["file", `${kindOf(change)} ${change.path}`])];
  const shown = changes.slice(0, mostListed).map((change) => show`${cli.ink.dim(kindOf(change))} ${change.path}`);
  const more =
    changes.length > mostListed ? [cli.ink.dim(`… ${changes.length - mostListed} more: openrath apply ${session.id} --dry-run`)] : [];
  return [...fields, ...(shown.length === 0 ? [] : [["", joined([...shown, ...more], "\n")] as const])];
}

function placedText({ sandbox, isolation, network = "none" }: Placement): string {
  const reach = typeof network === "string" ? network : network.allow.join(", ");
  return [sandbox, ...(isolation === undefined ? [] : [`isolation ${isolation}`]), `network ${reach}`].join(", ");
}

function lineageFields(session: Session): readonly Field[] {
  const { lineage } = session;
  if (lineage.kind === "root") return [];
  if (lineage.kind === "import") {
    const [first] = session.events({ to: 1 });
    const { format, id } = (first?.data ?? {}) as Partial<DataOf<"session.imported">>;
    return [["lineage", format === undefined ? "import" : `import of ${format} ${id}`]];
  }
  const name = lineage.label === undefined ? "" : ` "${lineage.label}"`;
  const parents = lineage.parents.map((parent) => (lineage.kind === "merge" ? joinedAt(session, parent) : shortEvent(parent)));
  return [["lineage", `${lineage.implicit ? "implicit " : ""}${lineage.kind}${name} of ${parents.join(", ")}`]];
}

/** What was joined, by the label of its branch where that is another one. */
function joinedAt(session: Session, parent: string): string {
  const { id, lineage } = session.at(parent);
  return `${shortEvent(parent)}${id === session.id || lineage.label === undefined ? "" : ` "${lineage.label}"`}`;
}

/** Why it is not wanted, when it is not. */
function rejectionOf(session: Session): string | undefined {
  if (session.status !== "rejected") return undefined;
  const rejected = [...session.events()].findLast((event) => event.kind === "session.rejected" && event.session === session.id);
  return (rejected as Event<"session.rejected"> | undefined)?.data?.reason;
}

/** Who works next, of whom, why, and with what. */
function routeLine({ choice, candidates, reason, memory, placement, check }: Route): string {
  const rest = [
    ...(memory === undefined ? [] : [`memory ${memory}`]),
    ...(placement === undefined ? [] : [`in ${placement.sandbox}`]),
    ...(check === undefined ? [] : [`must pass ${check}`]),
  ];
  return `${[choice, ...rest].join(", ")} (of ${candidates.join(", ")}): ${reason}`;
}

function field(name: string, value: string | undefined): readonly Field[] {
  return value === undefined ? [] : [[name, value]];
}

function conversation(cli: Cli, messages: readonly Message[]): void {
  if (cli.onTerminal && messages.length > 0) cli.print(show``);
  printFields(
    cli,
    messages.map((message) => [message.role, bodyOf(message, cli.onTerminal ? 4000 : Number.POSITIVE_INFINITY)] as const),
  );
}

/** What was said; of calls, results and files what they are. */
function bodyOf(message: Message, most: number): string {
  const parts = message.parts.map((part) => {
    switch (part.type) {
      case "text":
        return part.text;
      case "reasoning":
        return `[reasoning] ${clip(part.text, 200)}`;
      case "file":
        return `[${part.mediaType}${part.data instanceof Uint8Array ? `, ${plural(part.data.length, "byte")}` : ` ${String(part.data)}`}]`;
      case "call":
        return `[calls ${part.tool} ${clip(part.input, 200)}]`;
      case "result":
        return `[${part.tool} ${part.outcome.type}] ${part.outcome.type === "ok" ? clip(valueText(part.outcome.value), 400) : clip(valueText(part.outcome), 400)}`;
      case "source":
        return `[source ${part.title ?? ""} ${part.url ?? ""}]`;
      default:
        return part satisfies never;
    }
  });
  // Of what was erased there are no parts; its text says so.
  const text = parts.length === 0 ? message.text : parts.join("\n");
  return text.length <= most ? text : `${text.slice(0, most)}\n… ${plural(text.length - most, "more character")}: --json shows all`;
}
