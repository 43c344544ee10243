/**
 * What a session cost: tokens, money and time over every branch of it, also those that were rejected, each event once. With it where
 * limits were reached and where its runs were interrupted. A reused result was paid for where it comes from.
 */
import { runtimeOf } from "../runtime/replay.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type DataOf, isReturned } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import { givenOneOf, givenOptions } from "../session/given.ts";
import type { Node } from "../session/log.ts";
import type { Session, Totals, Usage } from "../session/session.ts";
import { count, money, plural, seconds } from "../wire/format.ts";
import { neutral } from "../wire/neutral.ts";
import type { AskOptions } from "./ask-options.ts";
import { branchesOf, compare } from "./branches.ts";
import { insideOf } from "./diff-align.ts";
import { journalsOf, ofKind, type Said } from "./journals.ts";

/** What each row of a cost is about. */
export type CostBy = "branch" | "agent" | "model" | "tool" | "run";

/** What something cost. */
export interface CostSum {
  /** Results of effects; of a model or a tool, its calls. */
  readonly calls: number;
  readonly failed: number;
  /** Of these, taken from the record of another run. */
  readonly reused: number;
  /** Of these, calls of models whose price is not known: they count as 0. */
  readonly unpriced: number;
  /** Time of its effects; what runs at the same time counts twice, and so does what is inside another effect. */
  readonly ms: number;
  /** Of a tool: also what was spent inside its calls. */
  readonly usage: Totals;
}
/** What one branch, agent, model, tool or run cost. */
export interface CostRow extends CostSum {
  /** The id of the branch or run, or the name of the agent, model or tool. */
  readonly name: string;
  /** The label of a branch, or the workflow of a run. */
  readonly label?: string | undefined;
}
/** A limit that was reached, or because of which a call was refused. */
export interface CrossedBudget {
  readonly event: string;
  readonly run: string;
  readonly at: string;
  readonly limit: "rounds" | "tokens" | "usd" | "time";
  readonly of: number;
  readonly spent: number;
  /** Whose limit it was. */
  readonly by: string;
}
/** A run that was taken up after it was left, or because its holder died. One that had waited, for a person or a timer, was not interrupted. */
export interface Interruption {
  readonly event: string;
  readonly run: string;
  /** When it went on. */
  readonly at: string;
  readonly worker: string;
  /** Whoever executed it before never gave it back: it died, or was cut off. */
  readonly abandoned: boolean;
}

/** What a session cost, and where. The rows and `rest` together are `total`. */
export interface Cost {
  readonly by: CostBy;
  /** The dearest first; where nothing has a price, those that took the most tokens. */
  readonly rows: readonly CostRow[];
  /** What belongs to no row: of models and tools, everything else. */
  readonly rest: CostSum;
  readonly total: CostSum;
  /** Of the session's own past; the rest was spent on branches that are no part of it. */
  readonly usage: Usage;
  /** Calls of models whose price is not known: events, oldest first. */
  readonly unpriced: readonly string[];
  /** Where limits were reached, oldest first. */
  readonly crossed: readonly CrossedBudget[];
  /** Where runs were interrupted, oldest first. */
  readonly interrupted: readonly Interruption[];
  toString(): string;
}

/** How costs are added up. */
export interface CostOptions extends AskOptions {
  readonly by?: CostBy | undefined;
}

/**
 * Adds up what a session cost, by branch (default), agent, model, tool or run.
 *
 * @example
 * const { rows, total, crossed, interrupted } = await cost(session, { by: "model" });
 * for (const { name, calls, usage } of rows) console.log(name, calls, usage.usd);
 * console.log(total.usage.usd, crossed.map(({ limit, of }) => `${limit} ${of}`), interrupted.filter(({ abandoned }) => abandoned).length);
 */
export async function cost(session: Session, options: CostOptions = {}): Promise<Cost> {
  const runtime = runtimeOf(session);
  givenOptions(options, ["by", "signal"], "cost");
  givenOneOf(options.by, ["branch", "agent", "model", "tool", "run"], "cost.by");
  const { by = "branch", signal } = options;
  const branches = await branchesOf(session, signal);
  const nodes = branches.flatMap((branch) => branch.nodes);
  const journals = await journalsOf(runtime, nodes, told, signal);
  const labels = by === "run" ? workflowsOf(journals) : new Map(branches.flatMap(({ log }) => labelled(log)));
  const found = {
    by,
    ...costsOf(nodes, by, runtime, labels),
    usage: session.usage,
    unpriced: unpricedIn(nodes, runtime),
    crossed: crossedIn(journals),
    interrupted: interruptedIn(journals),
  };
  return Object.freeze({ ...found, toString: () => textOf(found) });
}

