/** The runs of the store as people ask for them: which there are, how they stand, who executes them, since when, until when. */
import { cancelOf } from "../runtime/cancel.ts";
import { divergedText } from "../runtime/divergence.ts";
import { readEvent } from "../runtime/load.ts";
import { pendingRuns } from "../runtime/pending.ts";
import { loadRun } from "../runtime/run-record.ts";
import { hasEnded } from "../runtime/run-row.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { isDeadHere } from "../runtime/worker-id.ts";
import { envelopeOf } from "../session/codec.ts";
import type { DataOf, Event } from "../session/event.ts";
import type { Node } from "../session/log.ts";
import type { Pending, RunStatus } from "../session/session.ts";
import type { RunRow, StoredEvent } from "../store/store.ts";
import { ago, count, plural, shortEvent, within } from "../wire/format.ts";
import { pendingText } from "../wire/pending-line.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import { type Column, printFields, printList } from "./print-list.ts";
import { progressing } from "./progress.ts";
import { answerCommand, statusInk } from "./session-text.ts";
import { runRows, shortIds } from "./sessions.ts";
import { type Showable, show } from "./shown.ts";

const statuses: readonly RunStatus[] = ["queued", "running", "waiting", "done", "failed", "cancelled"];

/** A run with what only its own log tells. */
interface Item {
  readonly row: RunRow;
  readonly started: string;
  /** When it was last queued, taken up, parked or ended. */
  readonly since: string;
  /** Its code does not ask again for what it recorded: it waits for whoever says how it goes on. */
  readonly diverged: DataOf<"run.parked">["diverged"];
}

export interface RunsOptions {
  readonly status?: string | undefined;
  readonly limit: number;
}

export async function listRuns(cli: Cli, { status, limit }: RunsOptions): Promise<void> {
  if (status !== undefined && !statuses.includes(status as RunStatus))
    throw new Fault(exits.usage, `Runs are ${statuses.join(", ")}, not ${status}.`);
  const project = await cli.project();
  const rows = (await runRows(project)).filter((row) => status === undefined || row.status === status).reverse();
  const items = await progressing(cli, "listing", "runs", async (progress) => {
    const found: Item[] = [];
    for (const row of rows.slice(0, limit)) {
      found.push(await itemOf(cli, row));
      progress.add();
    }
    return found;
  });
  printList(cli, items, {
    columns: columns(cli, await shortIds(cli)),
    data: dataOf,
    empty:
      status === undefined
        ? show`There are no runs. Start one with: openrath run WORKFLOW --input "…"`
        : show`There are no runs that are ${status}.`,
  });
  const left = rows.length - items.length;
  if (left > 0) cli.note(show`${cli.errInk.dim(`and ${count(left)} older: --limit ${rows.length}`)}`);
}

async function itemOf(cli: Cli, row: RunRow): Promise<Item> {
  const { runtime } = await cli.project();
  const store = await runtime.store();
  let [started, since] = ["", ""];
  let last: StoredEvent | undefined;
  // Of its own log alone: what the run wrote elsewhere may be much.
  for await (const event of store.events({ session: row.id })) {
    const { kind, at } = envelopeOf(runtime.platform, event);
    if (started === "") started = at;
    if (kind === "run.signed") continue;
    since = at;
    last = kind === "run.parked" ? event : undefined;
  }
  const parked = row.status !== "waiting" || last === undefined ? undefined : await readEvent(runtime.platform, store, last);
  return { row, started, since, diverged: (parked as Event<"run.parked"> | undefined)?.data?.diverged };
}

function columns(cli: Cli, short: (id: string) => string): readonly Column<Item>[] {
  const now = cli.host.now();
  return [
    { name: "RUN", cell: ({ row }) => cli.ink.cyan(short(row.id)), plain: ({ row }) => row.id },
    { name: "STATUS", cell: ({ row }) => statusInk(cli, row.status) },
    { name: "WORKFLOW", cell: ({ row }) => row.workflow, rest: true },
    { name: "SESSION", cell: ({ row }) => short(row.session), plain: ({ row }) => row.session, spare: true },
    { name: "WORKER", cell: ({ row }) => workerOf(row), plain: ({ row }) => row.owner ?? "", optional: true, spare: true },
    { name: "PRIORITY", cell: ({ row }) => row.priority || "", plain: ({ row }) => row.priority ?? 0, right: true, optional: true },
    { name: "KEY", cell: ({ row }) => row.key ?? "", optional: true },
    { name: "STARTED", cell: ({ started }) => ago(started, now), plain: ({ started }) => started, spare: true },
    { name: "SINCE", cell: ({ since }) => ago(since, now), plain: ({ since }) => since },
    { name: "GOES ON", cell: (item) => goesOn(item, now), plain: ({ row }) => row.wakeAt ?? "", optional: true },
  ];
}

function dataOf({ row, started, since, diverged }: Item): object {
  const { id, status, workflow, session, owner, priority, key, wakeAt } = row;
  return {
    ...{ id, status, workflow, session, owner: owner ?? null, priority: priority ?? 0, key: key ?? null },
    ...{ started, since, wakeAt: wakeAt ?? null, diverged: diverged ?? null },
  };
}

/** One that runs, and that nobody holds any more, was left by a worker that died; of one on this host that is known at once. */
function workerOf({ owner, status }: RunRow): string {
  if (owner === undefined) return status === "running" ? "died" : "";
  return isDeadHere(owner) ? `${owner} died` : owner;
}

