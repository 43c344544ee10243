/**
 * Every log of a store: when it was last touched, and which others it needs. It is read once as a whole. What others append meanwhile
 * is read on from the feed, so that a store in use is known up to a moment ago without reading all of it again.
 */
import { dataText, parseEnvelope } from "../session/codec.ts";
import { answerLogId } from "../session/id.ts";
import type { Platform } from "../session/platform.ts";
import type { LogPlace, LogRow, RunRow, Store, StoredEvent } from "../store/store.ts";
import { hasEnded } from "./run-row.ts";

/** Which sessions are old enough. */
export interface Age {
  /** ISO time. */
  readonly before: string;
  readonly tag?: string | undefined;
  readonly keepTag?: string | undefined;
}

/** What nobody needs. */
export interface Unneeded {
  readonly sessions: readonly string[];
  /** Old enough, and kept all the same. */
  readonly held: readonly string[];
  /** Every log that went, or would. */
  readonly removed: ReadonlySet<string>;
}

export class RetentionLogs {
  readonly #platform: Platform;
  readonly #store: Store;
  #place: string | undefined;
  readonly #rows = new Map<string, LogRow>();
  /** The newest time that a log tells itself. Forks, merges and what is said in runs have the time of what they were made of. */
  readonly #newest = new Map<string, string>();
  /** The last event of a log, and the run that wrote it. */
  readonly #last = new Map<string, Pick<StoredEvent, "id" | "step" | "run">>();
  readonly #needs = new Map<string, Set<string>>();
  /** Logs that need the log of an event, and answers that it needs, until it is known which log that is. */
  readonly #crossings = new Map<string, Set<string>>();
  readonly #answers = new Map<string, string>();
  /** The logs that a run wrote to. */
  readonly #written = new Map<string, Set<string>>();
  /** Runs that have not ended, and the sessions they work on. */
  readonly #open = new Map<string, string>();

  constructor(platform: Platform, store: Store) {
    this.#platform = platform;
    this.#store = store;
  }

  /** Nothing is unknown that the feed has before this place. */
  get place(): string | undefined {
    return this.#place;
  }

