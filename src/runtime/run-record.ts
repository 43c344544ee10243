/** What a run has recorded, found by its id in whichever logs it wrote. */
import { RathError } from "../session/errors.ts";
import { type DataOf, isCalled } from "../session/event.ts";
import { forkId } from "../session/id.ts";
import { isAncestor, type Log, type Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Runtime } from "./runtime.ts";

/** How often a program may have detached one place before it, all but the last for nothing. */
const mostDetached = 1000;

export interface RunRecord {
  readonly id: string;
  readonly started: DataOf<"run.started">;
  /** The place `forward` was given. */
  readonly input: Node;
  /** The run's own log. */
  readonly log: Log;
  readonly journal: readonly Node[];
  /** All it wrote, its own log included, in its order. */
  readonly events: readonly Node[];
  /** What `forward` and its end recorded: without the run's own log and without what others made. */
  readonly program: readonly Node[];
  readonly ended: DataOf<"run.ended"> | undefined;
}

export async function loadRun(runtime: Runtime, id: string): Promise<RunRecord> {
  const store = await runtime.store();
  const ids = new Set<string>();
  for await (const row of store.sessions({ run: id })) ids.add(row.id);
  if (!ids.has(id)) throw new RathError("run.not-found", `There is no run ${id} in this store.`, { details: { run: id } });
  const logs = await runtime.load([...ids]);
  const log = logs.get(id) as Log;
  const journal = nodesOf(log);
  const first = journal[0];
  if (first?.kind !== "run.started")
    throw new RathError("run.not-recorded", `${id} holds effects outside any workflow: there is no workflow to execute again.`);
  const started = first.data<"run.started">(runtime.platform);
  if (started === undefined) throw erasedRun(id, first);
  const inputLog = logs.get(started.input.session) ?? (await runtime.load([started.input.session])).get(started.input.session);
  const input = inputLog === undefined ? undefined : findEvent(inputLog, started.input.head);
  if (input === undefined) throw new RathError("store.corrupt", `The input of run ${id} (${started.input.head}) is not in the store.`);
  const events = [...ids]
    .flatMap((session) => nodesOf(logs.get(session) as Log).filter((node) => node.run === id))
    .sort((a, b) => a.order - b.order);
  const end = journal.findLast((node) => node.kind === "run.ended");
  const program = programOf(id, events, input, runtime.platform);
  return { id, started, input, log, journal, events, program, ended: end?.data<"run.ended">(runtime.platform) };
}

/** Nobody can execute again what is not known any more. */
export function refuseErased({ id, program, input }: RunRecord): void {
  const erased = program.find((node) => node.erased) ?? (input.erased ? input : undefined);
  if (erased !== undefined) throw erasedRun(id, erased);
}

function erasedRun(run: string, { id, kind }: Node): RathError {
  const problem = `Run ${run} cannot be executed again: its event ${id} (${kind}) was erased. What is left of it can be read and verified.`;
  return new RathError("event.erased", problem, { details: { run, event: id } });
}

/**
 * What the program made. Others' work that was not on disk when the run stood on it or merged it is stored with the run's, under its id:
 * but only what the program made goes back to where the run entered its workflow, continuing one event after the other.
 */
function programOf(run: string, events: readonly Node[], input: Node, platform: Platform): readonly Node[] {
  const own = new Map<Node, boolean>();
  const isEntered = (node: Node): boolean =>
    node.kind === "workflow.entered" && ((node.data(platform) as DataOf<"workflow.entered"> | undefined)?.run ?? node.run) === run;
  const before = beginningsOf(input);
  const calls = new Set(events.filter(({ kind }) => isCalled(kind)).map(({ id }) => id));
  const judge = (node: Node): boolean | undefined => {
    if (isEntered(node)) return true;
    // What lies before the input need not be followed to its beginning.
    if (before.some((place) => isAncestor(node, place))) return false;
    if (node.kind === "session.detached") return isDetachedBy(run, calls, node, platform) ? true : undefined;
    return node.kind === "session.forked" ? isForkedBy(run, calls, node) : undefined;
  };
  const isOwn = (node: Node): boolean => {
    const line: Node[] = [];
    let at: Node | undefined = node;
    let known: boolean | undefined;
    while (at !== undefined && known === undefined) {
      line.push(at);
      known = own.get(at) ?? judge(at);
      at = at.parent ?? at.log.origin;
    }
    for (const each of line) own.set(each, known === true);
    return known === true;
  };
  // Where somebody else had continued the input, the workflow was entered on a fork of it.
  for (const node of events) if (isEntered(node) && node.prior !== undefined && node.prior !== input) own.set(node.prior, true);
  return events.filter((node) => node.log.kind === "session" && isOwn(node));
}

/** The input, what its line was detached from, and so on. */
function beginningsOf(input: Node): readonly Node[] {
  const places = [input];
  for (let at: Node | undefined = input; at !== undefined; at = at.log.first?.parent ?? at.log.origin)
    if (at.log.first?.parent === undefined && at.log.origin !== undefined) places.push(at.log.origin);
  return places;
}

/**
 * A program may go on from a value from before its input, which makes a fork of the past, and others may fork one that it handed out.
 * Otherwise a fork is told by what it stands on: one that had to be made when it was written has the scope of whoever wrote it.
 */
function isForkedBy(run: string, calls: ReadonlySet<string>, { facts, log: { fork } }: Node): boolean | undefined {
  if (fork === undefined) return undefined;
  const { scope } = fork;
  if ("run" in scope ? scope.run !== run : !calls.has(scope.call)) return false;
  return fork.implicit && facts.past !== true ? undefined : true;
}

/** A program may detach a value from before its input: such a line is named by where it was made. */
function isDetachedBy(run: string, calls: ReadonlySet<string>, { log }: Node, platform: Platform): boolean {
  const { id, origin, within } = log;
  if (within !== undefined && "call" in within) return calls.has(within.call);
  if (origin === undefined) return false;
  const from = { session: origin.log.id, head: origin.id };
  for (let ordinal = 0; ordinal < mostDetached; ordinal++) if (forkId(platform, from, { run }, "detach", ordinal) === id) return true;
  return false;
}

/** The stored events of a log, oldest first. */
function nodesOf(log: Log): Node[] {
  const nodes: Node[] = [];
  for (let node = log.tip; node !== undefined; node = node.prior) if (node.stored) nodes.push(node);
  return nodes.reverse();
}

export function findEvent(log: Log, id: string): Node | undefined {
  let node = log.tip;
  while (node !== undefined && node.id !== id) node = node.prior;
  return node;
}

/** The newest run of a workflow on the first-parent line of a place. */
export async function runBehind(runtime: Runtime, place: Node): Promise<RunRecord> {
  const store = await runtime.store();
  const seen = new Set<string>();
  for (let node: Node | undefined = place; node !== undefined; node = node.parent) {
    if (node.run === undefined || seen.has(node.run)) continue;
    seen.add(node.run);
    for await (const event of store.events({ session: node.run, to: 1 }))
      if (runtime.platform.text(event.envelope).includes('"kind":"run.started"')) return loadRun(runtime, node.run);
  }
  throw new RathError("run.not-recorded", `Session ${place.log.id} was not made by a workflow: there is nothing to execute again.`);
}
