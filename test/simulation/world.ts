/** A world in one process: a store, workers and clients as simulated processes, and everything that goes wrong between them. */
import { composeRath } from "../../src/openrath.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { type Platform, saltBytes } from "../../src/session/platform.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { clientLoop } from "./client.ts";
import { type Clock, running, virtualClock } from "./clock.ts";
import { faultyStore, type Happened, noFaults, type Wire } from "./faulty-store.ts";
import { openTestKey, resetTestKey } from "./key.ts";
import { Observations, observedStore } from "./observed-store.ts";
import { leaseMs, lookMs, type Plan } from "./plan.ts";
import { Simulated, type Witness } from "./program.ts";
import { Random } from "./random.ts";
import { Schedule, type Thread } from "./schedule.ts";
import { textOf } from "./thrown.ts";

/** A broken store, for tests that must be able to fail. */
export type Breaks = (store: Store, world: World) => Store;

export interface Process extends Thread {
  readonly kind: "worker" | "client";
  readonly rath: Rath;
  /** Tells it to end. */
  readonly stop: AbortController;
  /** Its loop is over. */
  over: boolean;
}

export interface Happening {
  readonly place: string;
  readonly repeat: string;
  readonly key: string;
}

const mostSteps = 60_000;
/** By then every run has ended, counted from when there are no more faults: the longest program waits less. */
const patienceMs = 180_000;

export class World {
  readonly plan: Plan;
  readonly random: Random;
  readonly schedule: Schedule;
  /** What is kept, whoever reads it. */
  readonly base: Store;
  readonly seen: Observations;
  readonly wire: Wire;
  readonly happenings: Happening[] = [];
  /** The place of every effect whose outcome somebody was asked for. */
  readonly unknown = new Map<string, string>();
  readonly problems: string[] = [];
  /** How often which fault happened. */
  readonly faults: Happened & Record<"killed" | "stopped" | "drained", number>;
  readonly processes: Process[] = [];
  /** The id of each planned run, once somebody knows it. */
  readonly ids = new Map<string, string>();
  closing = false;
  #store: Store;
  #clock: Clock | undefined;
  #spawned = 0;

  constructor(plan: Plan, breaks: Breaks = (store) => store) {
    this.plan = plan;
    this.random = new Random(plan.seed ^ 0x5eed);
    this.schedule = new Schedule(this.random);
    const now = (): number => this.schedule.now;
    this.base = memoryStore({ clock: now });
    this.seen = new Observations(now);
    this.faults = { lost: 0, unacknowledged: 0, late: 0, killed: 0, stopped: 0, drained: 0 };
    this.wire = { schedule: this.schedule, random: this.random, faults: plan.faults, happened: this.faults };
    this.#store = observedStore(breaks(this.base, this), this.seen, now);
  }

