/** The store in this process's memory: the same contract, gone at exit. For tests and for sessions that nobody needs to keep. */
import { RathError } from "../session/errors.ts";
import { numberOf, placeAt } from "./feed-place.ts";
import type {
  BranchWrite,
  EventQuery,
  Fed,
  Lease,
  LogAbout,
  LogPlace,
  LogQuery,
  LogRow,
  RemoveOptions,
  RunQuery,
  RunRow,
  Store,
  StoredEvent,
  SweepOptions,
  TakenRun,
  TakeQuery,
  Write,
  Written,
} from "./store.ts";

/** How a store in memory is made. */
export interface MemoryOptions {
  /** Milliseconds since 1970, for leases and for the age of blobs. */
  readonly clock?: (() => number) | undefined;
}

interface Log {
  about: LogAbout;
  readonly created: string;
  readonly events: StoredEvent[];
}

interface Run {
  row: RunRow;
  epoch: number;
  owner: string | undefined;
  expires: number;
  /** Since when it has news. */
  woken: string | undefined;
}

interface State {
  /** In order of creation, as Maps are. */
  readonly logs: Map<string, Log>;
  readonly runs: Map<string, Run>;
  readonly blobs: Map<string, { readonly bytes: Uint8Array; touched: number }>;
  readonly byId: Map<string, { readonly log: Log; readonly at: number }>;
  /** What each write added to each log. Numbers grow by one; those of removed logs are left out. */
  feed: { readonly no: number; readonly log: Log; readonly from: number; readonly to: number }[];
  fedTo: number;
}

/**
 * An empty store.
 *
 * @example
 * await using store = memoryStore();
 * await store.append({ branches: [{ session: "s", expectedHead: undefined, events }] });
 */
export function memoryStore(options: MemoryOptions = {}): Store {
  const { clock = Date.now } = options;
  const state: State = { logs: new Map(), runs: new Map(), blobs: new Map(), byId: new Map(), feed: [], fedTo: 0 };
  let closed = false;

  const open = (): State => {
    if (closed) throw new RathError("store.closed", "The memory store is closed. Make another one with memoryStore.");
    return state;
  };

  return {
    kind: "memory",
    append: async (write) => append(open(), write, clock()),
    events: (query) => stream(() => events(open(), query), copy),
    feed: ({ after }) => feed(open, after),
    fedTo: async () => placeAt(open().fedTo),
    sessions: (query) => stream(() => logs(open(), query)),
    branches: async (parents) => branches(open(), parents),
    runs: (query) => stream(() => runs(open(), query, clock())),
    claim: async (id, worker, forMs, { from } = {}) => {
      const run = open().runs.get(id);
      if (run === undefined) return undefined;
      const held = run.owner !== undefined && run.owner !== worker && run.owner !== from && run.expires > clock();
      return held ? undefined : taken(run, worker, { now: clock(), forMs });
    },
    take: async (query, worker, forMs) => take(open(), query, worker, { now: clock(), forMs }),
    renew: async ({ run: id, epoch }, forMs) => {
      const run = open().runs.get(id);
      if (run?.owner === undefined || run.epoch !== epoch) return undefined;
      run.expires = clock() + forMs;
      run.woken = undefined;
      return lease(run);
    },
    release: async ({ run: id, epoch }) => {
      const run = open().runs.get(id);
      if (run?.epoch === epoch) run.owner = undefined;
    },
    blob: async (hash) => {
      const found = open().blobs.get(hash);
      return found && new Uint8Array(found.bytes);
    },
    erase: async (ids, entry) => erase(open(), ids, entry),
    remove: async (logs, options) => remove(open(), logs, options),
    sweep: (options) => sweep(open, clock, options),
    [Symbol.asyncDispose]: async () => {
      closed = true;
    },
  };
}

