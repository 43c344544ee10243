/** Connections that several stores of one process have together: for a server that has many projects open, each with stores of its own. */
import { Channel } from "./channel.ts";
import type { Pool, PostgresPool } from "./driver.ts";

export class SharedPool implements PostgresPool {
  readonly url: string;
  /** Connections at most, of all stores together. */
  readonly max: number;
  readonly #channels = new Map<string, Channel>();
  #pool: Promise<Pool> | undefined;
  #users = 0;

  constructor(url: string, max: number) {
    this.url = url;
    this.max = max;
  }

  /** Stores know what it is and join it: a statement of theirs needs more than this. */
  query(): Promise<never> {
    return Promise.reject(new Error("a shared pool is joined, not asked"));
  }

  /** For whoever then leaves. The first one makes it. */
  join(make: () => Promise<Pool>): Promise<Pool> {
    this.#users++;
    this.#pool ??= make();
    return this.#pool;
  }

  /** The last one closes it; whoever joins afterwards makes another. */
  async leave(): Promise<void> {
    if (--this.#users > 0) return;
    const pool = this.#pool;
    this.#pool = undefined;
    await (await pool)?.end();
  }

  /** One for all who listen on it. */
  channel(name: string): Channel {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      channel = new Channel(name);
      this.#channels.set(name, channel);
    }
    return channel;
  }
}
