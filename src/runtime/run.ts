/** Durable runs: queued before they start, executed here, parked when all they do is wait, and found again by id or key. */
import { RathError } from "../session/errors.ts";
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import { givenLimits } from "../session/given.ts";
import { keyedRunId } from "../session/id.ts";
import { current, type Log, type Node } from "../session/log.ts";
import type { Limits, Pending, Session } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import { pendingOf } from "../session/views.ts";
import { whatOf } from "../session/what.ts";
import type { Lease, RunRow, Store } from "../store/store.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { budgetOf } from "./budget.ts";
import { type Divergence, divergenceOf } from "./divergence.ts";
import { outsideError } from "./enter.ts";
import { Execution } from "./execution.ts";
import { type Ending, finish } from "./finish.ts";
import { closedRath } from "./open-effect.ts";
import { Reuse } from "./reuse.ts";
import { findEvent, type RunRecord } from "./run-record.ts";
import { rowOfRun } from "./run-row.ts";
import type { Runtime } from "./runtime.ts";
import { inside } from "./services.ts";
import { isDeadHere } from "./worker-id.ts";

/** What a resumed run does that does not ask again for what it recorded. */
export type OnDivergence = "pause" | "fork" | "fail";

/** How a durable run is started. */
export interface RunOptions {
  /** The same key and input give the same run, in this process or another. */
  readonly key?: string | undefined;
  /** Over the run and everything under it. */
  readonly limits?: Limits | undefined;
  /** Aborting it cancels the run, durably. */
  readonly signal?: AbortSignal | undefined;
}

/** What a run has come to when it cannot go on by itself. */
export type Settled<Output = unknown> =
  | { readonly status: "done"; readonly session: Session<Output> }
  | {
      readonly status: "waiting";
      readonly session: Session;
      readonly pending: readonly Pending[];
      readonly diverged?: Divergence | undefined;
    }
  | { readonly status: "failed"; readonly session: Session; readonly error: RathError }
  | { readonly status: "cancelled"; readonly session: Session };

/** One run as this process executes it. */
export class RunExecution {
  readonly id: string;
  readonly workflow: Workflow;
  readonly settled: Promise<Settled>;
  /** When a parked run goes on by itself. */
  wakeAt: string | undefined;
  #settle: (settled: Settled) => void = () => {};
  #reject: (error: RathError) => void = () => {};
  readonly #runtime: Runtime;
  readonly #input: Node;
  readonly #execution: Execution;
  readonly #onDivergence: OnDivergence;
  readonly #limits: Limits | undefined;
  #row: RunRow;
  #renewal: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #over = false;
  #paused = false;
  #unlisten: () => void = () => {};