  /** Lives until every run has ended and every process was closed. */
  async live(): Promise<void> {
    const { schedule, plan } = this;
    resetTestKey();
    const rejected = (reason: unknown): void => this.problem("unhandled", `a rejection: ${textOf(reason)}`);
    const listeners = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection").on("unhandledRejection", rejected);
    this.#clock = virtualClock(schedule, this.random, (thread, error) =>
      this.problem("unhandled", `${thread.name} threw ${textOf(error)}`),
    );
    try {
      for (let index = 0; index < plan.clients; index++) this.#spawn("client");
      for (let index = 0; index < plan.workers; index++) this.#spawn("worker");
      this.#planFaults();
      await this.#until(
        () => this.allEnded,
        plan.calmAt + patienceMs,
        "ended",
        () => "not every run has ended",
      );
      for (const thread of this.processes) thread.stoppedUntil = 0;
      // Whoever wakes now and thinks it still holds something finds out.
      await this.#until(() => false, schedule.now - schedule.began + 200);
      await this.#close();
    } finally {
      this.#clock.restore();
      process.removeAllListeners("unhandledRejection");
      for (const listener of listeners) process.on("unhandledRejection", listener);
    }
  }

  get allEnded(): boolean {
    return this.plan.runs.every(({ name }) => this.seen.ended.has(this.ids.get(name) ?? ""));
  }

  problem(law: string, text: string): void {
    this.problems.push(`${law}: ${text}`);
    this.schedule.say(`!! ${law}: ${text}`);
  }

  witness(thread: Thread): Witness {
    return {
      happens: (place, repeat, key) => {
        this.happenings.push({ place, repeat, key });
        this.schedule.say(`${thread.name}: ${repeat} ${place} happens`);
      },
      answered: (place, answer) => {
        if (answer !== `the answer to ${place}`) this.problem("decisions", `${place} was given "${String(answer)}"`);
      },
      received: (place, signal, data) => {
        const [run] = place.split(":");
        if (!String(data).startsWith(`${run} ${signal} `)) this.problem("signals", `${place} received "${String(data)}"`);
      },
    };
  }

  #spawn(kind: Process["kind"]): void {
    if (this.closing) return;
    const series = ++this.#spawned;
    const thread = { name: `${kind[0]}${series}`, kind, dead: false, stoppedUntil: 0, over: false, stop: new AbortController() };
    const witness = this.witness(thread);
    const workflows = Object.fromEntries(this.plan.runs.map(({ name, program }) => [name, new Simulated(name, program, witness)]));
    running.run(thread, () => {
      const rath = composeRath(
        { store: faultyStore(this.#store, thread, this.wire), workflows, implicitForks: "allow" },
        {
          platform: platformOf(series, this.schedule),
          openKey: openTestKey,
          worker: thread.name,
          times: { leaseMs, lookMs, parkGraceMs: 20, closeMs: 100, stillResumeMs: 2000 },
        },
      );
      const born: Process = Object.assign(thread, { rath });
      this.processes.push(born);
      const ended = (): void => {
        born.over = true;
      };
      const failed = (error: unknown): void => {
        born.over = true;
        this.problem("unhandled", `${born.name} ended with ${textOf(error)}`);
      };
      const loop =
        kind === "client"
          ? clientLoop(this, born)
          : rath.work({ concurrency: this.plan.concurrency, signal: born.stop.signal, drain: "300ms" });
      loop.then(ended, failed);
    });
  }

  #planFaults(): void {
    const { kills, stops, drains, calmAt } = this.plan;
    const victim = (client: boolean): Process | undefined => {
      if (this.closing) return undefined;
      const living = this.processes.filter(({ dead, kind, over }) => !dead && !over && kind === (client ? "client" : "worker"));
      return living.length === 0 ? undefined : this.random.pick(living);
    };
    for (const { at, client } of kills)
      this.#at(at, "kill", () => {
        const process = victim(client);
        if (process === undefined) return;
        this.faults.killed++;
        this.schedule.say(`${process.name} is killed`);
        this.schedule.bury(process);
        this.#at(this.random.between(0, 2000), "spawn", () => this.#spawn(process.kind), true);
      });
    for (const { at, forMs, client } of stops)
      this.#at(at, "stop", () => {
        const process = victim(client);
        if (process === undefined) return;
        this.faults.stopped++;
        this.schedule.say(`${process.name} is stopped for ${forMs} ms`);
        process.stoppedUntil = this.schedule.now + forMs;
      });
    for (const at of drains)
      this.#at(at, "drain", () => {
        const process = victim(false);
        if (process === undefined) return;
        this.faults.drained++;
        this.schedule.say(`${process.name} drains`);
        running.run(process, () => process.stop.abort());
        this.#at(this.random.between(0, 2000), "spawn", () => this.#spawn("worker"), true);
      });
    this.#at(calmAt, "calm", () => {
      this.wire.faults = noFaults;
    });
  }

  #at(ms: number, label: string, run: () => void, fromNow = false): void {
    const from = fromNow ? this.schedule.now : this.schedule.began;
    this.schedule.add({ at: from + ms, thread: undefined, ordered: false, label, run });
  }

  /** Goes on until it holds, or something is wrong. */
  async #until(holds: () => boolean, latest: number, law?: string, otherwise?: () => string): Promise<void> {
    const { schedule } = this;
    while (!holds() && this.problems.length + this.seen.problems.length === 0) {
      const tired = schedule.now - schedule.began > latest || schedule.taken > mostSteps;
      if (tired || !(await schedule.step())) {
        if (law !== undefined && !holds())
          this.problem(law, `${otherwise?.()} after ${schedule.now - schedule.began} ms and ${schedule.taken} steps`);
        return;
      }
    }
  }

  /** Ends every process in order; what is left of one afterwards would keep it alive. */
  async #close(): Promise<void> {
    this.closing = true;
    this.wire.faults = noFaults;
    const living = this.processes.filter(({ dead }) => !dead);
    for (const process of living) running.run(process, () => process.stop.abort());
    const latest = this.schedule.now - this.schedule.began + 20_000;
    await this.#until(
      () => living.every(({ over }) => over),
      latest,
      "closing",
      () => `${names(living.filter(({ over }) => !over))} did not end`,
    );
    const closed = new Set<Process>();
    for (const process of living)
      running.run(process, () => {
        const failed = (error: unknown): void => this.problem("closing", `${process.name} could not be closed: ${textOf(error)}`);
        process.rath.close().then(() => closed.add(process), failed);
      });
    await this.#until(
      () => closed.size === living.length,
      latest,
      "closing",
      () => `${names(living.filter((one) => !closed.has(one)))} did not close`,
    );
    const isStill = (): boolean => living.every((process) => this.#clock?.heldBy(process) === 0);
    await this.#until(isStill, latest, "closing", () => "a timer keeps a closed process alive");
  }
}

function names(processes: readonly Process[]): string {
  return processes.map(({ name }) => name).join(", ");
}

function platformOf(series: number, schedule: Schedule): Platform {
  let ids = 0;
  let salts = 0;
  return {
    ...nodePlatform,
    time: () => new Date(schedule.now).toISOString(),
    elapsed: () => schedule.now - schedule.began,
    newId: () => `${(++ids).toString(16).padStart(8, "0")}-${series.toString(16).padStart(4, "0")}-7000-8000-000000000000`,
    salted: (text) => {
      const salt = Buffer.alloc(saltBytes);
      salt.writeUInt32BE(series, saltBytes - 8);
      salt.writeUInt32BE(++salts, saltBytes - 4);
      return Buffer.concat([salt, Buffer.from(text)]);
    },
  };
}
