/** The runs this Rath executes, and handles on any run of the store. */

import { RathError } from "../session/errors.ts";
import { givenName, kindOf, unsupported } from "../session/given.ts";
import { keyedRunId } from "../session/id.ts";
import type { Node } from "../session/log.ts";
import type { Limits, RunStatus, Session } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { RunRow, Wakeups } from "../store/store.ts";
import type { OutputOf, Workflow } from "../workflow/workflow.ts";
import { Attention } from "./attention.ts";
import { cancelChildren, cancelOf, isToBeMadeGood, requestCancel } from "./cancel.ts";
import type { Execution } from "./execution.ts";
import type { Ending } from "./finish.ts";
import { type Hints, hintsOf, openWakeups } from "./hints.ts";
import type { HeldLease } from "./lease.ts";
import { leaveAgain } from "./leave-behind.ts";
import { Obedience } from "./obedience.ts";
import { ParkedRuns } from "./parked-runs.ts";
import { checkInput, compensationOf, queueRun, type RunOptions, sameRun } from "./queue-run.ts";
import { type Executing, type OnDivergence, RunExecution, type Settled } from "./run.ts";
import { handleOf, type Run, startedBefore } from "./run-handle.ts";
import { loadRun, type RunRecord } from "./run-record.ts";
import { hasEnded, rowOfRun } from "./run-row.ts";
import type { Runtime } from "./runtime.ts";
import { StandIns } from "./stand-ins.ts";
import { Starts } from "./starts.ts";
import { busy, claimNew, claimRun, deathsOf, endUnexecuted, overdue, poisoned, rests, takeUp, unknownWorkflow } from "./take-up.ts";
import { toldPartsOf } from "./told-parts.ts";
import { cameTo, type RunWork, telling, tellOf, type WorkOptions, type WorkState, work } from "./worker.ts";

/** How a run is taken up again. */
export interface ResumeOptions {
  /** What to do when it does not ask again for what it recorded. */
  readonly onDivergence?: OnDivergence | undefined;
  /** The workflow, when it is not in `openrath({ workflows })` under the name it was started with. */
  readonly workflow?: Workflow | undefined;
}

interface TakeUp {
  readonly onDivergence: OnDivergence;
  readonly signal?: AbortSignal | undefined;
  /** Nobody asked for this run: one that workers died of is left alone for a while. */
  readonly patient?: boolean | undefined;
}

export class Runs {
  readonly #runtime: Runtime;
  readonly #workflows: Readonly<Record<string, Workflow>>;
  readonly #worker: string;
  readonly #hints: Hints;
  readonly #executing = new Map<string, RunExecution>();
  /** Parked runs that go on here as soon as they can. */
  readonly #parked: ParkedRuns;
  readonly #obedience: Obedience;
  /** Runs that wait here for what they recorded to be asked for again. */
  readonly #paused = new Map<string, RunExecution>();
  /** Take-ups under way: two of one run would fence each other. */
  readonly #taking = new Map<string, Promise<boolean>>();
  /** What is under way with each run that was handed to this process. */
  readonly #going = new Map<string, Promise<void>>();
  /** Runs that are being started, up to where they execute. */
  readonly #starts = new Starts();
  readonly #attention: Attention;
  readonly #standIns: StandIns;
  /** Tells those who work here that there may be something to take. */
  readonly #pokes = new Set<() => void>();
  #wakeups: Wakeups | undefined;

