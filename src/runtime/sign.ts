/**
 * Signed statements: who held this key saw this head, after these events in this order. Written into the run's own log when a
 * run ends or parks, at export, and at least every thousand events. Whoever holds the key can forge.
 */
import { current, type Node } from "../session/log.ts";
import { type Key, orderDigest, type Statement } from "./key.ts";
import type { Services } from "./services.ts";

const everyEvents = 1000;

interface Signing {
  readonly runtime: Services;
  readonly writer: { unsigned: Node[] };
  journal(kind: "run.signed", data: unknown): Node;
}

export class Signer {
  readonly #execution: Signing;
  #number = 0;
  #order = "";
  #events = 0;
  #undo: (() => void) | undefined;

  constructor(execution: Signing) {
    this.#execution = execution;
  }

  get due(): boolean {
    return this.#execution.writer.unsigned.length >= everyEvents;
  }

  /** Takes up where the run's statements end. */
  restore(journal: readonly Node[], events: readonly Node[]): void {
    const { platform } = this.#execution.runtime;
    const last = journal.filter((node) => node.kind === "run.signed").at(-1);
    const statement = last?.data<"run.signed">(platform).statement;
    this.#number = statement?.number ?? 0;
    this.#order = statement?.order ?? "";
    this.#events = statement?.events ?? 0;
    this.#execution.writer.unsigned = events.filter((node) => last === undefined || node.order >= last.order);
  }

  /** The newest statement was never written: a branch it speaks of had moved. */
  takeBack(): void {
    this.#undo?.();
    this.#undo = undefined;
  }

  /** Adds a statement over everything recorded so far, with this place as what the run has come to. */
  state(key: Key, at: Node, state: "open" | "final"): void {
    const { writer, runtime } = this.#execution;
    const covered = writer.unsigned.map((node) => current(node).id);
    if (covered.length === 0) return;
    const [number, order, events, unsigned, previous] = [this.#number, this.#order, this.#events, writer.unsigned, key.previous];
    this.#undo = () => {
      [this.#number, this.#order, this.#events, key.previous] = [number, order, events, previous];
      writer.unsigned = [...unsigned, ...writer.unsigned];
    };
    const statement: Statement = {
      session: at.log.id,
      head: at.id,
      step: at.step,
      state,
      time: runtime.platform.time(),
      key: key.id,
      ...(key.previous === undefined ? {} : { previous: key.previous }),
      number: ++this.#number,
      events: this.#events + covered.length,
      order: orderDigest(this.#order, covered),
    };
    this.#events = statement.events;
    this.#order = statement.order;
    writer.unsigned = [];
    this.#execution.journal("run.signed", { statement, signature: key.sign(statement) });
  }
}
