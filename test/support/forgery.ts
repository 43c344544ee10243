/** All that a store holds, open to change, and what a forger does to it. */
import { type Key, orderDigest } from "../../src/runtime/key.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { type Envelope, envelopeText } from "../../src/session/codec.ts";
import type { DataOf } from "../../src/session/event.ts";
import { answerLogId } from "../../src/session/id.ts";
import { saltBytes } from "../../src/session/platform.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { EventQuery, LogQuery, LogRow, RunQuery, RunRow, Store, StoredEvent } from "../../src/store/store.ts";

export interface ForgedLog {
  row: LogRow;
  events: StoredEvent[];
}

export class Forgery {
  logs: ForgedLog[] = [];
  runs: RunRow[] = [];
  readonly blobs = new Map<string, Uint8Array>();

  static async of(store: Store): Promise<Forgery> {
    const forgery = new Forgery();
    for await (const row of store.runs({})) forgery.runs.push(row);
    for await (const row of store.sessions({})) {
      const events: StoredEvent[] = [];
      for await (const event of store.events({ session: row.id })) events.push(event);
      forgery.logs.push({ row, events });
    }
    const waiting = forgery.events.map((event) => textOf(event));
    for (let text = waiting.pop(); text !== undefined; text = waiting.pop())
      for (const [hash] of text.matchAll(/\b[0-9a-f]{64}\b/g)) {
        const bytes = forgery.blobs.has(hash) ? undefined : await store.blob(hash);
        if (bytes === undefined) continue;
        forgery.blobs.set(hash, bytes);
        waiting.push(Buffer.from(bytes).toString()); // a directory names others
      }
    return forgery;
  }

  copy(): Forgery {
    const copy = new Forgery();
    copy.logs = this.logs.map(({ row, events }) => ({ row, events: [...events] }));
    copy.runs = [...this.runs];
    for (const [hash, bytes] of this.blobs) copy.blobs.set(hash, bytes);
    return copy;
  }

  /** Writes all of it to an empty store, as it stands. */
  async into(store: Store): Promise<void> {
    const branches = this.logs
      .filter(({ events }) => events.length > 0)
      .map(({ row, events }) => ({ session: row.id, expectedHead: undefined, events, about: row }));
    await store.append({ branches, blobs: [...this.blobs].map(([hash, bytes]) => ({ hash, bytes })) });
    for (const run of this.runs) await store.append({ branches: [], run });
  }

  get events(): StoredEvent[] {
    return this.logs.flatMap((log) => log.events);
  }
  ofKind(kind: string): StoredEvent[] {
    return this.events.filter((event) => envelopeOf(event).kind === kind);
  }
  log(id: string): ForgedLog {
    return this.logs.find((log) => log.row.id === id) as ForgedLog;
  }
  replace(old: StoredEvent, change: Partial<StoredEvent>): void {
    const { events } = this.log(old.session);
    events[events.indexOf(old)] = { ...old, ...change };
  }
  remove(...olds: readonly StoredEvent[]): void {
    for (const log of this.logs) log.events = log.events.filter((event) => !olds.includes(event));
  }
  ofRun(run: string): StoredEvent[] {
    return this.events.filter((event) => event.run === run).sort((a, b) => a.order - b.order);
  }

  /** Puts other content in the place of an event, and names everything anew that rests on it, as a careful forger would. */
  rewrite(old: StoredEvent, change: Partial<Envelope>, data?: string): void {
    const names = new Map<string, string>();
    const forged = sealed({ ...envelopeOf(old), ...change }, data ?? dataOf(old), old);
    names.set(old.id, forged.id);
    this.replace(old, forged);
    this.#rename(names);
  }

  /** Signs all statements again, with a key of one's own, perhaps under the name of another. */
  sign(key: Key, name = key.id): void {
    for (const run of new Set(this.ofKind("run.signed").map((event) => event.run as string))) {
      let before = { order: "", events: 0 };
      const count = this.ofRun(run).filter((event) => envelopeOf(event).kind === "run.signed").length;
      for (let number = 1; number <= count; number++) {
        const events = this.ofRun(run);
        const signed = events.filter((event) => envelopeOf(event).kind === "run.signed")[number - 1] as StoredEvent;
        const covered = events.filter((event) => event.order < signed.order);
        const { statement } = JSON.parse(dataOf(signed)) as DataOf<"run.signed">;
        const { previous: _, ...rest } = statement;
        const order = orderDigest(
          before.order,
          covered.slice(before.events).map((event) => event.id),
        );
        const renewed = { ...rest, key: name, number, events: covered.length, order };
        before = renewed;
        const ordered = Object.fromEntries(Object.entries(renewed).sort(([a], [b]) => (a < b ? -1 : 1)));
        this.rewrite(signed, {}, JSON.stringify({ signature: key.sign(renewed), statement: ordered }));
      }
    }
  }