  constructor(
    runtime: Runtime,
    workflow: Workflow,
    execution: Execution,
    input: Node,
    row: RunRow,
    how: { readonly onDivergence?: OnDivergence | undefined; readonly limits?: Limits | undefined } = {},
  ) {
    this.id = execution.id;
    this.workflow = workflow;
    this.#runtime = runtime;
    this.#execution = execution;
    this.#input = input;
    this.#row = row;
    this.#onDivergence = how.onDivergence ?? "pause";
    this.#limits = how.limits;
    this.settled = new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#reject = reject;
    });
    this.settled.catch(() => {}); // whoever waits for it is told; nobody has to
  }

  /** Calls `forward`; what it comes to is in `settled`. */
  start(lease: Lease, signal?: AbortSignal): void {
    const execution = this.#execution;
    execution.lease = lease;
    this.#runtime.watch(execution);
    execution.writer.setRow({ ...this.#row, status: "running", wakeAt: undefined });
    execution.onParkable = () => this.#parkSoon();
    execution.onFenced = (error) => this.#end({ status: "failed", session: this.#newest(), error });
    execution.onStill = () => void this.#diverged().catch((error: unknown) => this.#failed(error));
    const { leaseMs } = this.#runtime.times;
    this.#renewal = setInterval(() => void this.#renew(leaseMs), leaseMs / 3);
    if (signal !== undefined) this.#obey(signal);
    if (this.#over) return;
    const budgets =
      this.#limits === undefined ? undefined : [budgetOf(execution, this.#limits, execution.log.first?.at ?? this.#input.at, "run")];
    const session = new SessionValue(this.#input, { host: this.#runtime, execution, scope: execution.scope, by: "", budgets });
    const forward = inside.run({ execution, scope: execution.scope }, () => this.workflow.forward(session));
    forward.then(
      (result) => this.#ended({ status: "done", node: placeOf(result).node }),
      (error: unknown) => this.#ended({ status: "failed", error }),
    );
  }

  /** Whoever watches gets what happens from now on. */
  watch(watcher: Parameters<Execution["watch"]>[0]): () => void {
    return this.#execution.watch(watcher);
  }

  /** `forward` is over; the run is, once everything recorded was asked for again. */
  async #ended(ending: Ending): Promise<void> {
    await this.#execution.gate();
    await this.#finish(() => finish(this.#execution, ending, this.#row), ending.status === "failed" ? ending.error : undefined);
  }

  #obey(signal: AbortSignal): void {
    const cancel = (): void => void this.cancel(String((signal.reason as Error | undefined)?.message ?? "aborted"));
    if (signal.aborted) {
      cancel();
      return;
    }
    signal.addEventListener("abort", cancel, { once: true });
    this.#unlisten = () => signal.removeEventListener("abort", cancel);
  }

  async cancel(reason: string): Promise<void> {
    if (this.#over) return;
    await this.#finish(() => finish(this.#execution, { status: "cancelled", reason }, this.#row), undefined, true);
  }

  /** Stops executing and leaves the run to be resumed. */
  async leave(): Promise<void> {
    if (this.#over) return;
    this.#stop();
    this.#runtime.answers.drop(this.#execution);
    this.#runtime.mailbox.drop(this.#execution);
    await this.#runtime.closeSandboxes(this.#execution, "the run was left").catch(() => {});
    await this.#execution.writer.flush().catch(() => {});
    this.#execution.close();
    await this.#release();
    this.#reject(closedRath());
  }

  async #finish(end: () => Promise<Node>, error?: unknown, cancelled = false): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#stop();
    try {
      const node = await end();
      const session = this.#runtime.outside(node);
      if (cancelled) this.#settle({ status: "cancelled", session });
      else if (error === undefined) this.#settle({ status: "done", session });
      else this.#settle({ status: "failed", session, error: asRathError(this.#runtime, error, session) });
      await this.#release();
    } catch (failure) {
      // Its end could not be written: it is not over, only left, and can be resumed.
      const newest = this.#newest();
      this.#execution.close();
      this.#settle({ status: "failed", session: newest, error: asRathError(this.#runtime, failure, newest) });
      await this.#release();
    }
  }

  /** What it came to could not be written. */
  #failed(error: unknown): void {
    this.#end({ status: "failed", session: this.#newest(), error: asRathError(this.#runtime, error, this.#newest()) });
  }

  #end(settled: Settled): void {
    if (this.#over) return;
    this.#over = true;
    this.#stop();
    this.#settle(settled);
  }

  #stop(): void {
    this.#over = true;
    this.#unlisten();
    clearInterval(this.#renewal);
    clearTimeout(this.#grace);
  }

  #newest(): Session {
    return this.#runtime.outside(this.#execution.newest ?? this.#input);
  }

  async #renew(leaseMs: number): Promise<void> {
    const lease = this.#execution.lease;
    if (lease === undefined || this.#over) return;
    const store = await this.#runtime.store();
    const renewed = await store.renew(lease, leaseMs).catch(() => lease);
    if (renewed === undefined) this.#execution.fence(lease.epoch + 1);
    else this.#execution.lease = renewed;
  }

  async #release(): Promise<void> {
    const { lease } = this.#execution;
    if (lease !== undefined) await (await this.#runtime.store()).release(lease).catch(() => {});
  }

  #parkSoon(): void {
    this.#grace ??= setTimeout(() => {
      this.#grace = undefined;
      void this.#park().catch((error: unknown) => this.#failed(error));
    }, this.#runtime.times.parkGraceMs);
  }

  /** Nothing but waits: writes what it waits for, frees the lease and drops its frames. */
  async #park(): Promise<void> {
    const execution = this.#execution;
    if (this.#over || !execution.parkable) return;
    const open = [...execution.open].filter((effect) => effect.waiting);
    const pending = open.map((effect) => pendingOf(effect.mark, this.#runtime.platform));
    const [wakeAt] = open.flatMap(({ deadline }) => (deadline === undefined ? [] : [deadline])).sort();
    const soon = wakeAt !== undefined && Date.parse(wakeAt) - Date.parse(this.#runtime.platform.time()) < 1000;
    if (soon) return;
    this.wakeAt = wakeAt;
    await this.#stopAs({ pending: open.map((effect) => effect.mark.id), wakeAt });
    this.#settle({ status: "waiting", session: this.#newest(), pending });
  }

  async #stopAs(parked: { readonly pending: readonly string[]; readonly wakeAt: string | undefined }): Promise<void> {
    const execution = this.#execution;
    this.#stop();
    // From here on nothing goes on in this process: an answer that comes now wakes the parked run.
    execution.ending = true;
    this.#runtime.answers.drop(execution);
    this.#runtime.mailbox.drop(execution);
    await this.#runtime.closeSandboxes(execution, "the run waits");
    const key = await this.#runtime.key();
    await execution.sayLast(() => {
      execution.journal("run.parked", { pending: parked.pending, ...(parked.wakeAt === undefined ? {} : { wakeAt: parked.wakeAt }) });
      execution.signer.state(key, execution.newest ?? this.#input, "open");
      execution.writer.setRow({ ...this.#row, status: "waiting", wakeAt: parked.wakeAt });
    });
    execution.close();
    await this.#release();
  }

  /** The program does not ask again for what it did before. */
  async #diverged(): Promise<void> {
    const execution = this.#execution;
    if (this.#over || this.#paused || execution.recorded === undefined || execution.recorded.complete) return;
    const diverged = divergenceOf(this.#runtime.platform, execution);
    if (this.#onDivergence === "fork") {
      execution.reuse = new Reuse(this.#runtime, execution.recorded.unclaimed, { effects: "ask" });
      for (const node of execution.recorded.unclaimed) execution.recorded.claim(node);
      return;
    }
    const error = new RathError(
      "run.diverged",
      `Run ${this.id} does not ask again for what it recorded: ${diverged.text}. The workflow's code has changed or is not deterministic.`,
      { details: { ...diverged } },
    );
    if (this.#onDivergence === "fail") return this.#finish(() => finish(execution, { status: "failed", error }, this.#row), error);
    // It waits where it is: if what is missing is still asked for, it goes on by itself.
    this.#paused = true;
    const key = await this.#runtime.key();
    await execution.sayLast(() => {
      execution.journal("run.parked", { pending: [] });
      execution.signer.state(key, execution.newest ?? this.#input, "open");
      execution.writer.setRow({ ...this.#row, status: "waiting", wakeAt: undefined });
    });
    this.#settle({ status: "waiting", session: this.#newest(), pending: [], diverged });
  }
}

function asRathError(runtime: Runtime, error: unknown, session: Session): RathError {
  if (RathError.is(error)) return error.session === undefined ? error : outsideError(runtime, error, session.id);
  return new RathError("run.failed", textOfThrown(error), { cause: error, session });
}

/** Queues a new run durably; undefined when one with its key is there already. */
export async function queueRun(
  runtime: Runtime,
  name: string,
  session: Session,
  options: RunOptions,
): Promise<{ readonly execution: Execution; readonly input: Node; readonly row: RunRow } | undefined> {
  const { platform } = runtime;
  const { node: head } = runtime.here(session);
  const id = options.key === undefined ? platform.newId() : keyedRunId(platform, options.key);
  if (options.key !== undefined && (await rowOfRun(await runtime.store(), id)) !== undefined) return undefined;
  const execution = new Execution(runtime, id, "run");
  const free = head.log.tip === head && head.log.owner === undefined && head.log.open === 0;
  const input = free ? head : execution.fork(head, execution.scope, `run ${id.slice(0, 8)}`, head.by);
  execution.own(input.log);
  execution.record(input);
  execution.journal("run.started", {
    workflow: name,
    input: { session: input.log.id, head: input.id },
    ...(options.key === undefined ? {} : { key: options.key }),
    ...(options.limits === undefined ? {} : { limits: defined(givenLimits(options.limits)) }),
  });
  const row: RunRow = {
    id,
    key: options.key === undefined ? undefined : runtime.clean(options.key),
    session: input.log.id,
    workflow: name,
    status: "queued",
    wakeAt: undefined,
  };
  execution.writer.setRow(row);
  try {
    await execution.writer.flush();
  } catch (error) {
    execution.close();
    if (options.key !== undefined && RathError.is(error, "store.conflict")) return undefined;
    throw error;
  }
  return { execution, input: current(input), row: { ...row, session: current(input).log.id } };
}

function defined(limits: Limits): Limits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

/** Refuses a key that was used for another workflow or another input. */
export async function sameRun(runtime: Runtime, record: RunRecord, name: string, session: Session, key: string): Promise<void> {
  const { node } = placeOf(session);
  const what = (place: Node): string => whatOf(place, runtime.platform, (at) => runtime.textOf(at), new Map());
  const original =
    record.input.kind === "session.forked" && record.input.log.fork?.label === `run ${record.id.slice(0, 8)}`
      ? (record.input.parent as Node)
      : record.input;
  const sameInput = node.stored ? original.id === node.id || record.input.id === node.id : what(original) === what(node);
  if (record.started.workflow === name && sameInput) return;
  throw new RathError(
    "run.key-reused",
    `Key "${key}" belongs to run ${record.id} of "${record.started.workflow}"${sameInput ? "" : " with another input"}: use another key.`,
    { details: { run: record.id, key } },
  );
}

/** Takes the run's lease, at once if its owner was a process of this host that is dead. */
export async function claimRun(runtime: Runtime, store: Store, id: string, worker: string): Promise<Lease | undefined> {
  const lease = await store.claim(id, worker, runtime.times.leaseMs);
  if (lease !== undefined) return lease;
  const owner = (await rowOfRun(store, id))?.owner;
  return owner !== undefined && isDeadHere(owner) ? store.claim(id, worker, runtime.times.leaseMs, { from: owner }) : undefined;
}

/** An execution that goes on after what the run has recorded. */
export function takeUp(runtime: Runtime, record: RunRecord, lease: Lease, worker: string): Execution {
  const execution = new Execution(runtime, record.id, "run", record.log);
  execution.lease = lease;
  for (const log of new Set(record.events.map((node) => node.log))) if (log.owner === undefined) log.rewind();
  execution.writer.order = Math.max(-1, ...record.events.map((node) => node.order)) + 1;
  execution.signer.restore(record.journal, record.events);
  execution.own(record.input.log);
  execution.newest = record.program.at(-1) ?? record.input;
  execution.journal("run.resumed", { worker, epoch: lease.epoch });
  return execution;
}

/** Ends a parked run without executing it: its open calls are closed, then it is marked. */
export async function cancelParked(execution: Execution, record: RunRecord, row: RunRow, reason: string): Promise<Node> {
  const returned = new Set(record.program.filter((node) => isReturned(node.kind)).map(callOf));
  for (const call of record.program) {
    if (!isCalled(call.kind) || returned.has(call)) continue;
    execution.closeRecorded(call, call.facts.started === true ? "unknown" : "cancelled", reason);
  }
  return finish(execution, { status: "cancelled", reason }, row);
}

/** Where a run stands now, read from its record. */
export function settledOf(runtime: Runtime, record: RunRecord, status: string): Settled | undefined {
  const branch: Log = record.input.log;
  const last = record.ended?.result;
  const place = (last === undefined ? undefined : findEvent(branch, last.head)) ?? record.program.at(-1) ?? record.input;
  const session = runtime.outside(place);
  switch (status) {
    case "done":
      return { status: "done", session };
    case "failed":
      return {
        status: "failed",
        session,
        error: new RathError((record.ended?.code as "run.failed" | undefined) ?? "run.failed", record.ended?.message ?? "the run failed", {
          session,
        }),
      };
    case "cancelled":
      return { status: "cancelled", session };
    case "waiting":
      return { status: "waiting", session, pending: pendingIn(runtime, record) };
    default:
      return undefined;
  }
}

/** What a run waits for: what it said when it was parked, else its calls that have no result, each under its newest mark. */
export function pendingIn(runtime: Runtime, record: RunRecord): readonly Pending[] {
  const open = new Map<Node, Node>();
  for (const node of record.program) {
    if (isCalled(node.kind)) open.set(node, node);
    else if (isStarted(node.kind)) open.set(callOf(node), node);
    else if (isReturned(node.kind)) open.delete(callOf(node));
  }
  const last = record.journal.findLast((node) => node.kind === "run.parked" || node.kind === "run.resumed");
  const asked = last?.kind === "run.parked" ? new Set(last.data<"run.parked">(runtime.platform).pending) : new Set<string>();
  const marks = [...open.values()];
  return (asked.size === 0 ? marks : marks.filter((mark) => asked.has(mark.id))).map((mark) => pendingOf(mark, runtime.platform));
}
