/** The people of the storm: answer questions, approve, and say of unknown effects what the witness saw. */
import { setTimeout as pause } from "node:timers/promises";
import type { Rath } from "../../src/runtime/rath.ts";
import { hasEnded } from "../../src/runtime/run-row.ts";
import { RathError } from "../../src/session/errors.ts";
import type { Decision, Pending } from "../../src/session/session.ts";
import type { Store } from "../../src/store/store.ts";
import type { Fleet, Worker } from "./fleet.ts";
import { answerTo, editedInput } from "./orders.ts";
import type { Witness } from "./witness.ts";

/** So often the loop of every living worker comes round before something counts as not done: whoever was about to do it has. */
const beatsOfCertainty = 5;
const lookAgainMs = 300;

export class Decider {
  /** What was decided, by the id it was decided under. Each was acknowledged. */
  readonly decided = new Map<string, Decision>();
  unknown = 0;
  again = 0;
  /** Calls on the store that failed. */
  outages = 0;
  readonly #rath: Rath;
  readonly #store: Store;
  readonly #witness: Witness;
  readonly #fleet: Fleet;
  readonly #ended = new Set<string>();
  /** How far each worker had come when an unknown effect was first seen. */
  readonly #since = new Map<string, ReadonlyMap<Worker, number>>();
  /** When each run was last asked what it waits for, which costs reading all of it. */
  readonly #looked = new Map<string, number>();
  #stopped = false;

  constructor(rath: Rath, store: Store, witness: Witness, fleet: Fleet) {
    this.#rath = rath;
    this.#store = store;
    this.#witness = witness;
    this.#fleet = fleet;
  }

  /** Decides whatever waits until it is stopped; outages of the store are sat out. */
  async start(orders: ReadonlyMap<string, string>): Promise<void> {
    while (!this.#stopped) {
      await this.#look(orders).catch(() => this.outages++);
      await pause(40);
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  /** How many orders have not ended, as far as is known. */
  open(orders: ReadonlyMap<string, string>): number {
    return orders.size - this.#ended.size;
  }

  /** Tries until the store takes it. */
  async insist<T>(act: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await act();
      } catch (error) {
        this.outages++;
        if (tries === 200) throw error;
        await pause(50);
      }
    }
  }

  async allEnded(orders: ReadonlyMap<string, string>, forMs: number, meanwhile: () => Promise<void>): Promise<void> {
    for (const start = performance.now(); performance.now() - start < forMs && this.open(orders) > 0; await pause(20)) await meanwhile();
  }

  async #look(orders: ReadonlyMap<string, string>): Promise<void> {
    const waiting: string[] = [];
    for await (const { id, status } of this.#store.runs({})) {
      if (hasEnded(status) && orders.has(id)) this.#ended.add(id);
      if (status === "waiting") waiting.push(id);
    }
    for (const run of waiting) {
      const order = orders.get(run);
      if (order === undefined || performance.now() - (this.#looked.get(run) ?? 0) < lookAgainMs) continue;
      this.#looked.set(run, performance.now());
      for (const pending of await this.#rath.pending({ run })) await this.#decide(pending, order);
    }
  }

  async #decide(pending: Pending, order: string): Promise<void> {
    const decision = this.#decisionOn(pending, order);
    if (decision === undefined) return;
    try {
      await this.#rath.decide(pending.id, decision);
    } catch (error) {
      // It was decided before: the acknowledgement was lost, or the run went on meanwhile.
      if (RathError.is(error, "pending.answered")) return;
      throw error;
    }
    this.decided.set(pending.id, decision);
    if (!("outcome" in decision)) return;
    this.unknown++;
    if (decision.outcome === "run-again") this.again++;
  }

  #decisionOn(pending: Pending, order: string): Decision | undefined {
    const by = "human:decider";
    if (pending.kind === "question") return { by, answer: answerTo(pending.question) };
    if (pending.kind === "approval") return { by, approve: true, input: editedInput(pending.input as { readonly order: string }) };
    if (pending.kind !== "unknown") return undefined;
    const acts = this.#witness.acts().filter((act) => act.run === order && act.effect === pending.op && act.how === "once");
    const value = pending.op === "refund" ? `refund ${order} (seen ${order})` : `${pending.op} ${order}`;
    if (acts.length > 0) return { by, outcome: { type: "ok", value } };
    return this.#isCertain(pending.id) ? { by, outcome: "run-again" } : undefined;
  }

  /** A worker that is asleep, or slow, may still be about to do it: it has not happened only when none of them can be. */
  #isCertain(id: string): boolean {
    const since = this.#since.get(id) ?? new Map(this.#fleet.working.map((worker) => [worker, worker.beats]));
    this.#since.set(id, since);
    return [...since].every(([worker, beats]) => !worker.alive || worker.beats >= beats + beatsOfCertainty);
  }
}
