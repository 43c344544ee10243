/**
 * Retention: sessions that nobody has touched for long enough are let go, with the logs of their runs, answers and signals. What a kept
 * session needs to be read and verified stays, however old: the logs its events come from, and everything that the runs wrote which
 * made them. An open run keeps what it works on.
 *
 * Logs go whole or not at all: a log is kept when a kept session stands on any event of it.
 */
import { dataText, parseEnvelope } from "../session/codec.ts";
import { durationMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { answerLogId } from "../session/id.ts";
import type { Platform } from "../session/platform.ts";
import type { Duration } from "../session/span.ts";
import type { LogRow, Store } from "../store/store.ts";
import { addErasure } from "./erasure-log.ts";
import { scrub } from "./finish-erasures.ts";
import { hasEnded } from "./run-row.ts";
import type { Runtime } from "./runtime.ts";

export interface RetentionOptions {
  readonly sessionsOlderThan?: Duration | undefined;
  readonly tag?: string | undefined;
  readonly keepTag?: string | undefined;
  readonly by?: string | undefined;
  readonly dryRun: boolean;
}

export interface LetGo {
  readonly sessions: readonly string[];
  /** Old enough, and kept all the same. */
  readonly held: readonly string[];
  /** Every log that went, or would. */
  readonly removed: ReadonlySet<string>;
  readonly entry: string | undefined;
}

/** How often it is looked again when sessions are continued meanwhile. */
const tries = 5;

export async function letGo(runtime: Runtime, options: RetentionOptions): Promise<LetGo> {
  const { sessionsOlderThan, dryRun, by = "user" } = options;
  const nothing: LetGo = { sessions: [], held: [], removed: new Set(), entry: undefined };
  if (sessionsOlderThan === undefined) return nothing;
  const store = await runtime.store();
  if (store.remove === undefined) throw new RathError("erase.unsupported", "This store cannot remove sessions: it has no remove.");
  const before = new Date(Date.parse(runtime.platform.time()) - durationMs(sessionsOlderThan)).toISOString();
  for (let i = 0; i < tries; i++) {
    const logs = await new Logs(runtime.platform, store).read();
    const { sessions, held, removed } = logs.unneeded(before, options);
    if (dryRun || removed.size === 0) return { sessions, held, removed, entry: undefined };
    const listed = [...removed].map((session) => ({ session, head: logs.rows.get(session)?.head ?? "" }));
    const entry = await addErasure(runtime, by, { reason: reasonOf(options), logs: listed });
    const done = await store.remove(listed);
    // Otherwise whoever collects garbage next finds the entry open, and cleans up.
    if (!done || (await scrub(store))) await addErasure(runtime, "runtime", { done: [entry] });
    if (done) return { sessions, held, removed, entry };
  }
  throw new RathError(
    "store.conflict",
    "Sessions that were to go were continued again and again meanwhile: nothing was removed. Try again.",
    {
      retryable: true,
    },
  );
}

function reasonOf({ sessionsOlderThan, tag, keepTag }: RetentionOptions): string {
  return `retention: older than ${sessionsOlderThan}${tag === undefined ? "" : `, tag ${tag}`}${keepTag === undefined ? "" : `, not tag ${keepTag}`}`;
}

/** Every log, when it was last touched, and which others it needs. */
class Logs {
  readonly rows = new Map<string, LogRow>();
  readonly #platform: Platform;
  readonly #store: Store;
  /** The newest time that a log tells itself. Forks, merges and what workflows say have the time of what they were made of. */
  readonly #newest = new Map<string, string>();
  /** The run that wrote the last event of a log. */
  readonly #lastRun = new Map<string, string | undefined>();
  readonly #needs = new Map<string, Set<string>>();
  /** The logs that a run wrote to. */
  readonly #written = new Map<string, Set<string>>();
  /** Logs of what has not ended. */
  readonly #open = new Set<string>();

  constructor(platform: Platform, store: Store) {
    this.#platform = platform;
    this.#store = store;
  }

  async read(): Promise<this> {
    for await (const row of this.#store.sessions({})) this.rows.set(row.id, row);
    const crossings = new Map<string, Set<string>>();
    for (const id of this.rows.keys()) await this.#readLog(id, crossings);
    for await (const { id, session } of this.#store.events({ ids: [...crossings.keys()] }))
      for (const log of crossings.get(id) ?? []) this.#need(log, session);
    for (const [run, logs] of this.#written)
      for (const log of logs) {
        this.#need(log, run);
        this.#need(run, log);
      }
    for await (const { id, status, session } of this.#store.runs({}))
      if (!hasEnded(status)) for (const log of [id, session, ...(this.#written.get(id) ?? [])]) this.#open.add(log);
    return this;
  }

  async #readLog(log: string, crossings: Map<string, Set<string>>): Promise<void> {
    const cross = (event: string): unknown => crossings.get(event)?.add(log) ?? crossings.set(event, new Set([log]));
    let last: string | undefined;
    for await (const { id, run, envelope, data } of this.#store.events({ session: log })) {
      const { parents, at, kind } = parseEnvelope(this.#platform.text(envelope));
      for (const parent of parents) if (parent !== last) cross(parent);
      last = id;
      if (at > (this.#newest.get(log) ?? "")) this.#newest.set(log, at);
      if (run !== undefined) this.#written.set(run, (this.#written.get(run) ?? new Set()).add(log));
      this.#lastRun.set(log, run);
      const answer = answerLogId(this.#platform, id);
      if (this.rows.has(answer)) this.#need(log, answer);
      const named = data === undefined ? {} : namedIn(kind, dataText(this.#platform, data));
      if (named.event !== undefined) cross(named.event);
      // A mailbox goes with the run whose signals it holds.
      if (named.run !== undefined) this.#need(named.run, log);
    }
  }

  #need(log: string, other: string): void {
    if (log === other || !this.rows.has(other)) return;
    this.#needs.set(log, (this.#needs.get(log) ?? new Set()).add(other));
  }

  unneeded(before: string, options: RetentionOptions): Omit<LetGo, "entry"> {
    const old = new Set(
      [...this.rows.values()].filter((row) => row.log === "session" && this.#isOld(row, before, options)).map(({ id }) => id),
    );
    const roots = [...this.rows.values()].filter(({ id, log }) => this.#open.has(id) || (log === "session" && !old.has(id)));
    const kept = this.#reach(roots.map(({ id }) => id));
    const candidates = this.#reach([...old].filter((id) => !kept.has(id)));
    const removed = new Set([...candidates].filter((id) => !kept.has(id) && this.rows.get(id)?.log !== "erasure"));
    return { sessions: [...old].filter((id) => removed.has(id)), held: [...old].filter((id) => !removed.has(id)), removed };
  }

  #isOld(row: LogRow, before: string, { tag, keepTag }: RetentionOptions): boolean {
    if (this.#touched(row) >= before) return false;
    return (tag === undefined || this.#isTagged(row, tag)) && !(keepTag !== undefined && this.#isTagged(row, keepTag));
  }

  /** When it was made here or last changed, whichever is later, as far as anything tells. */
  #touched({ id, created = "" }: LogRow): string {
    // What a run says in its own log has the time at which it is said, and it is said after the rest.
    const times = [created, this.#newest.get(id), this.#newest.get(this.#lastRun.get(id) ?? "")];
    return times.reduce<string>((latest, time = "") => (time > latest ? time : latest), "");
  }

  /** Forks have the tags of what they were forked from. */
  #isTagged(row: LogRow, tag: string): boolean {
    let at: LogRow | undefined = row;
    while (at !== undefined && at.tags?.includes(tag) !== true) at = at.parent === undefined ? undefined : this.rows.get(at.parent);
    return at !== undefined;
  }

  #reach(from: readonly string[]): Set<string> {
    const reached = new Set(from); // grows while it is walked
    for (const log of reached) for (const other of this.#needs.get(log) ?? []) reached.add(other);
    return reached;
  }
}

/** What an event names that is not its parent: where a detached session comes from, what a run was given, whose signal it is. */
function namedIn(kind: string, text: string): { readonly event?: string | undefined; readonly run?: string | undefined } {
  if (kind !== "session.detached" && kind !== "run.started" && kind !== "signal.sent") return {};
  const data = JSON.parse(text) as {
    readonly from?: { readonly head: string };
    readonly input?: { readonly head: string };
    readonly run?: string;
  };
  return kind === "signal.sent" ? { run: data.run } : { event: data.from?.head ?? data.input?.head };
}
