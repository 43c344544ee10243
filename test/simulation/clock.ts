/**
 * Timers, time and chance of simulated processes. While a world lives, the globals that the runtime uses belong to whichever
 * process calls them; code outside any process gets the real ones.
 */
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import type { Random } from "./random.ts";
import type { Schedule, Step, Thread } from "./schedule.ts";

/** Which process the running code belongs to. */
export const running = new AsyncLocalStorage<Thread>();

/** A timer, as far as the runtime uses it. */
class Timer {
  step: Step | undefined;
  held = true;
  ref(): this {
    this.held = true;
    return this;
  }
  unref(): this {
    this.held = false;
    return this;
  }
  hasRef(): boolean {
    return this.held;
  }
}

/** Kept, so that nothing depends on when memory is collected. */
class StrongRef<T extends WeakKey> {
  readonly [Symbol.toStringTag] = "WeakRef";
  readonly #target: T;
  constructor(target: T) {
    this.#target = target;
  }
  deref(): T {
    return this.#target;
  }
}

export interface Clock {
  /** Timers of a process that would keep it alive. */
  heldBy(thread: Thread): number;
  restore(): void;
}

type Call = (...args: unknown[]) => void;

/** Replaces the globals until it is restored. What throws in a timer is told to `onThrown`. */
export function virtualClock(schedule: Schedule, random: Random, onThrown: (thread: Thread, error: unknown) => void): Clock {
  const timers = new Map<Thread, Set<Timer>>();
  const forget = (thread: Thread, timer: Timer): void => void timers.get(thread)?.delete(timer);

  const start = (thread: Thread, call: Call, ms: number, args: unknown[], kind: "timer" | "turn" | "interval"): Timer => {
    const timer = new Timer();
    const scope = new AsyncResource("SIMULATED");
    const own = timers.get(thread) ?? new Set();
    timers.set(thread, own.add(timer));
    const wait = kind === "turn" ? 0 : Math.max(1, Math.min(Math.trunc(Number(ms)) || 1, 2 ** 31 - 1));
    const arm = (): void => {
      const run = (): void => {
        timer.step = undefined;
        if (kind === "interval") arm();
        else forget(thread, timer);
        try {
          scope.runInAsyncScope(call, undefined, ...args);
        } catch (error) {
          onThrown(thread, error);
        }
      };
      timer.step = { at: schedule.now + wait, thread, ordered: true, label: kind === "turn" ? "turn" : `${kind} ${wait}`, run };
      schedule.add(timer.step);
    };
    arm();
    return timer;
  };
  const stop = (timer: unknown, real: (timer: never) => void): void => {
    if (!(timer instanceof Timer)) real(timer as never);
    if (!(timer instanceof Timer) || timer.step === undefined) return;
    schedule.remove(timer.step);
    forget(timer.step.thread as Thread, timer);
    timer.step = undefined;
  };

  const real = {
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    setImmediate: globalThis.setImmediate,
    clearTimeout: globalThis.clearTimeout,
    clearInterval: globalThis.clearInterval,
    clearImmediate: globalThis.clearImmediate,
    WeakRef: globalThis.WeakRef,
  };
  const { now } = Date;
  const { random: chance } = Math;
  const elapsed = performance.now.bind(performance);
  const { emitWarning } = process;
  const timer =
    (name: "setTimeout" | "setInterval", kind: "timer" | "interval") =>
    (call: Call, ms = 1, ...args: unknown[]): unknown => {
      const thread = running.getStore();
      return thread === undefined ? real[name](call, ms, ...args) : start(thread, call, ms, args, kind);
    };
  Object.assign(globalThis, {
    setTimeout: timer("setTimeout", "timer"),
    setInterval: timer("setInterval", "interval"),
    setImmediate: (call: Call, ...args: unknown[]): unknown => {
      const thread = running.getStore();
      return thread === undefined ? real.setImmediate(call, ...args) : start(thread, call, 0, args, "turn");
    },
    clearTimeout: (given: unknown) => stop(given, real.clearTimeout),
    clearInterval: (given: unknown) => stop(given, real.clearInterval),
    clearImmediate: (given: unknown) => stop(given, real.clearImmediate),
    WeakRef: StrongRef,
  });
  Date.now = () => (running.getStore() === undefined ? now() : schedule.now);
  Math.random = () => (running.getStore() === undefined ? chance() : random.next());
  performance.now = () => (running.getStore() === undefined ? elapsed() : schedule.now - schedule.began);
  process.emitWarning = ((warning: string | Error, ...rest: never[]) => {
    const thread = running.getStore();
    if (thread === undefined) emitWarning.call(process, warning, ...rest);
    else schedule.say(`${thread.name}: warns: ${String(warning)}`);
  }) as typeof process.emitWarning;

  return {
    heldBy: (thread) => [...(timers.get(thread) ?? [])].filter(({ held }) => held).length,
    restore: () => {
      Object.assign(globalThis, real);
      Date.now = now;
      Math.random = chance;
      performance.now = elapsed;
      process.emitWarning = emitWarning;
    },
  };
}