function append(state: State, write: Write, now: number): Written {
  const refused = judge(state, write);
  if (refused !== undefined) return refused;
  for (const branch of write.branches) addEvents(state, branch, now);
  for (const { hash, bytes } of write.blobs ?? []) {
    const known = state.blobs.get(hash);
    if (known === undefined) state.blobs.set(hash, { bytes: new Uint8Array(bytes), touched: now });
    else known.touched = now;
  }
  if (write.run !== undefined) {
    const { owner: _, woken: __, claimed: ___, ...row } = write.run;
    const known = state.runs.get(row.id);
    if (known === undefined) state.runs.set(row.id, { row, epoch: 0, owner: undefined, expires: 0, woken: undefined });
    else known.row = row;
  }
  const held = write.release === true && write.lease !== undefined ? state.runs.get(write.lease.run) : undefined;
  if (held !== undefined) held.owner = undefined;
  for (const id of write.wake ?? []) {
    const run = state.runs.get(id);
    if (run !== undefined) run.woken ??= new Date(now).toISOString();
  }
  return { ok: true };
}

/** Everything that can refuse a write, before any of it is stored. */
function judge({ logs, runs }: State, { branches, lease, run }: Write): Written | undefined {
  if (lease !== undefined) {
    const epoch = runs.get(lease.run)?.epoch;
    if (epoch !== lease.epoch) return { ok: false, reason: "epoch", epoch: epoch ?? 0 };
  }
  const heads = new Map<string, string | undefined>();
  for (const { session, expectedHead, events } of branches) {
    const head = heads.has(session) ? heads.get(session) : logs.get(session)?.events.at(-1)?.id;
    if (head !== expectedHead) return { ok: false, reason: "head", session, head };
    heads.set(session, events.at(-1)?.id ?? head);
    const foreign = events.find((event) => event.session !== session);
    if (foreign)
      throw new RathError(
        "event.invalid",
        `Event ${foreign.id} belongs to session ${foreign.session} and cannot be appended to ${session}.`,
      );
  }
  const holder = run?.key === undefined ? undefined : [...runs.values()].find(({ row }) => row.key === run.key && row.id !== run.id);
  if (holder && run)
    throw new RathError(
      "store.conflict",
      `Run ${run.id} was not stored: its key "${run.key}" belongs to run ${holder.row.id}. Use that run, or another key.`,
    );
  return undefined;
}

function addEvents(state: State, { session, events, about }: BranchWrite, now: number): void {
  const { logs, byId } = state;
  if (events.length === 0) return;
  const log = logs.get(session) ?? {
    about: { ...(about ?? { log: "session" }), tags: [...(about?.tags ?? [])] },
    created: new Date(now).toISOString(),
    events: [],
  };
  logs.set(session, log);
  state.feed.push({ no: ++state.fedTo, log, from: log.events.length, to: log.events.length + events.length });
  for (const event of events) {
    byId.set(event.id, { log, at: log.events.length });
    log.events.push(copy(event));
  }
}

function events(state: State, query: EventQuery): StoredEvent[] {
  if ("ids" in query) {
    return query.ids.flatMap((id) => {
      const found = state.byId.get(id);
      return found ? [found.log.events[found.at] as StoredEvent] : [];
    });
  }
  if ("run" in query) {
    const { run, after = Number.NEGATIVE_INFINITY } = query;
    const written = [...state.logs.values()].flatMap((log) => log.events.filter((event) => event.run === run && event.order > after));
    return written.sort((a, b) => a.order - b.order);
  }
  const { session, from = 0, to = Number.POSITIVE_INFINITY } = query;
  return (state.logs.get(session)?.events ?? []).filter(({ step }) => step >= from && step <= to);
}

/** Ends where the feed ended when reading began. */
async function* feed(open: () => State, after: string | undefined): AsyncGenerator<Fed, void> {
  const last = open().fedTo;
  for (let no = numberOf(after, last); ; ) {
    const next = open().feed[firstAfter(open().feed, no)];
    if (next === undefined || next.no > last) return;
    no = next.no;
    yield { place: placeAt(no), events: next.log.events.slice(next.from, next.to).map(copy) };
  }
}

function firstAfter(feed: State["feed"], no: number): number {
  let [low, high] = [0, feed.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((feed[middle]?.no as number) > no) high = middle;
    else low = middle + 1;
  }
  return low;
}

