/**
 * The stream of a run: what it recorded, in its order, then what it does as it does it. Another process reads the same from the
 * store; only deltas and progress are seen nowhere but where the run is executed.
 */
import { parseEnvelope } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { Event } from "../session/event.ts";
import { Log } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import type { Stream, StreamPart } from "../session/stream.ts";
import { LiveStream } from "../workflow/stream.ts";
import { fetchBlobs, fromStored } from "./load.ts";
import type { RunExecution, Settled } from "./run.ts";
import type { Runtime } from "./runtime.ts";

interface Streamed<Output> {
  readonly id: string;
  readonly session: string;
  readonly after: string | undefined;
  readonly executing: () => RunExecution | undefined;
  readonly settle: () => Promise<Settled<Output>>;
  readonly cancel: (reason: string) => Promise<void>;
}

const pollMs = 250;
/** What was recorded is on disk a moment later. */
const soonMs = 10;
/** An event that was linked again under another id never comes: what waits behind it goes on. */
const patienceMs = 1000;

export function runStream<Output>(runtime: Runtime, run: Streamed<Output>): Stream<Output> {
  return new LiveStream<Output>((watch, signal) => new RunReader(runtime, run, watch).read(signal), { main: run.session });
}

class RunReader<Output> {
  readonly #runtime: Runtime;
  readonly #run: Streamed<Output>;
  readonly #watch: (part: StreamPart) => void;
  readonly #seen = new Set<string>();
  /** Sessions in which a model is heard speaking, and the replies that were heard while they came. */
  readonly #speaking = new Set<string>();
  readonly #heard = new Set<string>();
  /** What was seen live behind an event that is not on disk yet: deltas are handed on in their place between events. */
  #behind: ({ readonly part: StreamPart } | { readonly event: string; readonly since: number })[] = [];
  #order = -1;
  #live: RunExecution | undefined;
  #wake: () => void = () => {};
  #unwatch: (() => void) | undefined;

  constructor(runtime: Runtime, run: Streamed<Output>, watch: (part: StreamPart) => void) {
    this.#runtime = runtime;
    this.#run = run;
    this.#watch = watch;
  }

  async read(signal: AbortSignal): Promise<Session<Output>> {
    const stop = (): void => void this.#run.cancel(String((signal.reason as Error | undefined)?.message ?? "cancelled")).catch(() => {});
    signal.addEventListener("abort", stop, { once: true });
    try {
      this.#follow();
      if (this.#run.after !== undefined) await this.#skipTo(this.#run.after);
      for (;;) {
        this.#follow();
        await this.#stored();
        const ended = await Promise.race([this.#run.settle(), later(this.#behind.length > 0 ? soonMs : pollMs), this.#linked()]);
        if (ended === undefined) continue;
        await this.#stored();
        this.#release();
        if (ended.status === "done") return ended.session;
        if (ended.status === "failed") throw ended.error;
        if (ended.status === "cancelled")
          throw new RathError("run.cancelled", `Run ${this.#run.id} was cancelled.`, { session: ended.session });
        // It waits for a person or a timer: what comes next comes when it goes on.
        await later(pollMs);
        this.#runtime.assertOpen();
      }
    } finally {
      signal.removeEventListener("abort", stop);
      this.#unwatch?.();
    }
  }

  /** Watches the run where it is executed here. */
  #follow(): void {
    const executing = this.#run.executing();
    if (executing === this.#live) return;
    this.#unwatch?.();
    this.#live = executing;
    this.#unwatch = executing?.watch((part) => {
      if (part.type === "event") {
        // Read from the store, in order, when it is on disk.
        this.#behind.push({ event: part.event.id, since: performance.now() });
        if (part.event.kind === "model.returned" && this.#speaking.delete(part.session)) this.#heard.add(part.event.id);
        this.#wake();
        return;
      }
      if (part.type === "text-delta") this.#speaking.add(part.session);
      if (this.#behind.length > 0) this.#behind.push({ part });
      else this.#watch(part);
    });
  }

  /** Resolves soon after the next event was recorded. */
  #linked(): Promise<undefined> {
    return new Promise((resolve) => {
      this.#wake = () => void setTimeout(resolve, soonMs, undefined);
    });
  }

  /** Hands on what came before an event, or all of it. */
  #release(event?: string): void {
    const at = event === undefined ? this.#behind.length : this.#behind.findIndex((one) => "event" in one && one.event === event) + 1;
    for (const one of this.#behind.splice(0, at)) if ("part" in one) this.#watch(one.part);
  }

  /** What nothing holds back any more. */
  #advance(): void {
    for (let [first] = this.#behind; first !== undefined; [first] = this.#behind) {
      if ("event" in first && !this.#seen.has(first.event) && performance.now() - first.since < patienceMs) return;
      this.#behind.shift();
      if ("part" in first) this.#watch(first.part);
    }
  }

  async #skipTo(id: string): Promise<void> {
    for await (const event of (await this.#runtime.store()).events({ ids: [id] })) {
      if (event.run === this.#run.id) this.#order = event.order;
    }
  }

  /** Hands on what is on disk and was not handed on yet. */
  async #stored(): Promise<void> {
    const { platform } = this.#runtime;
    const store = await this.#runtime.store();
    for await (const stored of store.events({ run: this.#run.id, after: this.#order })) {
      if (stored.order > this.#order) this.#order = stored.order;
      if (this.#seen.has(stored.id)) continue;
      this.#seen.add(stored.id);
      const envelope = parseEnvelope(platform.text(stored.envelope));
      const node = fromStored(platform, stored, new Log(stored.session), [], envelope);
      await fetchBlobs(platform, store, [node]);
      this.#release(stored.id);
      this.#hand(Object.freeze({ ...node.event(platform), parents: envelope.parents }) as Event);
    }
    this.#advance();
  }

  #hand(event: Event): void {
    const { by, session } = event;
    if (event.kind === "model.returned" && event.facts.outcome === "ok" && !this.#heard.has(event.id)) {
      const text = (event.data.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
      if (text !== "") this.#watch({ type: "text-delta", text, by, session });
    }
    this.#watch({ type: "event", event, by, session });
  }
}

function later(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined));
}
