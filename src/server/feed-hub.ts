/**
 * One reader of the feed of a project for everybody who follows it. A follower first reads what it missed by itself, at its own pace; then
 * it is sent what comes, each event encoded once for all. Nothing is read while nobody follows.
 *
 * No gap and no duplicate: every follower has a place, and is sent exactly what lies behind it. It joins only where the hub has not
 * gone past its place; otherwise it reads on.
 */

import { hintsOf } from "../runtime/hints.ts";
import { rowOf } from "../runtime/load.ts";
import { readOrProblem } from "../runtime/read-or-problem.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { toldPartsOf } from "../runtime/told-parts.ts";
import { envelopeOf } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import { type Event, type EventKind, type Facts, isReturned } from "../session/event.ts";
import type { StreamPart } from "../session/stream.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { Fed, Store, StoredEvent } from "../store/store.ts";
import { cursorAfter, type FeedCursor } from "./feed-cursor.ts";
import { LiveReplies } from "./live-replies.ts";
import { message, unreadable } from "./sse.ts";

/** An event on its way to followers. */
export interface FedEvent {
  readonly stored: StoredEvent;
  readonly kind: EventKind;
  readonly parents: readonly string[];
  readonly facts: Facts;
  /** Of the first event of a fork: the log it continues. Of the first one of a run: the session that the run was given. */
  readonly from: string | undefined;
  /** Of what a run says of itself: the logs that it has written to. */
  readonly wrote: ReadonlySet<string>;
  /** Undefined when it cannot be read: a blob of it is missing, or it is damaged. */
  readonly read: () => Promise<Event | undefined>;
  /** As it is sent, made when it is first wanted; of one that cannot be read, that it cannot. */
  readonly message: () => Promise<Uint8Array>;
}

/** Somebody who follows the feed. */
export interface Follower {
  /** Whether it is sent this event. Asked once for each, in order. */
  wants(event: FedEvent): boolean;
  /** Is sent an event it wanted. */
  send(event: FedEvent): Promise<void>;
  /** Is told of events of a log that cannot be read, so that nobody knows what they are. */
  damaged?(log: string | undefined, bytes: Uint8Array): void;
  /** What happens in this process and is on no record; left out by who does not want it. */
  part?(part: StreamPart, bytes: Uint8Array): void;
  /** Everything up to this place was sent. */
  passed?(place: string): Promise<void>;
  /** Whose parts it wants, for those who execute runs elsewhere; undefined: of all. */
  names?(): readonly string[] | undefined;
  /** It cannot be sent what comes next, and does not follow any more. */
  fail(error: unknown): void;
  /** Resolves when it can take more of the past. */
  room(): Promise<void>;
  readonly closed: boolean;
}

interface Joined {
  readonly follower: Follower;
  place: string;
  /** Sessions of which it was shown the newest reply from its beginning. */
  readonly shown: Set<string>;
}

const pollMs = 250;
/** How soon something that just happened here is on disk. */
const soonMs = 5;
const rememberedCalls = 10_000;
const rememberedRuns = 1_000;
const nothing: ReadonlySet<string> = new Set();

const hubs = new WeakMap<Runtime, FeedHub>();

/** The hub of a project in this process. */
export function hubOf(runtime: Runtime): FeedHub {
  const hub = hubs.get(runtime) ?? new FeedHub(runtime);
  hubs.set(runtime, hub);
  return hub;
}

