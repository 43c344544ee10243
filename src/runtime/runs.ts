/** The runs this Rath executes, and handles on any run of the store. */
import { RathError } from "../session/errors.ts";
import { keyedRunId } from "../session/id.ts";
import type { Limits, RunStatus, Session } from "../session/session.ts";
import type { Stream } from "../session/stream.ts";
import type { RunRow } from "../store/store.ts";
import type { OutputOf, Workflow } from "../workflow/workflow.ts";
import {
  cancelParked,
  claimRun,
  type OnDivergence,
  queueRun,
  RunExecution,
  type RunOptions,
  type Settled,
  sameRun,
  settledOf,
  takeUp,
} from "./run.ts";
import { loadRun } from "./run-record.ts";
import { hasEnded, rowOfRun } from "./run-row.ts";
import { runStream } from "./run-stream.ts";
import type { Runtime } from "./runtime.ts";

/** A handle on a durable run, whoever executes it. */
export interface Run<out Output = unknown> {
  /** What `rath.attach` and `rath.resume` take. */
  readonly id: string;
  /** The name it was started under. */
  readonly workflow: string;
  /** The branch it continues: the one it was given, or the fork made because somebody else was writing it. */
  readonly session: string;
  /** As stored now, whoever executes it. */
  status(): Promise<RunStatus>;
  /** Resolves when the run cannot go on by itself: ended, failed, cancelled, or waiting for a person or timer. Never rejects for these. */
  settle(): Promise<Settled<Output>>;
  /** The final session, with the id it was given; rejects if the run failed or was cancelled. Waits through waiting. */
  result(): Promise<Session<Output>>;
  /** What happened and happens, whoever executes it; `after` is the id of the last event that was seen. Ends with the run. */
  stream(options?: { readonly after?: string | undefined }): Stream<Output>;
  /** Durable: effects in flight are aborted and recorded as cancelled. */
  cancel(reason?: string): Promise<void>;
}

/** How a run is taken up again. */
export interface ResumeOptions {
  /** What to do when it does not ask again for what it recorded. */
  readonly onDivergence?: OnDivergence | undefined;
  /** The workflow, when it is not in `openrath({ workflows })` under the name it was started with. */
  readonly workflow?: Workflow | undefined;
}

type Waiting = Extract<Settled, { readonly status: "waiting" }>;

const pollMs = 250;

export class Runs {
  readonly #runtime: Runtime;
  readonly #workflows: Readonly<Record<string, Workflow>>;
  readonly #worker: string;
  readonly #executing = new Map<string, RunExecution>();
  /** Parked runs that go on here as soon as they can. */
  readonly #parked = new Map<string, Workflow>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Runs that wait here for what they recorded to be asked for again. */
  readonly #paused = new Map<string, RunExecution>();
  /** Take-ups under way: two of one run would fence each other. */
  readonly #taking = new Map<string, Promise<boolean>>();

  constructor(runtime: Runtime, workflows: Readonly<Record<string, Workflow>>, worker: string) {
    this.#runtime = runtime;
    this.#workflows = workflows;
    this.#worker = worker;
  }

