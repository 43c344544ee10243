/** A lineage that goes on: read once, then followed. Whoever looks is told at most once a frame. */
import type { Client, EventResource, StreamedPart } from "../../../src/client/client.ts";
import { Lineage } from "./lineage.ts";

export type Connection = "live" | "connecting" | "over";

type Listener = () => void;

export class LiveLineage {
  readonly lineage: Lineage;
  readonly #client: Client;
  /** Behind what has its row. */
  #cursor: string | undefined;
  readonly #listeners = new Set<Listener>();
  readonly #heard = new Set<(event: EventResource) => void>();
  readonly #watchers = new Set<(part: StreamedPart) => void>();
  #waiting: EventResource[] = [];
  /** Behind what has come. */
  #heardTo: string | undefined;
  #frame: number | undefined;
  #stop: AbortController | undefined;
  /** Goes up with every change. */
  version = 0;
  connection: Connection = "connecting";

  private constructor(client: Client, lineage: Lineage, cursor: string | undefined) {
    this.#client = client;
    this.lineage = lineage;
    this.#cursor = cursor;
  }

  static async read(client: Client, session: string, signal: AbortSignal): Promise<LiveLineage> {
    const index = await client.sessions.lineage(session, { signal });
    return new LiveLineage(client, new Lineage(index), index.cursor);
  }

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    this.#follow();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stop?.abort();
      this.#stop = undefined;
      // Nobody is told: whoever comes next sees it connect.
      this.connection = "connecting";
    };
  };

  /** Each event as it comes, once it has its row. */
  hear(heard: (event: EventResource) => void): () => void {
    this.#heard.add(heard);
    return () => this.#heard.delete(heard);
  }

  /** Everything as it comes, also what is only shown while it happens: replies as they are written, tools as they work. */
  watch(watcher: (part: StreamedPart) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #follow(): void {
    if (this.#stop !== undefined) return;
    const stop = new AbortController();
    this.#stop = stop;
    this.#read(stop.signal).catch(() => {
      if (!stop.signal.aborted) this.#say("over");
    });
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { lineage } = this;
    // What the first branch leads to is everything that the others are made of.
    const root = lineage.sessions[0] ?? lineage.session;
    const options = { after: this.#cursor, signal, onOpen: () => this.#say("live"), onRetry: () => this.#say("connecting") };
    for await (const part of this.#client.sessions.stream(root, options)) {
      if (signal.aborted) return;
      if (part.type === "event") this.#take(part.event, part.cursor);
      for (const watcher of this.#watchers) watcher(part);
    }
  }

  #take(event: EventResource, cursor: string | undefined): void {
    this.#waiting.push(event);
    this.#heardTo = cursor ?? this.#heardTo;
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      const events = this.#waiting.filter((one) => this.lineage.add(one));
      this.#waiting = [];
      this.#cursor = this.#heardTo ?? this.#cursor;
      if (events.length === 0) return;
      for (const one of events) for (const heard of this.#heard) heard(one);
      this.#tell();
    });
  }

  #say(connection: Connection): void {
    if (this.connection === connection) return;
    this.connection = connection;
    this.#tell();
  }

  #tell(): void {
    this.version++;
    for (const listener of this.#listeners) listener();
  }
}