function logs(state: State, query: LogQuery): LogRow[] {
  const all = query.newestFirst === true ? [...state.logs].reverse() : [...state.logs];
  const start = query.after === undefined ? 0 : all.findIndex(([id]) => id === query.after) + 1;
  if (start === 0 && query.after !== undefined) return [];
  const parents = query.parent === undefined ? undefined : new Set([query.parent].flat());
  const except = new Set(query.except);
  const fits = ([id, { about, events }]: [string, Log]): boolean =>
    (query.id === undefined || id.startsWith(query.id)) &&
    (parents === undefined || (about.parent !== undefined && parents.has(about.parent))) &&
    !except.has(id) &&
    (query.log === undefined || about.log === query.log) &&
    (query.tag === undefined || (about.tags?.includes(query.tag) ?? false)) &&
    (query.run === undefined || events.some(({ run }) => run === query.run));
  return all
    .slice(start)
    .filter(fits)
    .map(([id, { about, created, events }]) => ({
      ...about,
      created,
      tags: [...(about.tags ?? [])],
      id,
      head: (events.at(-1) as StoredEvent).id,
      run: events[0]?.run,
    }));
}

function branches({ logs }: State, parents: readonly string[]): ReadonlyMap<string, number> {
  const [asked, counts] = [new Set(parents), new Map<string, number>()];
  for (const { about } of logs.values())
    if (about.log === "session" && about.parent !== undefined && asked.has(about.parent))
      counts.set(about.parent, (counts.get(about.parent) ?? 0) + 1);
  return counts;
}

function runs(state: State, query: RunQuery, now: number): RunRow[] {
  const { id, key, workflow, dueBefore, owner, woken, after, newestFirst } = query;
  const statuses = query.status === undefined ? undefined : [query.status].flat();
  const sessions = query.session === undefined ? undefined : new Set([query.session].flat());
  const all = newestFirst === true ? [...state.runs.values()].reverse() : [...state.runs.values()];
  const last = after === undefined ? -1 : all.findIndex(({ row }) => row.id === after);
  if (after !== undefined && last < 0) return [];
  return all
    .slice(last + 1)
    .filter(({ row }) => (id === undefined || row.id === id) && (key === undefined || row.key === key))
    .filter(({ row }) => (sessions === undefined || sessions.has(row.session)) && (workflow === undefined || row.workflow === workflow))
    .filter(({ row }) => statuses === undefined || statuses.includes(row.status))
    .filter(({ row }) => dueBefore === undefined || (row.wakeAt !== undefined && row.wakeAt < dueBefore))
    .map((run) => rowOf(run, now))
    .filter((row) => (owner === undefined || row.owner === owner) && (woken === undefined || row.woken === true));
}

function rowOf({ row, epoch, owner, expires, woken }: Run, now: number): RunRow {
  const lease = { owner: expires > now ? owner : undefined, ...(epoch === 0 ? {} : { claimed: true }) };
  return { ...row, ...lease, ...(woken === undefined ? {} : { woken: true }) };
}

/** The most urgent of those that are due and that the worker knows. */
function take(
  state: State,
  { workflows, limit }: TakeQuery,
  worker: string,
  { now, forMs }: { readonly now: number; readonly forMs: number },
): TakenRun[] {
  const time = new Date(now).toISOString();
  const isDue = (run: Run): boolean => dueSince(run) <= time && workflows.includes(run.row.workflow);
  return [...state.runs.values()]
    .filter(isDue)
    .sort((a, b) => (b.row.priority ?? 0) - (a.row.priority ?? 0) || compare(dueSince(a), dueSince(b)))
    .slice(0, Math.max(0, limit))
    .map((run) => {
      const lease = taken(run, worker, { now, forMs });
      return { row: rowOf(run, now), lease };
    });
}

/** News or its own time, whichever came first, or when its holder let it go; a time after all others if it has none of them. */
function dueSince({ row: { wakeAt = never }, woken = never, owner, expires }: Run): string {
  if (owner !== undefined) return new Date(expires).toISOString();
  return wakeAt < woken ? wakeAt : woken;
}

