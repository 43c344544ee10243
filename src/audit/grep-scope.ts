/** Which logs a question is about: all of a store, one of them, or a session with all its branches. */
import { rowOf } from "../runtime/load.ts";
import type { Rath } from "../runtime/rath.ts";
import { flushBehind, runtimeOf } from "../runtime/replay.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { RathError } from "../session/errors.ts";
import { ancestorsOf, byStep, type Log, type Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import type { LogRow, Store } from "../store/store.ts";

/** A log that is asked about, as far as it counts. */
export interface ScopedLog {
  readonly id: string;
  /** Its newest event when the question was asked. */
  readonly head: string;
  /** Up to this step; all of it when left out. */
  readonly to?: number | undefined;
}

/** The runtime behind a Rath or a session. */
export function runtimeBehind(asked: Rath | Session): Runtime {
  return runtimeOf(isSession(asked) ? asked : asked.session());
}

function isSession(asked: Rath | Session): asked is Session {
  return "head" in asked;
}

/**
 * Of a Rath every log, in order of creation: sessions, the own logs of runs, answers and signals. Of a session the logs it stands on,
 * its own up to the place, all that ever forked from them, and those of the runs that wrote them; known from rows alone.
 */
export async function scopeOf(asked: Rath | Session, runtime: Runtime, log?: string): Promise<readonly ScopedLog[]> {
  const store = await runtime.store();
  if (isSession(asked)) await flushBehind(asked);
  else await runtime.effects.writer.flush();
  if (log !== undefined) return [await logNamed(store, log)];
  if (isSession(asked)) return new Family(store, placeOf(asked).node).all();
  const all: ScopedLog[] = [];
  for await (const { id, head } of store.sessions({})) all.push({ id, head });
  return all;
}

async function logNamed(store: Store, name: string): Promise<ScopedLog> {
  const rows: LogRow[] = [];
  if (name !== "") for await (const row of store.sessions({ id: name })) rows.push(row);
  const row = rows.find(({ id }) => id === name) ?? rows[0];
  if (row === undefined)
    throw new RathError("session.not-found", `There is no log ${name || "(empty id)"} in this store.`, { details: { session: name } });
  if (rows.length > 1 && row.id !== name)
    throw new RathError("session.ambiguous-id", `${name} is the beginning of ${rows.length} ids of logs: write more of it.`, {
      details: { ids: rows.map(({ id }) => id) },
    });
  return { id: row.id, head: row.head };
}

class Family {
  readonly #store: Store;
  readonly #place: Node;
  readonly #logs = new Map<string, ScopedLog>();
  /** Known logs by the log they continue: their rows are not read again. */
  readonly #forks = new Map<string, string[]>();
  #waiting: LogRow[] = [];
  readonly #runs = new Set<string>();

  constructor(store: Store, place: Node) {
    this.#store = store;
    this.#place = place;
  }

  async all(): Promise<readonly ScopedLog[]> {
    await this.#behind(this.#place);
    while (this.#waiting.length > 0) {
      const rows = this.#waiting;
      this.#waiting = [];
      for (const { run } of rows) if (run !== undefined) await this.#run(run);
      const parent = rows.map(({ id }) => id);
      const except = parent.flatMap((id) => this.#forks.get(id) ?? []);
      for await (const fork of this.#store.sessions({ parent, except })) if (await this.#leftInTime(fork)) this.#add(fork);
    }
    return [...this.#logs.values()];
  }

  #add(row: LogRow): void {
    if (this.#logs.has(row.id)) return;
    this.#logs.set(row.id, { id: row.id, head: row.head, ...(row.id === this.#place.log.id ? { to: this.#place.step } : {}) });
    this.#waiting.push(row);
    if (row.parent === undefined) return;
    const forks = this.#forks.get(row.parent);
    if (forks === undefined) this.#forks.set(row.parent, [row.id]);
    else forks.push(row.id);
  }

  /** The logs a place stands on, and where a detached one comes from. */
  async #behind(place: Node): Promise<void> {
    const places = [place];
    for (let next = places.pop(); next !== undefined; next = places.pop())
      for (const log of inOrder(ancestorsOf(next))) {
        if (this.#logs.has(log.id)) continue;
        const row = await rowOf(this.#store, log.id);
        if (row !== undefined) this.#add(row);
        if (log.origin !== undefined) places.push(log.origin);
        for (let node: Node | undefined = log.tip; node !== undefined; node = node.prior)
          if (node.run !== undefined && !this.#runs.has(node.run)) await this.#run(node.run);
      }
  }

  /** What forked from the session after the place is no part of it. */
  async #leftInTime(fork: LogRow): Promise<boolean> {
    if (fork.parent !== this.#place.log.id || this.#place.log.storedHead === this.#place) return true;
    for await (const { envelope } of this.#store.events({ session: fork.id })) {
      const { parents = [] } = JSON.parse(Buffer.from(envelope).toString()) as { readonly parents?: readonly string[] };
      for await (const parent of this.#store.events({ ids: parents.slice(0, 1) })) return parent.step <= this.#place.step;
    }
    return true;
  }

  /** All logs of a run of a workflow. The run for effects outside any workflow is shared by unrelated sessions. */
  async #run(run: string): Promise<void> {
    if (this.#runs.has(run)) return;
    this.#runs.add(run);
    for await (const { envelope } of this.#store.events({ session: run, to: 1 })) {
      if (!Buffer.from(envelope).includes('"kind":"run.started"')) return;
      for await (const row of this.#store.sessions({ run })) this.#add(row);
    }
  }
}

/** As they began: the order in which this process happened to read them is nobody's. */
function inOrder(logs: Iterable<{ readonly key: Log }>): readonly Log[] {
  return Array.from(logs, ({ key }) => key).sort((a, b) => byStep(a.first as Node, b.first as Node));
}
