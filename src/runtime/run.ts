/** Durable runs: queued before they start, executed here, parked when all they do is wait, and found again by id or key. */

import { RathError } from "../session/errors.ts";
import type { Node } from "../session/log.ts";
import type { Limits, Pending, Session } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import { pendingOf } from "../session/views.ts";
import type { RunRow } from "../store/store.ts";
import { compensateWith, type Workflow } from "../workflow/workflow.ts";
import { budgetOf } from "./budget.ts";
import { cancelOf } from "./cancel.ts";
import { closedBefore } from "./closed.ts";
import { type Divergence, divergenceOf } from "./divergence.ts";
import { whenStopped } from "./effect-context.ts";
import { outsideError } from "./enter.ts";
import type { Execution } from "./execution.ts";
import { type Ending, finish } from "./finish.ts";
import { type HeldLease, held } from "./lease.ts";
import { countLeft, leaveBehind } from "./leave-behind.ts";
import type { Runtime } from "./runtime.ts";
import { inside } from "./services.ts";
import { overdue } from "./take-up.ts";

/** What a resumed run does that does not ask again for what it recorded. */
export type OnDivergence = "pause" | "fork" | "fail";

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
  | { readonly status: "cancelled"; readonly session: Session; readonly reason: string };

/** What is known of a run beside its row, and how it goes on. */
export interface Executing {
  readonly limits?: Limits | undefined;
  readonly deadline?: string | undefined;
  /** It executes the `onCancel` of its workflow. */
  readonly compensates?: string | undefined;
  readonly onDivergence?: OnDivergence | undefined;
  /** Queues what makes a cancelled run good, and cancels what it has started. */
  readonly onCancelled?: ((place: Node) => Promise<void>) | undefined;
}

const longestTimer = 2 ** 31 - 1;

/** One run as this process executes it. */
export class RunExecution {
  readonly id: string;
  readonly workflow: Workflow;
  settled: Promise<Settled>;
  /** It had diverged and goes on, perhaps only to its end: what it comes to is in `settled` again. */
  onGoesOn: () => void = () => {};
  /** When a parked run goes on by itself. */
  wakeAt: string | undefined;
  #settle: (settled: Settled) => void = () => {};
  #reject: (error: RathError) => void = () => {};
  readonly #runtime: Runtime;
  readonly #input: Node;
  readonly #execution: Execution;
  readonly #how: Executing;
  readonly row: RunRow;
  #deadline: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #over = false;
  /** Its end is under way: done, or said to have failed. */
  #ending: Promise<void> | undefined;
  #paused = false;
  /** How many looks for news are under way, and whether the last one found out nothing. */
  #looks = 0;
  #missed = false;
  #unlisten: () => void = () => {};

  constructor(runtime: Runtime, workflow: Workflow, execution: Execution, input: Node, row: RunRow, how: Executing) {
    this.id = execution.id;
    this.workflow = workflow;
    this.#runtime = runtime;
    this.#execution = execution;
    this.#input = input;
    this.row = row;
    this.#how = how;
    this.settled = this.#unsettled();
  }