  constructor(runtime: Runtime, workflows: Readonly<Record<string, Workflow>>, worker: string) {
    this.#runtime = runtime;
    this.#workflows = workflows;
    this.#worker = worker;
    this.#hints = hintsOf(runtime);
    this.#parked = new ParkedRuns(runtime.times.lookMs, (id) => void this.wake(id));
    toldPartsOf(runtime);
    this.#attention = new Attention(runtime, this.#hints, {
      any: () => this.#executing.size + this.#parked.size > 0,
      woken: async (id, held) => {
        const run = this.#executing.get(id);
        if (run !== undefined) await run.look();
        else if (!held) await this.wake(id);
      },
    });
    const isHere = (id: string): boolean => this.#executing.has(id) || this.#parked.workflowOf(id) !== undefined;
    this.#standIns = new StandIns(runtime, isHere, (row, workflow) => this.#takeUp(row, workflow, { onDivergence: "pause" }));
    this.#obedience = new Obedience(
      (id, reason) => this.#cancel(id, reason),
      (message) => runtime.warn(message),
    );
  }

  // ── starting and taking up ──

  async start<W extends Workflow>(given: W | string, session: Session, options: RunOptions): Promise<Run<OutputOf<W>>> {
    if (typeof given !== "string" && typeof (given as Partial<Workflow> | null | undefined)?.describe !== "function")
      throw unsupported("workflow", `is ${kindOf(given)}`, "give what extends Workflow, or the name of one in openrath({ workflows })");
    const workflow = typeof given === "string" ? (options.queue === true ? this.#known(given) : this.#named(given)) : given;
    const name = typeof given === "string" ? givenName(given, "the workflow's name") : this.#runtime.nameOf(given);
    const registered = this.#known(name);
    if (registered !== undefined && registered !== workflow)
      throw new RathError(
        "workflow.invalid",
        `Two workflows are named "${name}": the one given and the one in openrath({ workflows }). A resumed run finds its workflow by name: rename one.`,
      );
    if (workflow !== undefined) await checkInput(workflow, name, session);
    return this.#starts.add(name, () => this.#begin(name, workflow, session, options)) as Promise<Run<OutputOf<W>>>;
  }

  async #begin(name: string, workflow: Workflow | undefined, session: Session, options: RunOptions): Promise<Run> {
    await this.#runtime.effects.writer.flush();
    const queued = await queueRun(this.#runtime, { name, workflow }, session, options);
    if (queued === undefined) return this.#again(name, workflow, session, options);
    const { execution, input, row } = queued;
    if (options.queue === true || workflow === undefined) {
      execution.close();
      this.#obedience.heed(row.id, options.signal);
      this.#poke();
      return this.#handle(row);
    }
    const lease = await claimNew(this.#runtime, execution, this.#worker, () => this.#starts.assertOpen(name));
    const how = { onDivergence: "pause", signal: options.signal } as const;
    // Only who is the first to hold it knows that nothing was done yet: a worker may have been faster, and even ended it.
    if (lease?.epoch === 1) {
      const executing = this.#howOf(row, execution, how.onDivergence);
      this.#execute(new RunExecution(this.#runtime, workflow, execution, input, row, executing), lease, how.signal);
    } else {
      execution.close();
      if (lease !== undefined) await this.#goOn(row, lease, workflow, how);
    }
    return this.#handle(row);
  }

  /** The run that has this key already; executed here when nobody else does. */
  async #again(name: string, workflow: Workflow | undefined, session: Session, options: RunOptions): Promise<Run> {
    const key = options.key as string;
    const row = await this.#row(keyedRunId(this.#runtime.platform, key));
    const record = await loadRun(this.#runtime, row.id);
    await sameRun(this.#runtime, record, name, session, key);
    const run = this.#handle(row);
    startedBefore.add(run);
    if (hasEnded(row.status)) return run;
    if (options.queue !== true && workflow !== undefined && !(await this.#takeUp(row, workflow, { onDivergence: "pause" })))
      this.#standIns.add(row.id, workflow);
    this.#obedience.heed(row.id, options.signal);
    return run;
  }

  async resume(id: string, { onDivergence = "pause", workflow: given }: ResumeOptions = {}): Promise<Run> {
    const row = await this.#row(id);
    if (hasEnded(row.status) || this.#executing.has(id)) return this.#handle(row);
    const workflow = given ?? this.#parked.workflowOf(id) ?? this.#named(row.workflow);
    if (!(await this.#takeUp(row, workflow, { onDivergence }))) throw busy(await this.#row(id));
    return this.#handle(row);
  }

  async attach(id: string): Promise<Run> {
    return this.#handle(await this.#row(id));
  }

  async *list(query: { readonly status?: RunStatus | undefined; readonly workflow?: string | undefined }): AsyncIterable<Run> {
    for await (const row of (await this.#runtime.store()).runs({ status: query.status }))
      if (query.workflow === undefined || row.workflow === query.workflow) yield this.#handle(row);
  }

  /** Executes any run of the store whose workflow is known here, until the signal. */
  work(options: WorkOptions): Promise<void> {
    this.#runtime.assertOpen();
    const warn = (message: string): void => this.#runtime.warn(message);
    const onRun = telling(options.onRun, warn);
    const told = telling(options.report, warn);
    const report = (state: WorkState): void => {
      tellOf(this.#runtime, state, options.concurrency);
      told(state);
    };
    return work(
      {
        worker: this.#worker,
        lookMs: this.#runtime.times.lookMs,
        now: () => this.#runtime.platform.time(),
        take: (limit) => this.#take(limit, onRun),
        listen: (poke) => this.#listen(poke),
        drain: async (forMs) => {
          await Promise.all(this.#going.values());
          await Promise.all([...this.#executing.values()].map((run) => run.drain(forMs)));
        },
        warn,
      },
      { ...options, report },
    );
  }

  /** Something came for a run from outside: if it waits here, it goes on. */
  async wake(id: string): Promise<void> {
    if (this.#starts.closed) return;
    this.#poke();
    const workflow = this.#parked.workflowOf(id);
    if (workflow === undefined || this.#executing.has(id) || this.#isWorkedOn(workflow)) return;
    await this.resume(id).catch((error: unknown) => {
      // Somebody else was faster, and goes on with it, unless they leave it.
      if (RathError.is(error, "run.busy") && this.#parked.delete(id)) this.#standIns.add(id, workflow);
      else if (!this.#runtime.closed) {
        const mayPass = RathError.is(error) && error.retryable;
        if (!mayPass || this.#parked.hindered(id))
          this.#runtime.warn(`Run ${id} could not go on${mayPass ? " yet" : ""}: ${textOfThrown(error)}`);
      }
    });
  }

  /** Something is under way here, or waits here for its time. */
  get busy(): boolean {
    return this.#executing.size + this.#parked.size + this.#paused.size + this.#taking.size + this.#going.size + this.#pokes.size > 0;
  }

  async close(): Promise<void> {
    await this.#starts.close();
    this.#parked.close();
    this.#obedience.close();
    this.#standIns.close();
    await this.#hints.close();
    await this.#attention.end();
    await Promise.allSettled(this.#taking.values());
    // What was taken is loaded first: begun after the end, it would fail for want of a runtime.
    await Promise.all(this.#going.values());
    await Promise.all([...this.#executing.values(), ...this.#paused.values()].map((run) => run.leave()));
    this.#executing.clear();
  }

  #takeUp(row: RunRow, workflow: Workflow, how: TakeUp): Promise<boolean> {
    if (this.#executing.has(row.id)) return Promise.resolve(true);
    const under = this.#taking.get(row.id);
    if (under !== undefined) return under;
    this.#starts.assertOpen(row.workflow);
    const taking = this.#claimed(row, workflow, how).finally(() => this.#taking.delete(row.id));
    this.#taking.set(row.id, taking);
    return taking;
  }

  async #claimed(row: RunRow, workflow: Workflow, how: TakeUp): Promise<boolean> {
    await this.#paused.get(row.id)?.leave();
    this.#paused.delete(row.id);
    const lease = await claimRun(this.#runtime, await this.#runtime.store(), row.id, this.#worker);
    if (lease === undefined) return false;
    await this.#goOn(row, lease, workflow, how);
    return true;
  }

  /** Goes on with a run that is held now; what it comes to here, unless it had ended or was ended at once. */
  #goOn(row: RunRow, lease: HeldLease, workflow: Workflow, how: TakeUp): Promise<RunExecution | undefined> {
    return this.#alone(row.id, lease, () => this.#goOnNow(row, lease, workflow, how));
  }

  /** One after the other, and never beside one whose lease ran out meanwhile: two executions of a run here would share its logs. */
  async #alone<T>(id: string, lease: HeldLease, work: () => Promise<T>): Promise<T> {
    const going = (this.#going.get(id) ?? Promise.resolve()).then(() => {
      (this.#executing.get(id) ?? this.#paused.get(id))?.overtaken(lease.epoch);
      return work();
    });
    const over = going.then(
      () => {},
      () => {},
    );
    this.#going.set(id, over);
    try {
      return await going;
    } finally {
      if (this.#going.get(id) === over) this.#going.delete(id);
    }
  }

  async #goOnNow(row: RunRow, lease: HeldLease, workflow: Workflow, how: TakeUp): Promise<RunExecution | undefined> {
    const record = await loadRun(this.#runtime, row.id);
    if (record.ended !== undefined) {
      await (await this.#runtime.store()).release(lease);
      return undefined;
    }
    // Its lease is not given back, and nothing is written: when that has run out, it is looked at again.
    if (how.patient === true && rests(this.#runtime, record) && (await this.#cancelOf(record)) === undefined) return undefined;
    const execution = takeUp(this.#runtime, record, lease, this.#worker, workflow);
    try {
      const ending = await this.#endingOf(row, record, execution);
      if (ending !== undefined) {
        await this.#endNow(row, record, execution, ending);
        return undefined;
      }
      // If this run kills its workers, each one leaves a trace before it runs any code of it.
      if (lease.abandoned === true) await execution.writer.flush();
    } catch (error) {
      execution.close();
      if (RathError.is(error, "run.fenced")) return undefined; // whoever took it over goes on with it
      throw error;
    }
    execution.drive(record.program);
    leaveAgain(execution, record);
    const run = new RunExecution(this.#runtime, workflow, execution, record.input, row, this.#howOf(row, execution, how.onDivergence));
    this.#execute(run, lease, how.signal);
    return run;
  }

  /** Why a run is not executed any more: it was cancelled, its time is over, or it kills its workers. */
  async #endingOf(row: RunRow, record: RunRecord, execution: Execution): Promise<Ending | undefined> {
    const { deadline } = record.started;
    const cancel = await this.#cancelOf(record);
    if (cancel !== undefined)
      return {
        status: "cancelled",
        reason: cancel.data.reason ?? "cancelled",
        compensate: this.#howOf(row, execution, "pause").onCancelled,
      };
    if (deadline !== undefined && deadline <= this.#runtime.platform.time()) return { status: "failed", error: overdue(row.id, deadline) };
    const deaths = deathsOf(this.#runtime, record);
    return deaths >= this.#runtime.times.deaths ? { status: "failed", error: poisoned(row.id, deaths) } : undefined;
  }

  #cancelOf(record: RunRecord): ReturnType<typeof cancelOf> {
    return cancelOf(this.#runtime, (record.log.first as Node).id);
  }

  async #endNow(row: RunRow, record: RunRecord, execution: Execution, ending: Ending): Promise<void> {
    this.#parked.delete(row.id);
    await endUnexecuted(execution, record, row, ending);
    if (ending.status === "cancelled") await this.#makeGood(row);
  }

  #howOf(row: RunRow, execution: Execution, onDivergence: OnDivergence): Executing {
    const { limits, deadline, compensates } = (execution.log.first as Node).data<"run.started">(this.#runtime.platform);
    const onCancelled = async (place: Node): Promise<void> => {
      await cancelChildren(this.#runtime, execution);
      if (isToBeMadeGood(this.#runtime, execution)) await this.#compensate(row, place);
    };
    return { limits: limits as Limits | undefined, deadline, compensates, onDivergence, onCancelled };
  }

  /** Queues the run that makes a cancelled one good. */
  async #compensate(row: RunRow, place: Node): Promise<void> {
    const starting = { name: row.workflow, workflow: this.#known(row.workflow), compensates: row.id };
    const queued = await queueRun(this.#runtime, starting, this.#runtime.outside(place), { priority: row.priority });
    queued?.execution.close();
    this.#poke();
  }

  /** Executes here what makes a cancelled run good, unless somebody works on it already. */
  async #makeGood(row: RunRow, workflow = this.#known(row.workflow)): Promise<void> {
    if (workflow === undefined || this.#isWorkedOn(workflow) || this.#runtime.closed) return;
    const made = await rowOfRun(await this.#runtime.store(), compensationOf(this.#runtime, row.id));
    if (made !== undefined && !hasEnded(made.status)) await this.#takeUp(made, workflow, { onDivergence: "pause" });
  }

  // ── executing and waiting ──

  #execute(run: RunExecution, lease: HeldLease, signal: AbortSignal | undefined): void {
    this.#parked.delete(run.id);
    const ended = (settled?: Settled): void => {
      if (this.#executing.get(run.id) === run) this.#executing.delete(run.id);
      if (settled?.status === "waiting" && !this.#runtime.closed) {
        this.#parkedOrPaused(run, settled);
        this.#obedience.heed(run.id, signal);
      } else if (settled !== undefined) this.#obedience.forget(run.id);
      if (settled?.status === "cancelled") void this.#makeGood(run.row, run.workflow).catch(() => {}); // whoever works next finds it
    };
    run.onGoesOn = () => {
      this.#paused.delete(run.id);
      this.#executing.set(run.id, run);
      run.settled.then(ended, () => ended());
    };
    run.onGoesOn();
    run.start(lease, signal);
    this.#attention.begin();
  }

  #parkedOrPaused(run: RunExecution, { diverged }: Extract<Settled, { readonly status: "waiting" }>): void {
    const others = this.#isWorkedOn(run.workflow);
    if (diverged !== undefined) {
      // Nobody sits beside a worker: it waits for whoever resumes it and says how.
      if (others) {
        this.#runtime.warn(`Run ${run.id} diverged ${diverged.text}. It waits for whoever resumes it and says how.`);
        void run.leave();
      } else this.#paused.set(run.id, run);
      return;
    }
    if (others) {
      if (run.wakeAt !== undefined) void this.#wakeups?.at(run.id, run.wakeAt).catch(() => {}); // looking finds it all the same
      return;
    }
    const { wakeAt } = run;
    const left = wakeAt === undefined ? undefined : Date.parse(wakeAt) - Date.parse(this.#runtime.platform.time());
    this.#parked.add(run.id, run.workflow, left);
    // Something may have come between the last look and the parking.
    void this.#attention.look();
  }

  // ── working for others ──

  async #take(limit: number, onRun: (work: RunWork) => void): Promise<readonly Promise<void>[]> {
    const store = await this.#runtime.store();
    this.#runtime.assertOpen();
    const { leaseMs } = this.#runtime.times;
    const sureUntil = this.#runtime.platform.elapsed() + leaseMs;
    const taken = await store.take({ workflows: Object.keys(this.#workflows), limit }, this.#worker, leaseMs);
    return taken.map(async ({ row, lease: given }) => {
      const lease = { ...given, sureUntil };
      const tell = (status: RunWork["status"]): void => onRun({ run: row.id, session: row.session, workflow: row.workflow, status });
      try {
        tell("taken");
        const held = this.#executing.get(row.id);
        const run =
          held?.holdAgain(lease) === true
            ? held
            : await this.#goOn(row, lease, this.#named(row.workflow), { onDivergence: "pause", patient: true });
        // One that was ended at once is not executed: its row says how.
        tell(cameTo(run === undefined ? await this.#row(row.id) : await run.settled, run !== undefined));
      } catch (error) {
        tell("left");
        // Its lease is not given back: it is tried again when that has run out, here or elsewhere.
        if (!this.#runtime.closed && !RathError.is(error, "rath.closed"))
          this.#runtime.warn(`Run ${row.id} could not be executed here: ${textOfThrown(error)}`);
      }
    });
  }

  async #listen(poke: () => void): Promise<() => Promise<void>> {
    const wakeups = await openWakeups(this.#runtime, this.#worker, poke);
    const unlisten = this.#hints.listen(({ due }) => due && poke());
    this.#pokes.add(poke);
    this.#wakeups = wakeups;
    return async () => {
      unlisten();
      this.#pokes.delete(poke);
      this.#wakeups = undefined;
      await wakeups?.[Symbol.asyncDispose]();
    };
  }

  /** Those who work here take its runs by themselves. */
  #isWorkedOn(workflow: Workflow): boolean {
    return this.#pokes.size > 0 && this.#known(this.#runtime.nameOf(workflow)) === workflow;
  }

  #poke(): void {
    for (const poke of this.#pokes) poke();
  }

  // ── handles ──

  async #cancel(id: string, reason: string, by = "user"): Promise<void> {
    const row = await this.#row(id);
    if (hasEnded(row.status))
      throw new RathError("run.ended", `Run ${id} has ended (${row.status}): there is nothing left to cancel.`, { details: { run: id } });
    await requestCancel(this.#runtime, id, reason, by);
    const running = this.#executing.get(id) ?? this.#paused.get(id);
    if (running !== undefined) return running.cancel(reason);
    const lease = await claimRun(this.#runtime, await this.#runtime.store(), id, this.#worker);
    if (lease === undefined) return; // whoever executes it was woken, and obeys
    await this.#alone(id, lease, () => this.#endHere(row, lease));
  }

  /** Ends a run that nobody executes and that was cancelled. */
  async #endHere(row: RunRow, lease: HeldLease): Promise<void> {
    const record = await loadRun(this.#runtime, row.id);
    if (record.ended !== undefined) return (await this.#runtime.store()).release(lease);
    const execution = takeUp(this.#runtime, record, lease, this.#worker);
    try {
      const ending = await this.#endingOf(row, record, execution);
      if (ending !== undefined) await this.#endNow(row, record, execution, ending);
    } catch (error) {
      if (!RathError.is(error, "run.fenced")) throw error; // whoever took it over obeys the request
    } finally {
      execution.close();
    }
  }

  #handle<Output>(row: RunRow): Run<Output> {
    return handleOf<Output>(this.#runtime, row, {
      row: (id) => this.#row(id),
      executing: (id) => this.#executing.get(id),
      paused: (id) => this.#paused.get(id),
      look: () => this.#attention.look(),
      cancel: (id, reason, by) => this.#cancel(id, reason, by),
      listen: (hear) => this.#hints.listen(({ logs }) => hear(logs)),
    });
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
    if (workflow === undefined) throw unknownWorkflow(name);
    return workflow;
  }
}
