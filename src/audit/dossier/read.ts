/**
 * Everything that a dossier says, read once from the record and cleaned of secrets. What is drawn and written is made of this alone,
 * so that the page, the files beside it and the pictures cannot disagree.
 */

import { runtimeOf } from "../../runtime/replay.ts";
import { rowOfRun } from "../../runtime/run-row.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { sandboxRecords } from "../../runtime/sandbox-records.ts";
import type { Given } from "../../runtime/services.ts";
import type { Event } from "../../session/event.ts";
import { ancestorsOf, type Log, type Node } from "../../session/log.ts";
import type { Change, SandboxRecord, Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import { valueText } from "../../wire/event-line.ts";
import { type Branch, branchesOf, joinsOf } from "../branches.ts";
import { type CostRow, type CostSum, costsOf } from "../cost.ts";
import { edgeOf, type GraphEdge, type GraphNode, nodeOf, winners } from "../graph-data.ts";
import { eventsOf } from "../lineage-events.ts";
import { Cleaner } from "./clean.ts";
import { type Effect, effectsOf } from "./effects.ts";

/** What became of a branch. */
export type Part = "result" | "merged" | "rejected" | "inner" | "unused";

/** A branch and what became of it. */
export interface Way extends GraphNode {
  readonly part: Part;
  readonly usd: number;
  readonly tokens: number;
}

/** A run and what it says of itself. */
export interface RunLog {
  readonly id: string;
  /** Undefined for effects outside any workflow. */
  readonly started: Event<"run.started"> | undefined;
  readonly status: string;
  /** Its own log, without what is about other sessions. */
  readonly journal: readonly Event[];
}

/** What a dossier is made of. */
export interface Dossier {
  readonly session: Session;
  readonly title: string;
  readonly tags: readonly string[];
  readonly principal: string | undefined;
  readonly task: string;
  /** What came out, as text. */
  readonly output: string;
  /** When it was read. */
  readonly at: string;
  readonly events: readonly Event[];
  readonly find: (id: string) => Event | undefined;
  /** Whether an event is among what the session was made of. */
  readonly counts: (event: { readonly id: string }) => boolean;
  readonly effects: readonly Effect[];
  /** What all branches cost, by agent and by model. */
  readonly spent: { readonly agents: readonly CostRow[]; readonly models: readonly CostRow[]; readonly total: CostSum };
  readonly ways: readonly Way[];
  readonly edges: readonly GraphEdge[];
  /** What a branch is called. */
  readonly nameOf: (session: string) => string;
  readonly runs: readonly RunLog[];
  /** The newest run of a workflow that the session itself came out of; others made its branches, or went on from it. */
  readonly run: RunLog | undefined;
  readonly sandboxes: readonly SandboxRecord[];
  /** What people said, by the call they were asked about. */
  readonly decisions: ReadonlyMap<string, Given>;
  readonly changes: readonly Change[];
  readonly patch: string;
  /** Secrets that were replaced when the record was written. */
  readonly redacted: number;
  readonly clean: Cleaner;
}

/** Reads what a dossier of a session says. What is not stored yet is saved first. */
export async function readDossier(session: Session): Promise<Dossier> {
  const runtime = runtimeOf(session);
  await runtime.save(session);
  const clean = new Cleaner(runtime.redact);
  const branches = await branchesOf(session);
  const events = eventsOf(branches, runtime.platform).map((event) => clean.value(event));
  const byId = new Map(events.map((event) => [event.id as string, event]));
  const find = (id: string): Event | undefined => byId.get(id);
  const effects = effectsOf(events, find);
  const ways = waysOf(branches, session, runtime, clean);
  const names = new Map(ways.map(({ id, label }) => [id, label]));
  const runs = await runsOf(runtime, branches, clean);
  const { title = "", tags = [], principal } = clean.value(placeOf(session).node.log.about);
  const task = clean.text(taskOf(session));
  return {
    ...{ session, tags, principal, task, events, find, effects, ways, runs, clean },
    run: runBehind(session, runs),
    title: title === "" ? firstLine(task) : title,
    output: clean.text(outputOf(session)),
    at: runtime.platform.time(),
    spent: spentOn(branches, runtime, clean),
    counts: countsFor(branches, session),
    edges: joinsOf(branches).map(edgeOf),
    nameOf: (id) => names.get(id) ?? id.slice(0, 8),
    sandboxes: await sandboxesOf(runtime, runs, names),
    decisions: await decisionsOn(runtime, effects, clean),
    changes: await session.files.changes(),
    patch: clean.text(await session.files.patch()),
    redacted: events.reduce((sum, { facts }) => sum + (facts.redacted ?? 0), 0),
  };
}

function spentOn(branches: readonly Branch[], runtime: Runtime, clean: Cleaner): Dossier["spent"] {
  const nodes = branches.flatMap((branch) => branch.nodes);
  const { rows: agents, total } = costsOf(nodes, "agent", runtime);
  const { rows: models } = costsOf(nodes, "model", runtime);
  const named = (row: CostRow): CostRow => ({ ...row, name: clean.text(row.name) });
  return { agents: agents.map(named), models: models.map(named), total };
}

function waysOf(branches: readonly Branch[], session: Session, { platform }: Runtime, clean: Cleaner): readonly Way[] {
  const won = winners(branches);
  const known = ancestorsOf(placeOf(session).node);
  return branches.map((branch): Way => {
    const node = nodeOf(branch, won, platform);
    const { usd, input, output } = branch.session.usage.own;
    return {
      ...node,
      label: clean.text(node.label),
      reason: node.reason === undefined ? undefined : clean.text(node.reason),
      part: partOf(node, known.get(branch.log) >= 0),
      usd,
      tokens: input + output,
    };
  });
}

function partOf({ current, won, status, kind }: GraphNode, counts: boolean): Part {
  if (current || won) return "result";
  if (status === "rejected") return "rejected";
  if (kind === "nested") return "inner";
  return counts ? "merged" : "unused";
}

function countsFor(branches: readonly Branch[], session: Session): Dossier["counts"] {
  const known = ancestorsOf(placeOf(session).node);
  const behind = new Set<string>();
  for (const { log, nodes } of branches) {
    const newest = known.get(log);
    for (const node of nodes) if (node.seq <= newest) behind.add(node.id);
  }
  return ({ id }) => behind.has(id);
}

async function runsOf(runtime: Runtime, branches: readonly Branch[], clean: Cleaner): Promise<readonly RunLog[]> {
  const store = await runtime.store();
  const ids = new Set<string>();
  for (const { nodes } of branches) for (const { run } of nodes) if (run !== undefined) ids.add(run);
  const stored: string[] = [];
  for (const id of ids) for await (const row of store.sessions({ id, log: "run" })) if (row.id === id) stored.push(id);
  const logs = await runtime.load(stored);
  const sessions = new Set(branches.map(({ log }) => log.id));
  const runs: RunLog[] = [];
  for (const id of stored) {
    const events = eventsIn(logs.get(id), runtime).map((event) => clean.value(event));
    const [first] = events;
    const started = first?.kind === "run.started" ? first : undefined;
    const row = started === undefined ? undefined : await rowOfRun(store, id);
    const journal = started === undefined ? events.filter((event) => isAbout(event, sessions)) : events;
    const ended = journal.findLast((event) => event.kind === "run.ended");
    const status =
      row?.status ?? (ended?.kind === "run.ended" ? (ended.data?.status ?? "ended") : started === undefined ? "outside" : "open");
    runs.push({ id, started, status, journal });
  }
  return runs;
}

function runBehind(session: Session, runs: readonly RunLog[]): RunLog | undefined {
  const byId = new Map(runs.flatMap((run) => (run.started === undefined ? [] : [[run.id, run] as const])));
  for (let node: Node | undefined = placeOf(session).node; node !== undefined; node = node.parent) {
    const run = byId.get(node.run ?? "");
    if (run !== undefined) return run;
  }
  return undefined;
}

/** The run for effects outside any workflow is shared by sessions that have nothing to do with each other. */
function isAbout(event: Event, sessions: ReadonlySet<string>): boolean {
  return event.kind === "sandbox.opened" && sessions.has(event.data?.session ?? "");
}

function eventsIn(log: Log | undefined, { platform }: Runtime): readonly Event[] {
  const events: Event[] = [];
  for (let node = log?.tip; node !== undefined; node = node.prior) events.push(node.event(platform));
  return events.reverse();
}

async function sandboxesOf(
  runtime: Runtime,
  runs: readonly RunLog[],
  ours: ReadonlyMap<string, string>,
): Promise<readonly SandboxRecord[]> {
  const found: SandboxRecord[] = [];
  for (const { id } of runs)
    for await (const record of sandboxRecords(runtime, { run: id })) if (ours.has(record.session)) found.push(record);
  return found;
}

/** Answers to questions, approvals, and what people said of effects whose outcome was unknown. */
async function decisionsOn(runtime: Runtime, effects: readonly Effect[], clean: Cleaner): Promise<ReadonlyMap<string, Given>> {
  const decisions = new Map<string, Given>();
  for (const { op, call, started, result } of effects) {
    const data = (result?.data ?? {}) as { readonly answer?: string };
    const asks = op === "ask" || (call.kind === "tool.called" && call.data?.approval !== undefined);
    if (!asks && data.answer === undefined) continue;
    const given = (await runtime.answers.find(call.id)) ?? (started === undefined ? undefined : await runtime.answers.find(started.id));
    if (given !== undefined) decisions.set(call.id, clean.value(given));
  }
  return decisions;
}

/** What it was first asked for. */
function taskOf(session: Session): string {
  return session.messages.find(({ role }) => role === "user")?.text ?? session.messages[0]?.text ?? "";
}

function outputOf(session: Session): string {
  try {
    return session.output === undefined ? session.text : valueText(session.output);
  } catch {
    return session.text; // there is none, or an agent did not finish: what it had said
  }
}

function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line === "" ? "A session" : line.slice(0, 200);
}
