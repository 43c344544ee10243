/** The loop that takes due runs of the store and has them executed here, as many at once as it is told. */
import { durationMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { givenAbort, givenDuration, givenOptions, shown, unsupported } from "../session/given.ts";
import type { Duration } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import { hasEnded } from "./run-row.ts";

/** How a Rath works on runs that anybody started. */
export interface WorkOptions {
  /** How many runs are executed at once; 16 when left out. Runs that wait for a person or a timer do not count. */
  readonly concurrency?: number | undefined;
  /** Ends the work: nothing new is begun, what is under way is given time, the rest is left for others. */
  readonly signal?: AbortSignal | undefined;
  /** How long effects that are under way get when the work ends; 10 seconds when left out. */
  readonly drain?: Duration | undefined;
  /** Told how the work goes, whenever that changes. */
  readonly report?: ((state: WorkState) => void) | undefined;
  /** Told of each run that is taken, and of what it came to here. */
  readonly onRun?: ((work: RunWork) => void) | undefined;
}

/** A run in the hands of a worker. */
export interface RunWork {
  readonly run: string;
  readonly session: string;
  readonly workflow: string;
  /** "taken" when it begins; "left" for others to go on with when the work ends or the run was lost to somebody else. */
  readonly status: "taken" | "done" | "waiting" | "failed" | "cancelled" | "left";
}

/** What became of a run that was taken: nothing here, where somebody else took it over, or where it was not executed and has not ended. */
export function cameTo({ status, error }: { readonly status: string; readonly error?: RathError }, executed: boolean): RunWork["status"] {
  const left = RathError.is(error, "run.fenced") || (!executed && !hasEnded(status));
  return left ? "left" : (status as RunWork["status"]);
}

/** How a worker is doing. */
export interface WorkState {
  readonly worker: string;
  readonly status: "working" | "draining" | "stopped";
  /** Runs under way here. */
  readonly executing: number;
  /** Runs taken since it began. */
  readonly taken: number;
  /** When it last looked for work and the store answered. */
  readonly looked: string | undefined;
  /** Why it could not, since. */
  readonly problem: string | undefined;
}

/** What the loop needs of those who execute. */
export interface Executes {
  readonly worker: string;
  readonly lookMs: number;
  now(): string;
  /** Takes up to this many runs; each promise resolves when the run has ended, waits or was left. */
  take(limit: number): Promise<readonly Promise<void>[]>;
  /** Calls `poke` whenever there may be something to take, until the returned function is called. */
  listen(poke: () => void): Promise<() => Promise<void>>;
  drain(forMs: number): Promise<void>;
  warn(message: string): void;
}

const most = 10_000;
const usualConcurrency = 16;
const gatherMs = 3;
const longestPauseMs = 5000;

/** How the worker of a runtime is doing, as it last said. */
const workers = new WeakMap<object, { readonly state: WorkState; readonly concurrency: number }>();

/** Remembers it for whoever asks whether this process does its work. */
export function tellOf(runtime: object, state: WorkState, concurrency = usualConcurrency): void {
  if (state.status === "stopped") workers.delete(runtime);
  else workers.set(runtime, { state, concurrency });
}

/** What is wrong with the worker of a runtime; undefined where it takes runs, and where none works here. */
export function workerProblem(runtime: object, now: Date): string | undefined {
  const worker = workers.get(runtime);
  if (worker === undefined) return undefined;
  const { state, concurrency } = worker;
  if (state.status === "draining") return "the worker is finishing what it has";
  return worksWell(state, concurrency, now) ? undefined : `the worker does not look for work: ${state.problem ?? "it does not say why"}`;
}

export async function work(runs: Executes, options: WorkOptions): Promise<void> {
  const {
    concurrency = usualConcurrency,
    signal,
    drain = "10s",
    report,
  } = givenOptions(options, ["concurrency", "signal", "drain", "report", "onRun"], "work");
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > most)
    throw unsupported("concurrency", `is ${shown(concurrency)}`, `give a whole number from 1 to ${most}`);
  givenAbort(signal);
  const drainMs = durationMs(givenDuration(drain));
  const bell = new Bell();
  const under = new Set<Promise<void>>();
  let state: WorkState = { worker: runs.worker, status: "working", executing: 0, taken: 0, looked: undefined, problem: undefined };
  const tell = (change: Partial<WorkState>): void => {
    state = { ...state, ...change, executing: under.size };
    report?.(state);
  };
  const ring = (): void => bell.ring();
  signal?.addEventListener("abort", ring, { once: true });
  const unlisten = await runs.listen(ring);
  try {
    let backlog = false;
    tell({});
    const stopped = (): boolean => signal?.aborted === true;
    for (let failures = 0; !stopped(); ) {
      // While there is a backlog, places are let gather: taking several at once costs as much as taking one.
      if (backlog && under.size > concurrency * 0.75) await bell.wait(gatherMs);
      const free = concurrency - under.size;
      const taken = free === 0 ? [] : await takeOrSay(runs, free, failures, tell);
      failures = taken === undefined ? failures + 1 : 0;
      for (const run of taken ?? []) {
        const done = run.then(() => {
          under.delete(done);
          tell({});
          bell.ring();
        });
        under.add(done);
      }
      if (taken !== undefined && free > 0) tell({ taken: state.taken + taken.length, looked: runs.now(), problem: undefined });
      // As many as were asked for: there may be more, as soon as there is room.
      backlog = taken !== undefined && (free === 0 ? backlog : taken.length === free);
      if (!stopped() && (!backlog || under.size >= concurrency)) await bell.wait(pause(runs.lookMs, failures));
    }
    tell({ status: "draining" });
    await runs.drain(drainMs);
  } finally {
    signal?.removeEventListener("abort", ring);
    await unlisten();
    tell({ status: "stopped" });
  }
}