export class FeedHub {
  readonly #runtime: Runtime;
  readonly #joined = new Set<Joined>();
  readonly #replies: LiveReplies;
  /** Calls that returned last. */
  readonly #returned = new Set<string>();
  /** The logs that runs wrote to of which something was told last. */
  readonly #wrote = new Map<string, Promise<Set<string>>>();
  /** What followers that have joined were sent, up to here. */
  #place = "";
  #reading: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #stop: (() => void) | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#replies = new LiveReplies((part, run, begins) => this.#sendPart(part, run, begins));
  }

  /** How many follow what comes; for tests and metrics. */
  get followers(): number {
    return this.#joined.size;
  }

  /** Sends what lies behind a cursor and then what comes; the promise resolves when it has caught up. Stops when the follower is closed. */
  async follow(follower: Follower, cursor: FeedCursor): Promise<void> {
    const store = await this.#runtime.store();
    let { after, within } = cursor;
    for (;;) {
      const end = await store.fedTo();
      for await (const fed of store.feed({ after })) {
        if (!(await this.#show(store, fed, after, follower, fed.place === within?.place ? within.sent : 0))) return;
        after = fed.place;
        within = undefined;
        await follower.passed?.(after);
      }
      if (after === undefined || end > after) after = end;
      if (follower.closed || this.#join(follower, after)) return;
    }
  }

  /** What a follower reads by itself, as fast as it takes it: what was stored together may be more than may wait. False when it has left. */
  async #show(store: Store, fed: Fed, after: string | undefined, follower: Follower, skip: number): Promise<boolean> {
    await follower.room();
    if (follower.closed) return false;
    if (fed.problem !== undefined) this.#tellDamaged(fed.place, fed.problem, [follower]);
    for (const [index, stored] of fed.events.entries()) {
      const event = await this.#fedEvent(store, stored, () => cursorAfter(fed, index, after));
      // Also of what it was sent before: it may learn from it what it wants of the rest.
      const wanted = follower.wants(event);
      if (!wanted || index < skip) continue;
      await follower.room();
      if (follower.closed) return false;
      await follower.send(event);
    }
    return true;
  }

  leave(follower: Follower): void {
    for (const joined of this.#joined) if (joined.follower === follower) this.#joined.delete(joined);
    if (this.#joined.size === 0) this.#rest();
  }

  #join(follower: Follower, place: string): boolean {
    // A reading that is under way goes on from its own place, whoever it was begun for.
    if (this.#joined.size === 0 && this.#reading === undefined) this.#place = place;
    if (place < this.#place) return false;
    this.#joined.add({ follower, place, shown: new Set() });
    if (this.#stop === undefined) this.#begin();
    return true;
  }

  // ── reading what comes ──

  #begin(): void {
    this.#timer = setInterval(() => this.#look(), pollMs);
    this.#timer.unref();
    const deaf = this.#runtime.live.hear((part, run) => {
      if (part.type === "event") this.#lookSoon();
      this.#replies.hear(part, run);
    });
    const unlisten = hintsOf(this.#runtime).listen(() => this.#lookSoon());
    const untold = toldPartsOf(this.#runtime).hear(
      () => this.#names(),
      (part, run, call) => {
        if (!this.#returned.has(call)) this.#replies.hear(part, run);
      },
    );
    this.#stop = () => {
      deaf();
      unlisten();
      untold();
    };
    this.#look();
  }

  #rest(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    this.#soon = undefined;
    this.#stop?.();
    this.#stop = undefined;
    this.#replies.clear();
  }

  /** Runs and sessions whose parts are wanted; undefined: all. */
  #names(): readonly string[] | undefined {
    const named = [...this.#joined].filter(({ follower }) => follower.part !== undefined).map(({ follower }) => follower.names?.());
    return named.includes(undefined) ? undefined : [...new Set(named.flatMap((names) => names ?? []))];
  }

  #lookSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#look();
    }, soonMs);
  }

  #look(): void {
    if (this.#joined.size === 0) return;
    if (this.#reading !== undefined) {
      this.#again = true;
      return;
    }
    this.#again = false;
    this.#reading = this.#read()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#reading = undefined;
        if (this.#again) this.#look();
      });
  }

  async #read(): Promise<void> {
    const store = await this.#runtime.store();
    const end = await store.fedTo();
    if (end <= this.#place) return;
    for await (const fed of store.feed({ after: this.#place })) {
      if (this.#joined.size === 0) return;
      const after = this.#place;
      // Said before anything is awaited: who wants to join meanwhile must have read this by itself.
      this.#place = fed.place;
      const behind = [...this.#joined].filter(({ place }) => place < fed.place);
      try {
        await this.#deliver(store, fed, after, behind);
      } catch (error) {
        // Whoever comes back with a cursor misses nothing; whoever was kept would.
        for (const { follower } of behind) {
          this.leave(follower);
          follower.fail(error);
        }
      }
    }
    if (end > this.#place) this.#place = end;
  }

  /** A store that is away for a moment is asked again. */
  #failed(error: unknown): void {
    if (RathError.is(error) && error.retryable) return;
    if (!this.#runtime.closed) this.#runtime.warn(`Streams are behind: the feed cannot be read (${textOfThrown(error)}).`);
  }

  /** What is new, to everybody who has joined and not read it by itself. */
  async #deliver(store: Store, fed: Fed, after: string, behind: readonly Joined[]): Promise<void> {
    if (fed.problem !== undefined) {
      const followers = behind.map(({ follower }) => follower);
      this.#tellDamaged(fed.place, fed.problem, followers);
    }
    for (const [index, stored] of fed.events.entries()) {
      const event = await this.#fedEvent(store, stored, () => cursorAfter(fed, index, after));
      const wanting = behind.filter(({ follower }) => !follower.closed && follower.wants(event));
      this.#replies.reach(stored.session, stored.id);
      if (event.kind === "model.returned") await this.#correct(event, wanting);
      for (const { follower } of wanting) await follower.send(event);
      this.#replies.sent(stored.session, stored.id);
      if (isReturned(event.kind)) this.#noteReturned(event);
    }
    for (const joined of behind) {
      joined.place = fed.place;
      await joined.follower.passed?.(fed.place);
    }
  }

  /** What is told of it from now on is old. */
  #noteReturned({ facts, parents }: FedEvent): void {
    this.#returned.add(facts.call ?? parents[0] ?? "");
    for (const oldest of this.#returned) {
      if (this.#returned.size <= rememberedCalls) break;
      this.#returned.delete(oldest);
    }
  }

  /** Whoever was shown something else than the reply, or not its beginning, is shown it whole before it is sent. */
  async #correct(event: FedEvent, followers: readonly Joined[]): Promise<void> {
    const read = (await event.read()) as Event<"model.returned"> | undefined;
    const { shown, whole } = read === undefined ? this.#replies.lost(event.stored.session) : this.#replies.returned(read);
    // Also of those who do not want it, and of replies that failed: who follows for long would remember every session there was.
    const complete = new Set([...this.#joined].filter((joined) => joined.shown.delete(event.stored.session)));
    if (whole === undefined) return;
    const bytes = message(whole.type, { ...whole, run: event.stored.run });
    for (const joined of followers) if (!shown || !complete.has(joined)) joined.follower.part?.(whole, bytes);
  }

  async #fedEvent(store: Store, stored: StoredEvent, cursor: () => string): Promise<FedEvent> {
    const { platform } = this.#runtime;
    const { kind, parents, facts, by } = envelopeOf(platform, stored);
    const { session, run } = stored;
    const read = once(() => readOrProblem(platform, store, stored));
    // The own log of a run is named as it is; effects outside any run have no beginning and no row that would say whose it is.
    const wrote = run === session && kind !== "run.started" ? await this.#wroteTo(store, run) : nothing;
    if (run !== undefined && run !== session) (await this.#wrote.get(run))?.add(session);
    const from =
      kind === "session.forked"
        ? (await rowOf(store, session))?.parent
        : kind === "run.started"
          ? ((await read()).event as Event<"run.started"> | undefined)?.data?.input.session
          : undefined;
    return {
      ...{ stored, kind, parents, facts, from, wrote },
      read: async () => (await read()).event,
      message: once(async () => {
        const { event, problem } = await read();
        const about = { by, session, ...(run === undefined ? {} : { run }) };
        if (event !== undefined) return message("event", { type: "event", event, ...about }, cursor());
        return unreadable(this.#runtime, { event: stored.id, ...about }, problem, cursor());
      }),
    };
  }

  #wroteTo(store: Store, run: string): Promise<ReadonlySet<string>> {
    const known = this.#wrote.get(run);
    if (known !== undefined) return known;
    const logs = logsOf(store, run);
    this.#wrote.set(run, logs);
    logs.catch(() => this.#wrote.delete(run));
    for (const oldest of this.#wrote.keys()) {
      if (this.#wrote.size <= rememberedRuns) break;
      this.#wrote.delete(oldest);
    }
    return logs;
  }

  #tellDamaged(place: string, problem: RathError, followers: readonly Follower[]): void {
    const { log } = problem.details;
    const session = typeof log === "string" ? log : undefined;
    const bytes = unreadable(this.#runtime, { session }, problem, place);
    for (const follower of followers) if (!follower.closed) follower.damaged?.(session, bytes);
  }

  #sendPart(part: StreamPart, run: string, begins: boolean): void {
    const bytes = message(part.type, { ...part, run });
    for (const { follower, shown } of [...this.#joined]) {
      if (follower.closed) continue;
      if (begins) shown.add(part.session);
      follower.part?.(part, bytes);
    }
  }
}

async function logsOf(store: Store, run: string): Promise<Set<string>> {
  const logs = new Set<string>();
  for await (const { id } of store.sessions({ run })) logs.add(id);
  return logs;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