/** When it goes on by itself. */
function goesOn({ row: { status, owner, woken, wakeAt }, diverged }: Item, now: Date): string {
  if (hasEnded(status) || owner !== undefined) return "";
  if (diverged !== undefined) return "when it is resumed";
  if (status === "running" || woken === true || (wakeAt !== undefined && Date.parse(wakeAt) <= now.getTime())) return "with a worker";
  return wakeAt === undefined ? "with an answer" : within(wakeAt, now);
}

type Field = readonly [name: string, value: Showable];

/** `openrath show RUN`. */
export async function showRun(cli: Cli, row: RunRow): Promise<void> {
  const { runtime } = await cli.project();
  const record = await loadRun(runtime, row.id);
  const { started, journal, ended } = record;
  const item = await itemOf(cli, row);
  const takenUp = journal.filter(({ kind }) => kind === "run.resumed").map((node) => takenUpData(node, runtime));
  const deaths = takenUp.filter(({ abandoned }) => abandoned === true).length;
  const cancel = await cancelOf(runtime, (record.log.first as Node).id);
  // What was answered is not asked any more, though the run has not gone on with it.
  const pending = row.status === "waiting" ? await pendingRuns(runtime, { run: row.id }) : [];
  if (cli.asJson) {
    cli.data({
      ...dataOf(item),
      ...{ input: { session: record.input.log.id, head: record.input.id, step: record.input.step } },
      ...{ deadline: started.deadline ?? null, limits: started.limits ?? null, parent: started.parent ?? null },
      ...{ compensates: started.compensates ?? null, takenUp },
      ...{ cancel: cancel === undefined ? null : { by: cancel.by, at: cancel.at, reason: cancel.data.reason ?? null } },
      ...{ ended: journal.findLast(({ kind }) => kind === "run.ended")?.at ?? null, ...outcomeData(row.status, ended), pending },
    });
    return;
  }
  const short = await shortIds(cli);
  const id = (full: string): string => (cli.onTerminal ? short(full) : full);
  const now = cli.host.now();
  const wakes = goesOn(item, now);
  printFields(cli, [
    ["run", cli.ink.cyan(id(row.id))],
    ["status", statusText(cli, row)],
    ["workflow", row.workflow],
    ["session", id(row.session)],
    ["input", `${id(record.input.log.id)}@${record.input.step}`],
    ["started", item.started],
    ["since", item.since],
    ...field("diverged", item.diverged === undefined ? undefined : divergedText(item.diverged)),
    ...field("goes on", wakes === "" ? undefined : wakes),
    ...field("key", row.key),
    ...field("priority", row.priority),
    ...field("deadline", started.deadline),
    ...field("child of", started.parent === undefined ? undefined : id(started.parent)),
    ...field("makes good", started.compensates === undefined ? undefined : id(started.compensates)),
    ...field(
      "taken up",
      takenUp.length === 0
        ? undefined
        : `${plural(takenUp.length, "time")}${deaths === 0 ? "" : `, ${count(deaths)} after its worker died`}`,
    ),
    ...field("to cancel", cancel === undefined ? undefined : `asked by ${cancel.by}: ${cancel.data.reason ?? "no reason"}`),
    ...field("because", ended?.message ?? ended?.reason),
    ...pending.map((one): Field => ["pending", `${one.kind} ${cli.onTerminal ? shortEvent(one.id) : one.id}: ${pendingText(one)}`]),
  ]);
  tellNext(cli, item, pending, short);
}

/** As `takenUp` of a run over HTTP. */
function takenUpData(node: Node, { platform }: Runtime): Pick<DataOf<"run.resumed">, "worker" | "abandoned"> & { readonly at: string } {
  const { worker, abandoned } = node.data<"run.resumed">(platform);
  return { at: node.at, worker, ...(abandoned === undefined ? {} : { abandoned }) };
}

/** As in the outcome of a run over HTTP. */
function outcomeData(status: string, { code, message, reason }: Partial<DataOf<"run.ended">> = {}): object {
  return {
    error: status === "failed" ? { code: code ?? "run.failed", message: message ?? "the run failed" } : null,
    reason: status === "cancelled" ? (reason ?? "cancelled") : null,
  };
}

function field(name: string, value: Showable | undefined): readonly Field[] {
  return value === undefined ? [] : [[name, value]];
}

function statusText(cli: Cli, row: RunRow): Showable {
  if (row.owner !== undefined && !isDeadHere(row.owner)) return show`${statusInk(cli, row.status)}, executed by ${row.owner}`;
  return row.status === "running"
    ? show`${statusInk(cli, row.status)}, but its worker died: the next one takes it up`
    : statusInk(cli, row.status);
}

function tellNext(cli: Cli, { row, diverged }: Item, pending: readonly Pending[], short: (id: string) => string): void {
  if (!cli.onTerminal) return;
  if (diverged !== undefined) cli.next(`openrath resume ${short(row.id)}, with the code it began with, or with --on-divergence fork`);
  for (const one of pending) {
    const command = answerCommand(one, shortEvent(one.id));
    if (command !== undefined) cli.next(command);
  }
  cli.next(`openrath log ${short(row.session)} --oneline`, ...(hasEnded(row.status) ? [] : [`openrath cancel ${short(row.id)}`]));
}