async function takeOrSay(
  runs: Executes,
  limit: number,
  failures: number,
  tell: (change: Partial<WorkState>) => void,
): Promise<readonly Promise<void>[] | undefined> {
  try {
    return await runs.take(limit);
  } catch (error) {
    if (isFinal(error)) throw error;
    const problem = textOfThrown(error);
    if (failures === 0) runs.warn(`Worker ${runs.worker} cannot look for work: ${problem.replace(/\.$/, "")}. It goes on trying.`);
    tell({ problem });
    return undefined;
  }
}

/** One that has not looked for longer does not work, whatever it says. */
const freshMs = 5000;

/** It looked for work a moment ago and the store answered, or it has all it can do, or it finishes what it has. */
export function worksWell(state: WorkState | undefined, concurrency: number, now: Date): boolean {
  if (state === undefined || state.status === "stopped" || state.problem !== undefined) return false;
  if (state.status === "draining" || state.executing >= concurrency) return true;
  return state.looked !== undefined && now.getTime() - Date.parse(state.looked) < freshMs;
}

/** Trying again would not help. */
export function isFinal(error: unknown): boolean {
  return (["rath.closed", "store.newer-format", "store.older-format"] as const).some((code) => RathError.is(error, code));
}

/** Somebody who throws when he is told of the work does not end it. */
export function telling<T>(hear: ((news: T) => void) | undefined, warn: (message: string) => void): (news: T) => void {
  let warned = false;
  return (news) => {
    try {
      hear?.(news);
    } catch (error) {
      if (!warned) warn(`Who is told how the work goes threw: ${textOfThrown(error).replace(/\.$/, "")}. The work goes on.`);
      warned = true;
    }
  };
}

/** How long nobody looks, longer after failures. Those that began together do not look together for ever. */
export function pause(lookMs: number, failures: number): number {
  return Math.min(lookMs * 2 ** failures, Math.max(lookMs, longestPauseMs)) * (0.75 + Math.random() / 2);
}

/** Rung by anybody; one who waits hears it once, also when it was rung just before. */
class Bell {
  #rung = false;
  #hear: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#hear?.();
  }

  async wait(forMs: number): Promise<void> {
    if (!this.#rung)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, forMs);
        this.#hear = () => {
          clearTimeout(timer);
          // Whoever rings in the same turn is heard with it.
          setImmediate(resolve);
        };
      });
    this.#hear = undefined;
    this.#rung = false;
  }
}
