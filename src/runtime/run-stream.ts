/**
 * The stream of a run: what it recorded, in its order, then what it does as it does it. Another process reads the same from the
 * store; deltas and progress it is told, where the store can tell, and otherwise not.
 */
import { type Envelope, envelopeOf } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import { type Event, isReturned } from "../session/event.ts";
import type { Session } from "../session/session.ts";
import type { Stream, StreamPart } from "../session/stream.ts";
import type { StoredEvent } from "../store/store.ts";
import { LiveStream } from "../workflow/stream.ts";
import { ToolParts } from "../workflow/tool-parts.ts";
import { readOrProblem } from "./read-or-problem.ts";
import type { RunExecution, Settled } from "./run.ts";
import type { Runtime } from "./runtime.ts";
import { toldPartsOf } from "./told-parts.ts";

interface Streamed<Output> {
  readonly id: string;
  readonly session: string;
  readonly after: string | undefined;
  readonly executing: () => RunExecution | undefined;
  readonly settle: () => Promise<Settled<Output>>;
  readonly cancel: (reason: string) => Promise<void>;
  /** Hears which logs have grown, where the store tells. */
  readonly listen: (hear: (logs: readonly string[]) => void) => () => void;
}

interface Settling<Output> {
  ended?: Settled<Output>;
  failed?: { readonly error: unknown };
}

const pollMs = 250;
/** How soon something that just happened is on disk. */
const soonMs = 5;

/** How a run is read by somebody who keeps nothing of it. */
export interface Following {
  readonly after: string | undefined;
  readonly watch: (part: StreamPart) => void;
  /** Is told of an event that cannot be read, in its place; what comes after it follows. */
  readonly unreadable: (lost: Lost) => void;
  /** Resolves when more of what is on record can be taken. */
  readonly room: () => Promise<void>;
  /** Ends the reading; the run goes on. */
  readonly left: AbortSignal;
}

/** An event that cannot be read; `by` is there where that much of it can be. */
export interface Lost {
  readonly stored: StoredEvent;
  readonly by: string | undefined;
  readonly problem: RathError;
}

const followable = new WeakMap<object, (how: Following) => Promise<void>>();

/** Hands on what happened in a run and happens, each part once. Resolves when the run has ended well or nobody reads any more, else rejects. */
export async function followRun(run: object, how: Following): Promise<void> {
  const follow = followable.get(run);
  if (follow === undefined) throw new Error("this run is no handle of a Rath");
  await follow(how);
}