  #unsettled(): Promise<Settled> {
    const settled = new Promise<Settled>((resolve, reject) => {
      this.#settle = resolve;
      this.#reject = reject;
    });
    settled.catch(() => {}); // whoever waits for it is told; nobody has to
    return settled;
  }

  /** Calls `forward`; what it comes to is in `settled`. */
  start(lease: HeldLease, signal?: AbortSignal): void {
    const execution = this.#execution;
    execution.lease = lease;
    // Whoever is the first to hold it has not looked whether it was cancelled before.
    this.#missed = lease.epoch === 1;
    this.#runtime.watch(execution);
    execution.writer.setRow({ ...this.row, status: "running" });
    execution.onRenewed = () => void this.look().catch(() => {}); // what failed is tried at the next renewal
    execution.onParkable = () => this.#parkSoon();
    execution.onLost = (error) => this.#end({ status: "failed", session: this.#newest(), error });
    execution.onStill = () => void this.#diverged().catch((error: unknown) => this.#failed(error));
    const { leaseMs } = this.#runtime.times;
    // Renewing takes note that it was woken: whoever renews must look.
    this.#renewal = setInterval(() => void this.look().catch(() => {}), leaseMs / 3); // what failed is tried at the next one
    if (signal !== undefined) this.#obey(signal);
    this.#limitTime();
    if (this.#over) return;
    const { limits, compensates } = this.#how;
    if (limits !== undefined) execution.budget = budgetOf(execution, limits, execution.log.first?.at ?? this.#input.at, "run");
    countLeft(execution, execution.left);
    const budgets = execution.budget && [execution.budget];
    const session = new SessionValue(this.#input, { host: this.#runtime, execution, scope: execution.scope, by: "", budgets });
    const work = async (): Promise<Session> =>
      compensates === undefined ? this.workflow.forward(session) : compensateWith(this.workflow, session);
    const forward = inside.run({ execution, scope: execution.scope }, () => this.#traced(work));
    forward.then(
      (result) => this.#ended({ status: "done", node: placeOf(result).node }),
      (error: unknown) => this.#ended({ status: "failed", error }),
    );
  }

  #traced(work: () => Promise<Session>): Promise<Session> {
    const { telemetry, platform } = this.#runtime;
    if (telemetry === undefined) return work();
    const { workflow, session } = this.row;
    const trace = this.#execution.log.first?.data<"run.started">(platform).trace;
    return telemetry.run({ run: this.id, workflow, session, trace }, work);
  }

  /** Whoever watches gets what happens from now on. */
  watch(watcher: Parameters<Execution["watch"]>[0]): () => void {
    return this.#execution.watch(watcher);
  }

  /** Resolves when what it recorded so far is on disk, or could not be written. */
  async written(): Promise<void> {
    await this.#execution.writer.flush(this.#runtime.relaxed).catch(() => {}); // shows at the next write that the run waits for
  }

  /** `forward` is over; the run is, once everything recorded was asked for again. */
  async #ended(ending: Ending): Promise<void> {
    if (ending.status === "done") this.#execution.recorded?.adoption(ending.node);
    await this.#execution.gate();
    await this.#finish(ending);
  }

  #obey(signal: AbortSignal): void {
    const cancel = (): void => void this.cancel(String((signal.reason as Error | undefined)?.message ?? "aborted"));
    if (signal.aborted) {
      cancel();
      return;
    }
    this.#unlisten = whenStopped(signal, cancel);
  }

  async cancel(reason: string): Promise<void> {
    if (this.#over) return;
    this.#goesOn();
    await this.#finish({ status: "cancelled", reason, compensate: this.#how.onCancelled });
  }

  /** Somebody woke the run from outside: to cancel it, or with an answer or a signal that it waits for. */
  async look(): Promise<void> {
    this.#looks++;
    try {
      await this.#lookNow();
      this.#missed = false;
    } catch (error) {
      this.#missed = true;
      throw error;
    } finally {
      this.#looks--;
    }
  }

  async #lookNow(): Promise<void> {
    await this.#renew(this.#runtime.times.leaseMs);
    const started = this.#execution.log.first?.id;
    if (this.#over || started === undefined) return;
    const cancel = await cancelOf(this.#runtime, started);
    if (cancel !== undefined) await this.cancel(cancel.data.reason ?? "cancelled");
    else await Promise.all([this.#runtime.answers.look(this.#execution), this.#runtime.mailbox.look(this.id)]);
  }

  /**
   * This worker took the run again although it still executes it: its lease had run out. If nobody had it in between, it goes on,
   * and what may not be repeated is not lost; else what it does here is over.
   */
  holdAgain(lease: HeldLease): boolean {
    const execution = this.#execution;
    if (this.#over || execution.closed || execution.lease?.epoch !== lease.epoch - 1) return false;
    execution.lease = lease;
    void this.look().catch(() => {}); // taking took note that it was woken
    return true;
  }

  /** Begins nothing more, gives what is under way this long, and leaves the run for others. */
  async drain(forMs: number): Promise<void> {
    const execution = this.#execution;
    execution.draining = true;
    const until = performance.now() + forMs;
    const underWay = (): boolean => this.#busy || execution.beginning > 0;
    while (!this.#over && underWay() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
    await this.leave();
  }

  get #busy(): boolean {
    return [...this.#execution.open].some((open) => open.busy);
  }

  /** Stops executing and leaves the run to be resumed; one that is about to end does so first. */
  async leave(): Promise<void> {
    if (this.#over) return this.#ending;
    this.#stop();
    const execution = this.#execution;
    execution.ending = true;
    execution.leave();
    this.#runtime.answers.drop(execution);
    this.#runtime.mailbox.drop(execution);
    await this.#runtime.closeSandboxes(execution, "the run was left").catch(() => {});
    // A paused one goes on when somebody says how.
    const row = this.#paused ? undefined : { ...this.row, status: "queued", wakeAt: this.#runtime.platform.time() };
    // What is under way is aborted before the lease is given back: it must not happen here when it may happen elsewhere.
    if (row !== undefined) execution.writer.setRow(row, !this.#busy);
    const written = await execution.writer.flush().then(
      () => true,
      () => false,
    );
    execution.close();
    // A row that could not be written says nothing of going on: whoever finds the lease run out does.
    if (written) await this.#release();
    this.#reject(closedBefore(`run of "${this.row.workflow}"`, "ended"));
  }

  /** A deadline holds while it is executed; while it waits, it is woken for it. */
  #limitTime(): void {
    const { deadline } = this.#how;
    if (deadline === undefined) return;
    const left = Date.parse(deadline) - Date.parse(this.#runtime.platform.time());
    const arrive = (): void => {
      const error = overdue(this.id, deadline);
      if (left > longestTimer) this.#limitTime();
      else void this.#finish({ status: "failed", error, midway: true });
    };
    this.#deadline = setTimeout(arrive, Math.min(Math.max(left, 0), longestTimer));
  }

  #finish(ending: Ending): Promise<void> {
    if (this.#over) return Promise.resolve();
    this.#stop();
    this.#ending = this.#finishNow(ending);
    return this.#ending;
  }

  async #finishNow(ending: Ending): Promise<void> {
    try {
      const session = this.#runtime.outside(await finish(this.#execution, ending, this.row));
      if (ending.status === "cancelled") this.#settle({ status: "cancelled", session, reason: ending.reason });
      else if (ending.status === "done") this.#settle({ status: "done", session });
      else this.#settle({ status: "failed", session, error: asRathError(this.#runtime, ending.error, session) });
      await this.#release();
    } catch (failure) {
      // Its end could not be written: it is not over, only left. The lease is not given back: it is due when that has run out.
      this.#failed(failure);
    }
  }

  /** What it came to could not be written: whoever waits for it is told, also when it was about to stop. */
  #failed(error: unknown): void {
    const newest = this.#newest();
    this.#stop();
    this.#execution.close();
    this.#settle({ status: "failed", session: newest, error: asRathError(this.#runtime, error, newest) });
  }

  /** Its lease ran out and this process got it again: what goes on here has lost it. */
  overtaken(epoch: number): void {
    this.#execution.fence(epoch);
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
    clearTimeout(this.#deadline);
  }

  #newest(): Session {
    return this.#runtime.outside(this.#execution.newest ?? this.#input);
  }

  async #renew(leaseMs: number): Promise<void> {
    const lease = this.#execution.lease;
    if (lease === undefined || this.#over) return;
    const store = await this.#runtime.store();
    const renewed = await held(this.#runtime, () => store.renew(lease, leaseMs)).catch(() => lease);
    // It was taken again here meanwhile: that this lease is over says nothing of the new one.
    if (this.#execution.lease?.epoch !== lease.epoch) return;
    if (renewed === undefined) this.#execution.fence(lease.epoch + 1);
    else this.#execution.lease = renewed;
  }

  async #release(): Promise<void> {
    const { lease, writer } = this.#execution;
    if (lease !== undefined && !writer.released) await (await this.#runtime.store()).release(lease).catch(() => {});
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
    // Renewing took note that it was woken: parked before it is known why, it would not be woken again.
    if (this.#missed) await this.look().catch(() => {});
    // A result that is on its way to the program may end all this waiting.
    if (this.#looks > 0 || this.#missed || execution.delivery.busy) return this.#parkSoon();
    if (this.#over || !execution.parkable) return;
    const open = [...execution.open].filter((effect) => effect.waiting);
    const pending = open.map((effect) => pendingOf(effect.mark, this.#runtime.platform));
    const [wakeAt] = [this.#how.deadline, ...open.map(({ deadline }) => deadline)].filter((time) => time !== undefined).sort();
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
    execution.draining = true;
    this.#runtime.answers.drop(execution);
    this.#runtime.mailbox.drop(execution);
    await this.#runtime.closeSandboxes(execution, "the run waits");
    const key = await this.#runtime.key();
    await execution.sayLast(() => {
      execution.journal("run.parked", { pending: parked.pending, ...(parked.wakeAt === undefined ? {} : { wakeAt: parked.wakeAt }) });
      execution.signer.state(key, execution.newest ?? this.#input, "open");
      execution.writer.setRow({ ...this.row, status: "waiting", wakeAt: parked.wakeAt }, true);
    });
    execution.close();
    await this.#release();
  }

  /** The program does not ask again for what it did before. */
  async #diverged(): Promise<void> {
    const execution = this.#execution;
    if (this.#over || this.#paused || execution.recorded === undefined || execution.recorded.complete) return;
    const diverged = divergenceOf(this.#runtime.platform, execution);
    const { onDivergence = "pause" } = this.#how;
    if (onDivergence === "fork") {
      leaveBehind(execution);
      return;
    }
    const error = new RathError(
      "run.diverged",
      `Run ${this.id} does not ask again for what it recorded: ${diverged.text}. The workflow's code has changed or is not deterministic.`,
      { details: { ...diverged } },
    );
    if (onDivergence === "fail") return this.#finish({ status: "failed", error, midway: true });
    // It waits where it is: if what is missing is still asked for, it goes on by itself.
    this.#paused = true;
    const key = await this.#runtime.key();
    await execution.sayLast(() => {
      const { at, field } = diverged;
      execution.journal("run.parked", { pending: [], diverged: { event: at.id, step: at.step, kind: at.kind, field } });
      execution.signer.state(key, execution.newest ?? this.#input, "open");
      execution.writer.setRow({ ...this.row, status: "waiting", wakeAt: undefined });
    });
    this.#settle({ status: "waiting", session: this.#newest(), pending: [], diverged });
    void execution.gate()?.then(() => this.#goesOn());
  }

  /** What was missing was asked for after all, or somebody ends it. */
  #goesOn(): void {
    if (this.#over || !this.#paused) return;
    this.#paused = false;
    this.#execution.writer.setRow({ ...this.row, status: "running" });
    this.settled = this.#unsettled();
    this.onGoesOn();
  }
}

function asRathError(runtime: Runtime, error: unknown, session: Session): RathError {
  if (RathError.is(error)) return error.session === undefined ? error : outsideError(runtime, error, session.id);
  return new RathError("run.failed", textOfThrown(error), { cause: error, session });
}
