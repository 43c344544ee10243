/** A store as somebody else would write it: a plain object over maps that stand for a server. Everything is copied on its way in and out. */
import { RathError } from "openrath";
import type { Fed, Lease, LogAbout, RunRow, Store, StoredEvent, Write, Written } from "openrath/store";

interface Log {
  readonly about: LogAbout;
  readonly run: string | undefined;
  readonly events: StoredEvent[];
}
interface Held {
  row: RunRow;
  epoch: number;
  owner: string | undefined;
  until: number;
  /** Since when it has news. */
  woken: string | undefined;
}

export function redisStore(url: string): Store {
  const logs = new Map<string, Log>();
  const runs = new Map<string, Held>();
  const blobs = new Map<string, Uint8Array>();
  const fed: Fed[] = [];
  const placeAt = (count: number): string => String(count).padStart(9, "0");
  let closed = false;
  const check = (): void => {
    if (closed) throw new RathError("store.closed", `The store at ${url} is closed.`);
  };

  function refusal({ branches, lease, run }: Write): Written | undefined {
    const epoch = lease && runs.get(lease.run)?.epoch;
    if (epoch !== lease?.epoch) return { ok: false, reason: "epoch", epoch: epoch ?? 0 };
    const heads = new Map<string, string | undefined>();
    for (const { session, expectedHead, events } of branches) {
      const head = heads.has(session) ? heads.get(session) : logs.get(session)?.events.at(-1)?.id;
      if (head !== expectedHead) return { ok: false, reason: "head", session, head };
      heads.set(session, events.at(-1)?.id ?? head);
    }
    const taken = run?.key !== undefined && [...runs.values()].some(({ row }) => row.key === run.key && row.id !== run.id);
    if (taken) throw new RathError("store.conflict", `Key "${run.key}" belongs to another run.`);
    return undefined;
  }

  const rowOf = ({ row, epoch, owner, until, woken }: Held): RunRow => ({
    ...row,
    owner: until > Date.now() ? owner : undefined,
    ...(epoch === 0 ? {} : { claimed: true }),
    ...(woken === undefined ? {} : { woken: true }),
  });

  function takeOver(run: Held, worker: string, forMs: number): Lease {
    const abandoned = run.owner !== undefined && (run.owner !== worker || run.until <= Date.now());
    Object.assign(run, { epoch: run.epoch + 1, owner: worker, until: Date.now() + forMs, woken: undefined });
    const lease = { run: run.row.id, epoch: run.epoch, expires: new Date(run.until).toISOString() };
    return abandoned ? { ...lease, abandoned } : lease;
  }

  async function* read<T>(items: () => Iterable<T>): AsyncGenerator<T, void> {
    check();
    for (const item of [...items()]) yield structuredClone(item);
  }

  return {
    async append(write) {
      check();
      const refused = refusal(write);
      if (refused !== undefined) return refused;
      for (const { session, events, about } of structuredClone(write.branches)) {
        const log = logs.get(session) ?? {
          about: { ...(about ?? { log: "session" }), tags: about?.tags ?? [] },
          run: events[0]?.run,
          events: [],
        };
        log.events.push(...events);
        if (events.length > 0) fed.push({ place: placeAt(fed.length + 1), events });
        if (log.events.length > 0) logs.set(session, log);
      }
      for (const { hash, bytes } of write.blobs ?? []) blobs.set(hash, structuredClone(bytes));
      if (write.run !== undefined) {
        const held = runs.get(write.run.id) ?? { row: write.run, epoch: 0, owner: undefined, until: 0, woken: undefined };
        const { owner: _, woken: __, claimed: ___, ...row } = structuredClone(write.run);
        runs.set(row.id, Object.assign(held, { row }));
      }
      const released = write.release && write.lease && runs.get(write.lease.run);
      if (released) released.owner = undefined;
      for (const id of write.wake ?? []) {
        const run = runs.get(id);
        if (run !== undefined) run.woken ??= new Date().toISOString();
      }
      return { ok: true };
    },
    events: (query) =>
      read(function* () {
        const all = [...logs.values()].flatMap((log) => log.events);
        if ("ids" in query) for (const id of query.ids) yield* all.filter((event) => event.id === id);
        else if ("run" in query) {
          const { run, after = Number.NEGATIVE_INFINITY } = query;
          yield* all.filter((event) => event.run === run && event.order > after).sort((a, b) => a.order - b.order);
        } else {
          const { session, from = 0, to = Number.POSITIVE_INFINITY } = query;
          yield* (logs.get(session)?.events ?? []).filter(({ step }) => step >= from && step <= to);
        }
      }),
    feed: ({ after = placeAt(0) }) =>
      read(() => {
        if (!/^\d{9}$/.test(after) || after > placeAt(fed.length)) throw new RathError("stream.gone", `The feed has no place ${after}.`);
        return fed.slice(Number(after));
      }),
    async fedTo() {
      check();
      return placeAt(fed.length);
    },
    sessions: ({ id = "", parent, except, run, tag, log: sort, newestFirst, after }) =>
      read(function* () {
        let passed = after === undefined;
        for (const [name, { about, run: creator, events }] of newestFirst ? [...logs].reverse() : logs) {
          const continues = parent === undefined || [parent].flat().some((one) => one === about.parent);
          const fits = name.startsWith(id) && continues && except?.includes(name) !== true && (sort ?? about.log) === about.log;
          const wanted =
            (tag === undefined || about.tags?.includes(tag)) && (run === undefined || events.some((event) => event.run === run));
          if (passed && fits && wanted) yield { ...about, id: name, head: events.at(-1)?.id ?? "", run: creator };
          passed ||= name === after;
        }
      }),
    async branches(parents) {
      check();
      const continuing = [...logs.values()].flatMap(({ about }) => (about.log === "session" && about.parent) || []);
      const counts = parents.map((id) => [id, continuing.filter((parent) => parent === id).length] as const);
      return new Map(counts.filter(([, count]) => count > 0));
    },
    runs: ({ id, status, key, session, workflow, dueBefore, owner, woken, after, newestFirst }) =>
      read(function* () {
        const rows = [...runs.values()].map(rowOf);
        if (newestFirst) rows.reverse();
        const last = rows.findIndex((row) => row.id === after);
        for (const row of after !== undefined && last < 0 ? [] : rows.slice(last + 1)) {
          const named = (id ?? row.id) === row.id && (key ?? row.key) === row.key && [status ?? row.status].flat().includes(row.status);
          const fits = named && [session ?? row.session].flat().includes(row.session) && (workflow ?? row.workflow) === row.workflow;
          const due = dueBefore === undefined || (row.wakeAt !== undefined && row.wakeAt < dueBefore);
          if (fits && due && (owner ?? row.owner) === row.owner && (woken ?? row.woken) === row.woken) yield row;
        }
      }),
    async claim(id, worker, forMs, { from } = {}) {
      check();
      const run = runs.get(id);
      const held = run?.owner !== undefined && run.owner !== worker && run.owner !== from && run.until > Date.now();
      return run === undefined || held ? undefined : takeOver(run, worker, forMs);
    },
    async take({ workflows, limit }, worker, forMs) {
      check();
      const now = new Date().toISOString();
      const since = ({ row, woken, owner, until }: Held): string =>
        owner === undefined ? ([row.wakeAt ?? "never", woken ?? "never"].sort()[0] as string) : new Date(until).toISOString();
      return [...runs.values()]
        .filter((run) => workflows.includes(run.row.workflow) && since(run) <= now)
        .sort((a, b) => (b.row.priority ?? 0) - (a.row.priority ?? 0) || since(a).localeCompare(since(b)))
        .slice(0, Math.max(0, limit))
        .map((run) => {
          const lease = takeOver(run, worker, forMs);
          return structuredClone({ row: rowOf(run), lease });
        });
    },
    async renew({ run: id, epoch }, forMs) {
      check();
      const run = runs.get(id);
      if (run?.owner === undefined || run.epoch !== epoch) return undefined;
      Object.assign(run, { until: Date.now() + forMs, woken: undefined });
      return { run: id, epoch, expires: new Date(run.until).toISOString() };
    },
    async release({ run: id, epoch }) {
      check();
      const run = runs.get(id);
      if (run?.epoch === epoch) run.owner = undefined;
    },
    async blob(hash) {
      check();
      return structuredClone(blobs.get(hash));
    },
    async [Symbol.asyncDispose]() {
      closed = true;
    },
  };
}
