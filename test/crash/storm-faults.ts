/** What the storm does to workers and stores, which of it next, and how often it has happened. */
import { setTimeout as pause } from "node:timers/promises";
import type { Decider } from "./decider.ts";
import type { Fleet, Worker } from "./fleet.ts";

export interface Faults {
  readonly kills: number;
  /** Workers told to go by SIGTERM. */
  readonly drains: number;
  /** Workers that woke after somebody had taken over one of their runs. */
  readonly zombies: number;
  readonly takeovers: number;
  readonly fenced: number;
  readonly lost: number;
  /** Effects that a person had to say the outcome of; those of them that had not happened. */
  readonly unknown: number;
  readonly again: number;
  /** Of the store: what `Weather` offers, by name. */
  readonly cuts: number;
  readonly restarts: number;
  readonly full: number;
}

/** What can be done to the store. */
export interface Weather {
  /** Cuts the connections of all workers. */
  cut?(): Promise<void>;
  /** Ends the server as in a crash, and starts it again. */
  restart?(): Promise<void>;
  /** Fills the disk until `over` resolves. */
  fill?(over: Promise<unknown>): Promise<void>;
}

interface Fault {
  readonly name: "kills" | "drains" | "zombies" | "cuts" | "restarts" | "full";
  inflict(): Promise<void>;
}

export interface Faulty {
  counts(): Faults;
  next(): Promise<void>;
  /** Wakes whoever still sleeps. */
  calm(): Promise<void>;
}

export function faultsOf(
  weather: Weather,
  fleet: Fleet,
  decider: Decider,
  random: () => number,
  { least, leaseMs }: { readonly least: Partial<Faults>; readonly leaseMs: number },
): Faulty {
  const done = { kills: 0, drains: 0, zombies: 0, cuts: 0, restarts: 0 };
  const counts = (): Faults => ({ ...done, ...fleet.heard, unknown: decider.unknown, again: decider.again });
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
  const victim = (): Worker | undefined => pick(fleet.working.filter(({ busy, stopped }) => busy > 0 && !stopped)) ?? pick(fleet.working);

  const kill = async (): Promise<void> => {
    await victim()?.kill();
    done.kills++;
  };
  const drain = async (): Promise<void> => {
    await victim()?.drain();
    done.drains++;
  };
  /** Freezes a worker just before it appends, until somebody has taken over one of its runs. */
  const zombie = async (): Promise<void> => {
    const worker = (await fleet.next("LULL", 1500, (each) => each.alive && !each.doomed)) ?? victim();
    if (worker === undefined || !worker.alive) return;
    worker.freeze();
    const held = new Set([...fleet.holders].filter(([, holder]) => holder === worker).map(([run]) => run));
    const taken = await fleet.next("TAKEN", leaseMs * 4, (_, [run = "", , how]) => how === "abandoned" && held.has(run));
    worker.thaw();
    if (taken !== undefined) done.zombies++;
  };
  const _counted = (name: "cuts" | "restarts", inflict: () => Promise<void>) => async (): Promise<void> => {
    await inflict();
    done[name]++;
  };
  const faults: Fault[] = [
    { name: "kills", inflict: kill },
    { name: "drains", inflict: drain },
    { name: "zombies", inflict: zombie },
    ...(weather.cut === undefined ? [] : [{ name: "cuts" as const, inflict: async () => weather.cut?.().then(() => void done.cuts++) }]),
    ...(weather.restart === undefined
      ? []
      : [{ name: "restarts" as const, inflict: async () => weather.restart?.().then(() => void done.restarts++) }]),
    ...(weather.fill === undefined ? [] : [{ name: "full" as const, inflict: async () => weather.fill?.(fleet.next("FULL", 3000)) }]),
  ];
  return {
    counts,
    /** What has happened too seldom comes first; more zombies for whoever waits to see one refused, more kills for unknown effects. */
    next: async () => {
      const now = counts();
      const lacks = (name: keyof Faults): boolean => now[name] < (least[name] ?? 0);
      const wanted = faults.filter(
        ({ name }) => lacks(name) || (name === "zombies" && lacks("fenced")) || (name === "kills" && (lacks("unknown") || lacks("again"))),
      );
      await pick(wanted.length > 0 ? wanted : faults)?.inflict();
    },
    calm: async () => {
      for (const worker of fleet.working) if (worker.stopped) worker.thaw();
      await pause(0);
    },
  };
}