const never = "~";

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function taken(run: Run, worker: string, { now, forMs }: { readonly now: number; readonly forMs: number }): Lease {
  const abandoned = run.owner !== undefined && (run.owner !== worker || run.expires <= now);
  Object.assign(run, { epoch: run.epoch + 1, owner: worker, expires: now + forMs, woken: undefined });
  return abandoned ? { ...lease(run), abandoned } : lease(run);
}

function erase({ byId }: State, ids: readonly string[], entry: string): void {
  for (const id of ids) {
    const found = byId.get(id);
    if (found === undefined) continue;
    const event = found.log.events[found.at] as StoredEvent;
    found.log.events[found.at] = { ...event, data: undefined, erased: event.data === undefined ? event.erased : entry };
    if (found.at === 0) found.log.about = { ...found.log.about, title: undefined, tags: [] };
  }
}

function remove(state: State, removed: readonly LogPlace[], { after }: RemoveOptions = {}): boolean {
  const { logs, runs, byId } = state;
  const ids = new Set(removed.map(({ session }) => session));
  const gone = new Set(removed.map(({ session }) => logs.get(session)));
  const grown = removed.some(({ session, head }) => logs.get(session)?.events.at(-1)?.id !== head);
  const continued = [...logs].some(([id, { about }]) => !ids.has(id) && about.parent !== undefined && ids.has(about.parent));
  if (grown || continued || (after !== undefined && hasSince(state, after))) return false;
  state.feed = state.feed.filter(({ log }) => !gone.has(log));
  for (const id of ids) {
    for (const event of logs.get(id)?.events ?? []) byId.delete(event.id);
    logs.delete(id);
    runs.delete(id);
  }
  return true;
}

/** Something was appended after a place that somebody may need a log for. */
function hasSince({ feed, fedTo }: State, after: string): boolean {
  return feed.slice(firstAfter(feed, numberOf(after, fedTo))).some(({ log }) => log.about.log !== "erasure");
}

async function* sweep(
  open: () => State,
  clock: () => number,
  { before, dryRun, keeping }: SweepOptions,
): AsyncGenerator<{ readonly hash: string; readonly bytes: number }, void> {
  const oldest = before === undefined ? clock() : Date.parse(before);
  const seen = new Map<string, number>();
  let kept = (_: string): boolean => true;
  const look = async (): Promise<void> => {
    for (let more = unseen(open(), seen); more.length > 0; more = unseen(open(), seen)) kept = await keeping(stream(() => more, copy));
  };
  const first = unseen(open(), seen);
  kept = await keeping(stream(() => first, copy));
  for (const [hash, blob] of [...open().blobs]) {
    // All is looked at now: somebody may have put or named it while the one before was handed out.
    if (!dryRun) await look();
    if (blob.touched >= oldest || kept(hash)) continue;
    if (!dryRun) open().blobs.delete(hash);
    yield { hash, bytes: blob.bytes.length };
  }
}

/** What was appended since it was last asked. */
function unseen({ logs }: State, seen: Map<string, number>): StoredEvent[] {
  const more: StoredEvent[] = [];
  for (const [id, { events }] of logs) {
    for (let at = seen.get(id) ?? 0; at < events.length; at++) more.push(events[at] as StoredEvent);
    seen.set(id, events.length);
  }
  return more;
}

/** What was there when reading began; events are copied when they are handed out. */
async function* stream<T>(read: () => T[], copied: (item: T) => T = (item) => item): AsyncGenerator<T, void> {
  for (const item of read()) yield copied(item);
}

/** The envelope is what is kept: parts that another store had of it are not. */
function copy({ parts: _, ...event }: StoredEvent): StoredEvent {
  return { ...event, envelope: new Uint8Array(event.envelope), data: event.data && new Uint8Array(event.data) };
}

function lease({ row, epoch, expires }: Run): Lease {
  return { run: row.id, epoch, expires: new Date(expires).toISOString() };
}