/** Said once, by whoever makes the handle of a run. */
export function canBeFollowed(runtime: Runtime, handle: object, run: Omit<Streamed<unknown>, "after">): void {
  followable.set(handle, async ({ after, watch, unreadable, room, left }) => {
    const tools = new ToolParts();
    const handOn = (part: StreamPart): void => {
      watch(part);
      for (const more of tools.of(part)) watch(more);
    };
    const reader = new RunReader(runtime, { ...run, after }, handOn, { room, unreadable });
    await Promise.race([reader.read(new AbortController().signal, left), aborted(left)]);
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

export function runStream<Output>(runtime: Runtime, run: Streamed<Output>): Stream<Output> {
  return new LiveStream<Output>((watch, signal) => new RunReader(runtime, run, watch).read(signal), {
    main: run.session,
    clean: (text) => runtime.clean(text),
  });
}

class RunReader<Output> {
  readonly #runtime: Runtime;
  readonly #run: Streamed<Output>;
  readonly #watch: (part: StreamPart) => void;
  readonly #how: Partial<Pick<Following, "room" | "unreadable">>;
  readonly #seen = new Set<string>();
  /** What has happened here and was not handed on: deltas wait until the events before them are on disk. */
  readonly #queue: StreamPart[] = [];
  /** What was shown of the newest reply on each session. */
  readonly #shown = new Map<string, string>();
  readonly #told = new Set<string>();
  /** Calls that have returned: what is told of them now is old. */
  readonly #returned = new Set<string>();
  /** The logs it is known to write. */
  readonly #logs: Set<string>;
  #order = -1;
  #live: RunExecution | undefined;
  /** What was recorded before it was watched was handed on: what it does comes after that. */
  #caughtUp = true;
  #unwatch: (() => void) | undefined;
  #wake: () => void = () => {};
  #settled: () => void = () => {};

  constructor(
    runtime: Runtime,
    run: Streamed<Output>,
    watch: (part: StreamPart) => void,
    how: Partial<Pick<Following, "room" | "unreadable">> = {},
  ) {
    this.#how = how;
    this.#runtime = runtime;
    this.#run = run;
    this.#watch = watch;
    this.#logs = new Set([run.id, run.session]);
  }

  /** Aborting `signal` stops the work; `left` stops reading. */
  async read(signal: AbortSignal, left?: AbortSignal): Promise<Session<Output>> {
    const stop = (): void => void this.#run.cancel(String((signal.reason as Error | undefined)?.message ?? "cancelled")).catch(() => {});
    signal.addEventListener("abort", stop, { once: true });
    const unlisten = this.#run.listen((logs) => {
      if (logs.length === 0 || logs.some((log) => this.#logs.has(log))) this.#wake();
    });
    let deaf: () => void = () => {};
    try {
      if (this.#run.after !== undefined) await this.#skipTo(this.#run.after);
      deaf = toldPartsOf(this.#runtime).hear(
        () => (this.#live === undefined ? [this.#run.id] : []),
        (part, run, call) => {
          if (run === this.#run.id && this.#live === undefined && !this.#returned.has(call)) this.#show(part);
        },
      );
      let settling: Settling<Output> | undefined;
      for (;;) {
        left?.throwIfAborted();
        this.#follow();
        await this.#catchUp();
        settling ??= this.#settling();
        if (settling.ended === undefined && settling.failed === undefined) await this.#later();
        if (settling.failed !== undefined) throw settling.failed.error;
        const { ended } = settling;
        if (ended === undefined) continue;
        settling = undefined;
        await this.#stored();
        for (const part of this.#queue.splice(0)) this.#show(part);
        if (ended.status === "done") return ended.session;
        if (ended.status === "failed") throw ended.error;
        if (ended.status === "cancelled")
          throw new RathError("run.cancelled", `Run ${this.#run.id} was cancelled.`, { session: ended.session });
        // It waits for a person or a timer: what comes next comes when it goes on.
        for (const pending of ended.pending) this.#show({ type: "pending", pending, by: pending.by, session: pending.session });
        await this.#later();
        this.#runtime.assertOpen();
      }
    } catch (error) {
      // Its store was closed under it.
      if (RathError.is(error, "store.closed")) this.#runtime.assertOpen();
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
      unlisten();
      deaf();
      this.#unwatch?.();
    }
  }

  /** Watches the run where it is executed here. */
  #follow(): void {
    const executing = this.#run.executing();
    if (executing === this.#live) return;
    this.#unwatch?.();
    this.#live = executing;
    this.#caughtUp = executing === undefined;
    this.#unwatch = executing?.watch((part) => {
      this.#queue.push(part);
      this.#release();
      if (this.#queue.length > 0) this.#wake();
    });
  }

  /** What was recorded just before it was watched may not be on disk yet, and nobody tells of it any more. */
  async #catchUp(): Promise<void> {
    if (!this.#caughtUp) await this.#live?.written();
    await this.#stored();
    this.#caughtUp = true;
    this.#release();
  }

  /** What the run comes to, once it has; asked once, since whoever asked a promise again and again would be kept by it. */
  #settling(): Settling<Output> {
    const settling: Settling<Output> = {};
    this.#run.settle().then(
      (ended) => {
        settling.ended = ended;
        this.#settled();
      },
      (error: unknown) => {
        settling.failed = { error };
        this.#settled();
      },
    );
    return settling;
  }

  /** Until something happened here, and from time to time. */
  #later(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#queue.length > 0 ? soonMs : pollMs);
      this.#settled = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        setTimeout(resolve, soonMs);
      };
    });
  }

  async #skipTo(id: string): Promise<void> {
    for await (const event of (await this.#runtime.store()).events({ ids: [id] })) {
      if (event.run === this.#run.id) this.#order = event.order;
    }
    if (this.#order < 0)
      throw new RathError("session.not-found", `Run ${this.#run.id} has no event ${id}: read its stream from the beginning.`, {
        details: { run: this.#run.id, event: id },
      });
  }

  /** Hands on what is on disk and was not handed on yet. */
  async #stored(): Promise<void> {
    const { platform } = this.#runtime;
    const store = await this.#runtime.store();
    for await (const stored of store.events({ run: this.#run.id, after: this.#order })) {
      if (stored.order > this.#order) this.#order = stored.order;
      if (this.#seen.has(stored.id)) continue;
      this.#seen.add(stored.id);
      this.#logs.add(stored.session);
      await this.#how.room?.();
      const { event, problem } = await readOrProblem(platform, store, stored);
      if (event !== undefined) this.#hand(event);
      else if (this.#how.unreadable === undefined) throw problem;
      else this.#pass(stored, problem, this.#how.unreadable);
    }
  }

  /** Goes past an event that cannot be read, as far as that is known of it. */
  #pass(stored: StoredEvent, problem: RathError, unreadable: Following["unreadable"]): void {
    this.#release(stored.id);
    const envelope = readableEnvelope(this.#runtime, stored);
    if (envelope !== undefined) this.#note({ ...envelope, session: stored.session });
    unreadable({ stored, by: envelope?.by, problem });
    this.#release();
  }

  /** Not when it is called: whoever comes late may have heard its beginning before the call is on disk. */
  #note({ kind, session, facts, parents }: Pick<Event, "kind" | "session" | "facts" | "parents">): void {
    if (kind === "model.returned") this.#shown.delete(session);
    if (isReturned(kind)) this.#returned.add(facts.call ?? parents[0] ?? "");
  }

  #hand(event: Event): void {
    this.#release(event.id);
    const { by, session } = event;
    if (event.kind === "model.returned" && event.facts.outcome === "ok") {
      const text = (event.data.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
      const shown = this.#shown.get(session) ?? "";
      // Whoever came in the middle of a reply has seen the end of it alone.
      if (shown !== text) this.#watch({ type: "text-delta", text, by, session, ...(shown === "" ? {} : { restart: true }) });
    }
    this.#note(event);
    this.#watch({ type: "event", event, by, session });
    this.#release();
  }

  /** Hands on what happened here up to an event, or up to the first one that was not handed on. */
  #release(to?: string): void {
    if (to === undefined && !this.#caughtUp) return;
    const known = (part: StreamPart): boolean => part.type === "event" && part.event.id === to;
    if (to !== undefined && !this.#queue.some(known)) return;
    for (let part = this.#queue[0]; part !== undefined && !known(part); part = this.#queue[0]) {
      if (to === undefined && part.type === "event" && !this.#seen.has(part.event.id)) return;
      this.#queue.shift();
      this.#show(part);
    }
  }

  /** Events are read from the store, in order, when they are on disk; the rest is only shown. */
  #show(part: StreamPart): void {
    if (part.type === "event") return;
    if (part.type === "text-delta")
      this.#shown.set(part.session, part.restart === true ? part.text : (this.#shown.get(part.session) ?? "") + part.text);
    if (part.type === "pending") {
      if (this.#told.has(part.pending.id)) return;
      this.#told.add(part.pending.id);
    }
    this.#watch(part);
  }
}

function readableEnvelope({ platform }: Runtime, stored: StoredEvent): Envelope | undefined {
  try {
    return envelopeOf(platform, stored);
  } catch {
    return undefined;
  }
}