  async read(): Promise<this> {
    // Before anything is read: what comes meanwhile lies behind it.
    this.#place = await this.#store.fedTo();
    for await (const row of this.#store.sessions({})) this.#rows.set(row.id, row);
    for (const id of this.#rows.keys()) for await (const event of this.#store.events({ session: id })) this.#take(event);
    for await (const row of this.#store.runs({})) this.#takeRun(row);
    await this.readOn();
    return this;
  }

  /** Reads what came since. False when that is nothing but entries of erasures, which need no log. */
  async readOn(): Promise<boolean> {
    const grown = new Set<string>();
    for await (const { place, events, problem } of this.#store.feed({ after: this.#place })) {
      if (problem !== undefined) throw problem;
      for (const event of events) {
        grown.add(event.session);
        this.#take(event);
      }
      this.#place = place;
    }
    for (const id of grown) {
      for await (const row of this.#store.sessions({ id })) if (row.id === id) this.#rows.set(id, row);
      // A run is queued by the first event of its own log.
      for await (const row of this.#store.runs({ id })) this.#takeRun(row);
    }
    await this.#findCrossed();
    return [...grown].some((id) => this.#rows.get(id)?.log !== "erasure");
  }

  unneeded(age: Age): Unneeded {
    const sessions = [...this.#rows.values()].filter(({ log }) => log === "session");
    const old = new Set(sessions.filter((row) => this.#isOld(row, age)).map(({ id }) => id));
    const young = sessions.map(({ id }) => id).filter((id) => !old.has(id));
    const kept = this.#reach([...young, ...this.#worked()]);
    const candidates = this.#reach([...old].filter((id) => !kept.has(id)));
    const removed = new Set([...candidates].filter((id) => !kept.has(id) && this.#rows.get(id)?.log !== "erasure"));
    return { sessions: [...old].filter((id) => removed.has(id)), held: [...old].filter((id) => !removed.has(id)), removed };
  }

  /** Of logs that somebody meant to remove, those that nobody has continued and nothing else needs. */
  stillUnneeded(listed: readonly LogPlace[]): LogPlace[] {
    const meant = new Map(listed.map(({ session, head }) => [session, head]));
    const others = [...this.#rows.values()].filter(({ id, log, head }) => log === "session" && meant.get(id) !== head);
    const kept = this.#reach([...others.map(({ id }) => id), ...this.#worked()]);
    return listed.filter(({ session, head }) => this.#rows.get(session)?.head === head && !kept.has(session));
  }

  /** Logs with the heads that are known. */
  placesOf(logs: Iterable<string>): LogPlace[] {
    return [...logs].map((session) => ({ session, head: this.#rows.get(session)?.head ?? "" }));
  }

  /** What open runs work on. */
  #worked(): string[] {
    return [...this.#open].flatMap(([run, session]) => [run, session, ...(this.#written.get(run) ?? [])]);
  }

  /** Events of a log come in their order. Some come twice: when they are read, and from the feed. */
  #take({ id, session: log, step, run, envelope, data }: StoredEvent): void {
    const { parents, at, kind } = parseEnvelope(this.#platform.text(envelope));
    const last = this.#last.get(log);
    for (const parent of parents) if (parent !== last?.id) this.#cross(log, parent);
    if (last === undefined || step > last.step) this.#last.set(log, { id, step, run });
    if (at > (this.#newest.get(log) ?? "")) this.#newest.set(log, at);
    if (run !== undefined) {
      add(this.#written, run, log);
      this.#need(log, run);
      this.#need(run, log);
    }
    const answer = answerLogId(this.#platform, id);
    if (this.#rows.has(answer)) this.#need(log, answer);
    const named = data === undefined ? {} : namedIn(kind, dataText(this.#platform, data));
    if (named.event !== undefined) this.#cross(log, named.event);
    // A mailbox goes with the run whose signals it holds.
    if (named.run !== undefined) this.#need(named.run, log);
    // Its question may have been read before it was there.
    if (named.question !== undefined) this.#answers.set(named.question, log);
  }

  #takeRun({ id, session, status }: RunRow): void {
    if (hasEnded(status)) this.#open.delete(id);
    else this.#open.set(id, session);
  }

  #cross(log: string, event: string): void {
    add(this.#crossings, event, log);
  }

  async #findCrossed(): Promise<void> {
    const ids = new Set([...this.#crossings.keys(), ...this.#answers.keys()]);
    for await (const { id, session } of this.#store.events({ ids: [...ids] })) {
      for (const log of this.#crossings.get(id) ?? []) this.#need(log, session);
      const answer = this.#answers.get(id);
      if (answer !== undefined) this.#need(session, answer);
      this.#crossings.delete(id);
      this.#answers.delete(id);
    }
  }

  #need(log: string, other: string): void {
    if (log !== other) add(this.#needs, log, other);
  }

  #isOld(row: LogRow, { before, tag, keepTag }: Age): boolean {
    if (this.#touched(row) >= before) return false;
    return (tag === undefined || this.#isTagged(row, tag)) && !(keepTag !== undefined && this.#isTagged(row, keepTag));
  }

  /** When it was made here or last changed, whichever is later, as far as anything tells. */
  #touched({ id, created = "" }: LogRow): string {
    // What a run says in its own log has the time at which it is said, and it is said after the rest.
    const times = [created, this.#newest.get(id), this.#newest.get(this.#last.get(id)?.run ?? "")];
    return times.reduce<string>((latest, time = "") => (time > latest ? time : latest), "");
  }

  /** Forks have the tags of what they were forked from. */
  #isTagged(row: LogRow, tag: string): boolean {
    let at: LogRow | undefined = row;
    while (at !== undefined && at.tags?.includes(tag) !== true) at = at.parent === undefined ? undefined : this.#rows.get(at.parent);
    return at !== undefined;
  }

  /** What is needed may not be there, or not yet. */
  #reach(from: readonly string[]): Set<string> {
    const reached = new Set(from.filter((log) => this.#rows.has(log))); // grows while it is walked
    for (const log of reached) for (const other of this.#needs.get(log) ?? []) if (this.#rows.has(other)) reached.add(other);
    return reached;
  }
}

function add(sets: Map<string, Set<string>>, name: string, value: string): void {
  const known = sets.get(name);
  if (known === undefined) sets.set(name, new Set([value]));
  else known.add(value);
}

interface Named {
  readonly event?: string | undefined;
  readonly run?: string | undefined;
  readonly question?: string | undefined;
}

/** What an event names that is not its parent: where a detached session comes from, what a run was given, whose signal or answer it is. */
function namedIn(kind: string, text: string): Named {
  if (kind !== "session.detached" && kind !== "run.started" && kind !== "signal.sent" && kind !== "answer.given") return {};
  const data = JSON.parse(text) as {
    readonly from?: { readonly head: string };
    readonly input?: { readonly head: string };
    readonly run?: string;
    readonly question?: string;
  };
  if (kind === "signal.sent") return { run: data.run };
  if (kind === "answer.given") return { question: data.question };
  return { event: data.from?.head ?? data.input?.head };
}