/** The sums of some events, each result once: what has a name, what has none, and all of it. */
export function costsOf(
  nodes: readonly Node[],
  by: CostBy,
  runtime: Runtime,
  labels: ReadonlyMap<string, string> = new Map(),
): Pick<Cost, "rows" | "rest" | "total"> {
  const { named, rest } = summed(nodes, by, runtime);
  return { rows: rowsOf(named, labels), rest: shown(rest), total: shown(summed(nodes, undefined, runtime).rest) };
}

interface Sum {
  calls: number;
  failed: number;
  reused: number;
  unpriced: number;
  ms: number;
  readonly usage: { input: number; output: number; cached: number; cacheWrite: number; reasoning: number; usd: number };
}

function emptySum(): Sum {
  return {
    calls: 0,
    failed: 0,
    reused: 0,
    unpriced: 0,
    ms: 0,
    usage: { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 },
  };
}

/** Every result once, under its name; without a question all of it is the rest. */
function summed(nodes: readonly Node[], by: CostBy | undefined, { platform }: Runtime) {
  const named = new Map<string, Sum>();
  const rest = emptySum();
  const sumOf = (name: string | undefined): Sum => {
    if (name === undefined) return rest;
    const sum = named.get(name) ?? emptySum();
    named.set(name, sum);
    return sum;
  };
  const toolAround = by === "tool" ? toolsAround(nodes, platform) : () => undefined;
  for (const node of nodes) {
    if (!isReturned(node.kind) && node.kind !== "session.imported") continue;
    const name = by === undefined ? undefined : nameOf(node, by, platform);
    const sum = sumOf(name);
    // A reused result has neither usage nor time of its own: it was paid for where it comes from.
    const { outcome = "ok", ms = 0, usage, source } = node.facts;
    if (isReturned(node.kind)) sum.calls++;
    if (outcome !== "ok") sum.failed++;
    if (source !== undefined) sum.reused++;
    if (isUnpriced(node, platform)) sum.unpriced++;
    sum.ms += ms;
    const payer = sumOf(name ?? toolAround(node)).usage;
    for (const key of Object.keys(payer) as (keyof Totals)[]) payer[key] += usage?.[key] ?? 0;
  }
  return { named, rest };
}

/** Undefined when the event is none of what is asked about. */
function nameOf(node: Node, by: CostBy, platform: Runtime["platform"]): string | undefined {
  switch (by) {
    case "branch":
      return node.log.id;
    case "agent":
      return node.by;
    case "run":
      return node.run;
    case "model":
      // What a foreign file says was spent on all of its replies.
      if (node.kind === "session.imported") return "unknown";
      if (node.kind !== "model.returned") return undefined;
      return node.data<"model.returned">(platform)?.model ?? callOf(node).data<"model.called">(platform)?.model ?? "[erased]";
    case "tool":
      return node.kind === "tool.returned" ? toolOf(callOf(node), platform) : undefined;
    default:
      return by satisfies never;
  }
}

function toolOf(call: Node, platform: Runtime["platform"]): string {
  return call.data<"tool.called">(platform)?.name ?? "[erased]";
}

/** The nearest tool inside whose call something was done. */
function toolsAround(nodes: readonly Node[], platform: Runtime["platform"]): (node: Node) => string | undefined {
  const calls = new Map(nodes.flatMap((node) => (node.kind.endsWith(".called") ? [[node.id as string, node] as const] : [])));
  return (node) => {
    let call = calls.get(insideOf(node) ?? "");
    while (call !== undefined && call.kind !== "tool.called") call = calls.get(insideOf(call) ?? "");
    return call === undefined ? undefined : toolOf(call, platform);
  };
}

