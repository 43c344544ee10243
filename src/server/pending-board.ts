/**
 * What waits in a project, kept current from its feed. It is asked for once, when the first reader comes; from then on calls that wait
 * are added as they are made, and taken away as they are answered, begun or ended.
 */

import { pendingRuns, pendingUnder } from "../runtime/pending.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { startsLater, waitsByItself } from "../runtime/waits.ts";
import { type Event, isReturned, isStarted } from "../session/event.ts";
import type { Pending } from "../session/session.ts";
import { type FedEvent, type Follower, hubOf } from "./feed-hub.ts";
import type { Outbox } from "./outbox.ts";
import { failure, message } from "./sse.ts";

const boards = new WeakMap<Runtime, PendingBoard>();

/** Sends what waits now, and then what comes and goes, until the reader has left. */
export async function showPending(runtime: Runtime, outbox: Outbox, left: AbortSignal): Promise<void> {
  let board = boards.get(runtime);
  if (board === undefined || board.closed) {
    board = new PendingBoard(runtime);
    boards.set(runtime, board);
  }
  await board.show(outbox, left);
}

class PendingBoard implements Follower {
  readonly #runtime: Runtime;
  readonly #opening: Promise<void>;
  /** Everybody who reads, also those who wait for it to be opened. */
  readonly #readers = new Set<Outbox>();
  readonly #shown = new Set<Outbox>();
  /** By the event under which it waits. */
  readonly #pending = new Map<string, Pending>();
  /** Calls that wait, as long as not everything was looked at that was stored with them: some are refused at once. */
  readonly #fresh = new Set<string>();
  /** Those of which nothing on record says so until they have begun: outside a run only their process knows. */
  readonly #doubtful = new Set<string>();
  #place = "";
  closed = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#opening = this.#open();
    this.#opening.catch(() => {
      this.closed = true; // whoever reads is told; the next one opens another
    });
  }

  async show(outbox: Outbox, left: AbortSignal): Promise<void> {
    this.#readers.add(outbox);
    const leave = (): void => this.#leave(outbox);
    left.addEventListener("abort", leave, { once: true });
    await this.#opening;
    if (left.aborted) return leave();
    outbox.push(message("snapshot", { pending: [...this.#pending.values()] }, this.#place));
    this.#shown.add(outbox);
  }

  #leave(outbox: Outbox): void {
    this.#readers.delete(outbox);
    this.#shown.delete(outbox);
    if (this.#readers.size > 0) return;
    this.closed = true;
    hubOf(this.#runtime).leave(this);
  }

  async #open(): Promise<void> {
    const place = await (await this.#runtime.store()).fedTo();
    await this.#runtime.effects.writer.flush();
    for (const one of await pendingRuns(this.#runtime, {})) this.#pending.set(one.id, one);
    await hubOf(this.#runtime).follow(this, { after: place });
  }

  // ── as a follower of the feed ──

  async room(): Promise<void> {}

  fail(error: unknown): void {
    this.closed = true;
    for (const outbox of this.#readers) outbox.end(failure(error, (text) => this.#runtime.clean(text)));
  }

  wants({ kind, facts }: FedEvent): boolean {
    const told = ["answer.given", "run.asked", "run.parked", "run.ended"];
    return startsLater({ kind, facts }) || isReturned(kind) || isStarted(kind) || told.includes(kind);
  }

  async send(event: FedEvent): Promise<void> {
    const { kind, facts, parents, stored } = event;
    if (startsLater({ kind, facts })) {
      const data = kind === "tool.called" ? (await event.read())?.data : undefined;
      (waitsByItself({ kind, facts }, data) ? this.#fresh : this.#doubtful).add(stored.id);
    } else if (kind === "answer.given") this.#settle(((await event.read()) as Event<"answer.given"> | undefined)?.data?.question);
    else if (kind === "run.asked") this.#add(((await event.read()) as Event<"run.asked"> | undefined)?.data?.pending);
    else if (kind === "run.parked")
      for (const id of ((await event.read()) as Event<"run.parked"> | undefined)?.data?.pending ?? []) this.#add(id);
    else if (kind === "run.ended") for (const one of [...this.#pending.values()]) if (one.run === stored.run) this.#settle(one.id);
    if (isReturned(kind) || isStarted(kind)) this.#settle(facts.call ?? parents[0]);
  }

  async passed(place: string): Promise<void> {
    this.#place = place;
    const ids = [...this.#fresh];
    this.#fresh.clear();
    if (this.#doubtful.size > 0) for (const { mark } of this.#runtime.waiting()) if (this.#doubtful.delete(mark.id)) ids.push(mark.id);
    if (ids.length === 0) return;
    for (const one of await pendingUnder(this.#runtime, ids)) {
      if (!(await this.#isAlive(one))) continue;
      this.#pending.set(one.id, one);
      this.#tell("pending", { pending: one });
    }
  }

  #add(id: string | undefined): void {
    if (id !== undefined && !this.#pending.has(id)) this.#fresh.add(id);
  }

  #settle(id: string | undefined): void {
    if (id !== undefined) this.#doubtful.delete(id);
    const known = id === undefined || this.#fresh.delete(id) ? undefined : this.#pending.get(id);
    if (known === undefined) return;
    this.#pending.delete(known.id);
    const { run, session, kind } = known;
    this.#tell("settled", { id: known.id, kind, session, ...(run === undefined ? {} : { run }) });
  }

  /** What waits outside a run waits in its process alone, and is gone with it. */
  async #isAlive({ id, run }: Pending): Promise<boolean> {
    if (this.#runtime.opened().some((mark) => mark.id === id)) return true;
    for await (const _ of (await this.#runtime.store()).runs({ id: run })) return true;
    return false;
  }

  #tell(event: "pending" | "settled", data: object): void {
    const bytes = message(event, data, this.#place);
    for (const outbox of this.#shown) outbox.push(bytes);
  }
}