  async start<W extends Workflow>(given: W | string, session: Session, options: RunOptions): Promise<Run<OutputOf<W>>> {
    const workflow = typeof given === "string" ? this.#named(given) : given;
    const name = typeof given === "string" ? given : this.#runtime.nameOf(given);
    const registered = this.#known(name);
    if (registered !== undefined && registered !== workflow)
      throw new RathError(
        "workflow.invalid",
        `Two workflows are named "${name}": the one given and the one in openrath({ workflows }). A resumed run finds its workflow by name: rename one.`,
      );
    await this.#runtime.effects.writer.flush();
    const queued = await queueRun(this.#runtime, name, session, options);
    if (queued === undefined) return (await this.#again(name, workflow, session, options)) as Run<OutputOf<W>>;
    const { execution, input, row } = queued;
    const lease = await (await this.#runtime.store()).claim(row.id, this.#worker, this.#runtime.times.leaseMs);
    if (lease === undefined) execution.close();
    else this.#execute(new RunExecution(this.#runtime, workflow, execution, input, row, options), lease, options.signal);
    return this.#handle(row);
  }

  /** The run that has this key already; executed here when nobody else does. */
  async #again(name: string, workflow: Workflow, session: Session, options: RunOptions): Promise<Run> {
    const key = options.key as string;
    const row = await this.#row(keyedRunId(this.#runtime.platform, key));
    const record = await loadRun(this.#runtime, row.id);
    await sameRun(this.#runtime, record, name, session, key);
    if (!hasEnded(row.status) && !this.#executing.has(row.id)) await this.#takeUp(row, workflow, "pause", options.signal);
    return this.#handle(row);
  }

  async resume(id: string, { onDivergence = "pause", workflow: given }: ResumeOptions = {}): Promise<Run> {
    const row = await this.#row(id);
    if (hasEnded(row.status) || this.#executing.has(id)) return this.#handle(row);
    const workflow = given ?? this.#parked.get(id) ?? this.#named(row.workflow);
    if (!(await this.#takeUp(row, workflow, onDivergence))) {
      throw new RathError(
        "run.busy",
        `Run ${id} is being executed by ${(await this.#row(id)).owner ?? "somebody else"}: attach to it, or wait until its lease ends.`,
        { retryable: true, details: { run: id } },
      );
    }
    return this.#handle(row);
  }

  async attach(id: string): Promise<Run> {
    return this.#handle(await this.#row(id));
  }

  async *list(query: { readonly status?: RunStatus | undefined; readonly workflow?: string | undefined }): AsyncIterable<Run> {
    for await (const row of (await this.#runtime.store()).runs({ status: query.status }))
      if (query.workflow === undefined || row.workflow === query.workflow) yield this.#handle(row);
  }

  /** A question of a parked run was answered: it goes on here if it was executed here. */
  async wake(id: string): Promise<void> {
    if (this.#parked.has(id) && !this.#executing.has(id))
      await this.resume(id).catch((error: unknown) => this.#runtime.warn(`Run ${id} could not go on: ${String(error)}`));
  }

  async close(): Promise<void> {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all([...this.#executing.values(), ...this.#paused.values()].map((run) => run.leave()));
    this.#executing.clear();
  }

  #takeUp(row: RunRow, workflow: Workflow, onDivergence: OnDivergence, signal?: AbortSignal): Promise<boolean> {
    if (this.#executing.has(row.id)) return Promise.resolve(true);
    const under = this.#taking.get(row.id);
    if (under !== undefined) return under;
    const taking = this.#takeUpNow(row, workflow, onDivergence, signal).finally(() => this.#taking.delete(row.id));
    this.#taking.set(row.id, taking);
    return taking;
  }

  async #takeUpNow(row: RunRow, workflow: Workflow, onDivergence: OnDivergence, signal?: AbortSignal): Promise<boolean> {
    await this.#paused.get(row.id)?.leave();
    this.#paused.delete(row.id);
    const store = await this.#runtime.store();
    const lease = await claimRun(this.#runtime, store, row.id, this.#worker);
    if (lease === undefined) return false;
    const record = await loadRun(this.#runtime, row.id);
    if (record.ended !== undefined) {
      await store.release(lease);
      return true;
    }
    const execution = takeUp(this.#runtime, record, lease, this.#worker);
    execution.drive(record.program);
    const how = { onDivergence, limits: record.started.limits as Limits | undefined };
    this.#execute(new RunExecution(this.#runtime, workflow, execution, record.input, row, how), lease, signal);
    return true;
  }

  #execute(run: RunExecution, lease: Parameters<RunExecution["start"]>[0], signal: AbortSignal | undefined): void {
    this.#executing.set(run.id, run);
    this.#parked.delete(run.id);
    clearTimeout(this.#timers.get(run.id));
    this.#timers.delete(run.id);
    const ended = (settled?: Settled): void => {
      if (this.#executing.get(run.id) === run) this.#executing.delete(run.id);
      if (settled?.status === "waiting" && settled.diverged !== undefined) this.#paused.set(run.id, run);
      else if (settled?.status === "waiting" && !this.#runtime.closed) this.#park(run, settled.pending).catch(() => {}); // whoever opens the store next finds it
    };
    run.settled.then(ended, () => ended());
    run.start(lease, signal);
  }

  async #park(run: RunExecution, pending: Waiting["pending"]): Promise<void> {
    this.#parked.set(run.id, run.workflow);
    if (run.wakeAt !== undefined) {
      const left = Math.max(0, Date.parse(run.wakeAt) - Date.parse(this.#runtime.platform.time()));
      const timer = setTimeout(() => void this.wake(run.id), Math.min(left, 2 ** 31 - 1));
      this.#timers.set(run.id, timer.unref());
    }
    // An answer may have come between the last look and the parking.
    await this.#wakeIfAnswered(run.id, pending);
  }

  /** An answer given in another process is seen when somebody looks. */
  async #wakeIfAnswered(id: string, pending: Waiting["pending"]): Promise<void> {
    const news = (one: Waiting["pending"][number]): Promise<boolean> =>
      one.kind === "signal"
        ? this.#runtime.mailbox.hasNews(id, one.signal)
        : this.#runtime.answers.find(one.id).then((found) => found !== undefined);
    for (const one of pending) if (await news(one)) return this.wake(id);
  }

  async #cancel(id: string, reason: string): Promise<void> {
    const running = this.#executing.get(id) ?? this.#paused.get(id);
    if (running !== undefined) return running.cancel(reason);
    const row = await this.#row(id);
    if (hasEnded(row.status)) return;
    const lease = await claimRun(this.#runtime, await this.#runtime.store(), id, this.#worker);
    if (lease === undefined)
      throw new RathError("run.busy", `Run ${id} is being executed by ${row.owner}: cancel it there.`, { retryable: true });
    this.#parked.delete(id);
    const record = await loadRun(this.#runtime, id);
    const execution = takeUp(this.#runtime, record, lease, this.#worker);
    await cancelParked(execution, record, row, reason);
    await (await this.#runtime.store()).release(lease);
  }

  #handle<Output>(row: RunRow): Run<Output> {
    const { id, workflow, session } = row;
    const settle = (): Promise<Settled<Output>> => this.#settle(id) as Promise<Settled<Output>>;
    return {
      id,
      workflow,
      session,
      status: async () => (await this.#row(id)).status as RunStatus,
      settle,
      result: async () => {
        for (;;) {
          const settled = await settle();
          if (settled.status === "done") return settled.session;
          if (settled.status === "failed") throw settled.error;
          if (settled.status === "cancelled")
            throw new RathError("run.cancelled", `Run ${id} was cancelled.`, { session: settled.session });
          if (settled.diverged !== undefined)
            throw new RathError("run.diverged", `Run ${id} diverged ${settled.diverged.text}.`, {
              session: settled.session,
              details: { ...settled.diverged },
            });
          await this.#wakeIfAnswered(id, settled.pending);
          if (!this.#executing.has(id)) await new Promise((resolve) => setTimeout(resolve, pollMs));
          this.#runtime.assertOpen();
        }
      },
      stream: (options = {}) =>
        runStream<Output>(this.#runtime, {
          id,
          session,
          after: options.after,
          executing: () => this.#executing.get(id),
          settle,
          cancel: (reason) => this.#cancel(id, reason),
        }),
      cancel: (reason = "cancelled") => this.#cancel(id, reason),
    };
  }

  async #settle(id: string): Promise<Settled> {
    for (;;) {
      this.#runtime.assertOpen();
      const executing = this.#executing.get(id);
      if (executing !== undefined) return executing.settled;
      const { status } = await this.#row(id);
      if (hasEnded(status) || status === "waiting") {
        const settled = settledOf(this.#runtime, await loadRun(this.#runtime, id), status);
        if (settled !== undefined) return settled;
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  async #row(id: string): Promise<RunRow> {
    const row = await rowOfRun(await this.#runtime.store(), id);
    if (row === undefined) throw new RathError("run.not-found", `There is no run ${id} in this store.`, { details: { run: id } });
    return row;
  }

  #known(name: string): Workflow | undefined {
    return Object.hasOwn(this.#workflows, name) ? this.#workflows[name] : undefined;
  }

  #named(name: string): Workflow {
    const workflow = this.#known(name);
    if (workflow === undefined)
      throw new RathError(
        "run.unknown-workflow",
        `There is no workflow "${name}" here: pass it as openrath({ workflows: { ${JSON.stringify(name)}: … } }).`,
        { details: { workflow: name } },
      );
    return workflow;
  }
}