function rowsOf(named: ReadonlyMap<string, Sum>, labels: ReadonlyMap<string, string>): readonly CostRow[] {
  const rows = [...named].map(([name, sum]) => ({ name, ...(labels.has(name) ? { label: labels.get(name) } : {}), ...shown(sum) }));
  return Object.freeze(
    rows.sort((a, b) => b.usage.usd - a.usage.usd || tokens(b) - tokens(a) || b.ms - a.ms || (a.name < b.name ? -1 : 1)),
  );
}

function tokens({ usage }: CostSum): number {
  return usage.input + usage.output;
}

function shown({ ms, usage, ...rest }: Sum): CostSum {
  return Object.freeze({ ...rest, ms: Math.round(ms * 1000) / 1000, usage: Object.freeze({ ...usage }) });
}

function labelled({ id, fork }: Node["log"]): readonly (readonly [string, string])[] {
  const name = fork === undefined ? "" : fork.label || (fork.nested ? "nested" : fork.implicit ? "implicit" : "");
  return name === "" ? [] : [[id, name]];
}

function unpricedIn(nodes: readonly Node[], { platform }: Runtime): readonly string[] {
  const unpriced = nodes.filter((node) => isUnpriced(node, platform));
  return unpriced.sort((a, b) => compare(a.at, b.at)).map(({ id }) => id);
}

/** What was reused was paid for elsewhere, at whatever price. */
function isUnpriced(node: Node, platform: Runtime["platform"]): boolean {
  return node.kind === "model.returned" && node.facts.source === undefined && node.data<"model.returned">(platform)?.unpriced === true;
}

/** What runs say of themselves about workflows, money and interruptions. */
const told = ["run.started", "run.parked", "run.resumed", "budget.crossed"] as const;

function workflowsOf(said: readonly Said[]): ReadonlyMap<string, string> {
  return new Map(ofKind(said, "run.started").map(({ run, data }) => [run, data.workflow]));
}

function crossedIn(said: readonly Said[]): readonly CrossedBudget[] {
  return Object.freeze(ofKind(said, "budget.crossed").map(({ event, run, at, data }) => Object.freeze({ event, run, at, ...data })));
}

function interruptedIn(said: readonly Said[]): readonly Interruption[] {
  const waited = waitsIn(said);
  return Object.freeze(
    ofKind(said, "run.resumed").flatMap(({ event, run, at, data }) =>
      waited.has(event) ? [] : Object.freeze({ event, run, at, worker: data.worker, abandoned: data.abandoned === true }),
    ),
  );
}

/** What took a run up that had been parked, to wait. */
function waitsIn(said: readonly Said[]): ReadonlySet<string> {
  const parked = new Set<string>();
  const waited = new Set<string>();
  for (const { kind, run, event, data } of said) {
    if (kind === "run.parked" && (data as DataOf<"run.parked">).diverged === undefined) parked.add(run);
    if (kind === "run.resumed" && parked.delete(run) && (data as DataOf<"run.resumed">).abandoned !== true) waited.add(event);
  }
  return waited;
}

function textOf({ by, rows, total, usage, crossed, interrupted, unpriced }: Omit<Cost, "toString">): string {
  const line = ({ name, label, calls, usage: spent, ms }: CostRow): string =>
    neutral(
      `${money(spent.usd)}  ${count(spent.input)} read, ${count(spent.output)} written, ${plural(calls, "call")}, ${seconds(ms)}  ${label ?? name}`,
    );
  return [
    `${money(total.usage.usd)} on all branches, ${money(usage.usd)} of it in this session's own past; by ${by}:`,
    ...rows.map(line),
    ...(unpriced.length === 0 ? [] : [`${plural(unpriced.length, "call")} of models without a known price`]),
    ...crossed.map(crossedText),
    ...interrupted.map(interruptedText),
  ].join("\n");
}

/** A crossed limit in words. */
export function crossedText({ limit, of, spent, by, at }: CrossedBudget): string {
  const said = (value: number): string => (limit === "usd" ? money(value) : limit === "time" ? seconds(value) : count(value));
  return neutral(`limit reached at ${at}: ${limit} ${said(of)} of ${by}, ${said(spent)} spent`);
}

/** An interruption in words. */
export function interruptedText({ at, worker, abandoned, run }: Interruption): string {
  return neutral(`run ${run} ${abandoned ? "was cut off" : "was left"} and went on at ${at} with ${worker}`);
}