  #rename(names: Map<string, string>): void {
    for (let changed = true; changed; ) {
      changed = false;
      for (const log of this.logs) {
        log.events.forEach((event, index) => {
          const [envelope, data] = [Buffer.from(event.envelope).toString(), event.data === undefined ? "" : dataOf(event)];
          const renamed = (text: string): string => text.replace(/\b[0-9a-f]{64}\b/g, (name) => names.get(name) ?? name);
          const [newEnvelope, newData] = [renamed(envelope), renamed(data)];
          if (newEnvelope === envelope && newData === data) return;
          const fields = JSON.parse(newEnvelope) as Envelope;
          const question = fields.kind === "answer.given" ? (JSON.parse(newData) as DataOf<"answer.given">).question : undefined;
          const session = question === undefined ? fields.session : answerLogId(nodePlatform, question as never);
          const forged = sealed({ ...fields, session }, newData, event);
          log.events[index] = forged;
          if (question !== undefined) log.row = { ...log.row, id: session };
          names.set(event.id, forged.id);
          changed = true;
        });
      }
    }
  }
}

/** A memory store that answers from a forgery while there is one. */
export function forgeable(): Store & { forgery: Forgery | undefined } {
  const store = memoryStore();
  const forgeable = {
    ...store,
    forgery: undefined as Forgery | undefined,
    async *events(query: EventQuery) {
      if (forgeable.forgery === undefined) yield* store.events(query);
      else yield* found(forgeable.forgery, query);
    },
    async *sessions(query: LogQuery) {
      if (forgeable.forgery === undefined) yield* store.sessions(query);
      else yield* listed(forgeable.forgery, query);
    },
    async *runs(query: RunQuery) {
      if (forgeable.forgery === undefined) yield* store.runs(query);
      else yield* forgeable.forgery.runs.filter(({ id }) => query.id === undefined || query.id === id);
    },
    async blob(hash: string) {
      return forgeable.forgery === undefined ? store.blob(hash) : forgeable.forgery.blobs.get(hash);
    },
  };
  return forgeable;
}

function found(forgery: Forgery, query: EventQuery): StoredEvent[] {
  if ("ids" in query) return query.ids.flatMap((id) => forgery.events.find((event) => event.id === id) ?? []);
  if ("run" in query) return forgery.ofRun(query.run);
  const { session, from = 0, to = Number.POSITIVE_INFINITY } = query;
  const log = forgery.logs.find(({ row }) => row.id === session);
  return (log?.events ?? []).filter(({ step }) => step >= from && step <= to);
}

/** The logs asked for; their heads are what their events say. */
function listed({ logs }: Forgery, { id, run, parent }: LogQuery): LogRow[] {
  const asked = ({ row, events }: ForgedLog): boolean =>
    events.length > 0 &&
    (id === undefined || row.id.startsWith(id)) &&
    (parent === undefined || row.parent === parent) &&
    (run === undefined || events.some((event) => event.run === run));
  return logs.filter(asked).map(({ row, events }) => ({ ...row, head: events.at(-1)?.id as string }));
}

/** An event with the id that its content has; the salt stays. */
export function sealed(fields: Envelope, data: string, like: StoredEvent): StoredEvent {
  const bytes = Buffer.concat([(like.data as Uint8Array).subarray(0, saltBytes), Buffer.from(data)]);
  const envelope = envelopeText(fields, nodePlatform.sha256(bytes));
  return {
    ...like,
    id: nodePlatform.sha256(envelope),
    session: fields.session,
    step: fields.step,
    envelope: Buffer.from(envelope),
    data: bytes,
  };
}

export function envelopeOf({ envelope }: StoredEvent): Envelope {
  return JSON.parse(Buffer.from(envelope).toString()) as Envelope;
}

/** The data of an event as text. */
export function dataOf({ data }: StoredEvent): string {
  return Buffer.from((data as Uint8Array).subarray(saltBytes)).toString();
}

function textOf(event: StoredEvent): string {
  return event.data === undefined ? "" : dataOf(event);
}
