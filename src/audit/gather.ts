/**
 * Which stored events are the record of a place: its ancestors, and all that every run wrote which wrote one of them, with the
 * answers to their questions and the signals they took, until nothing is added. Of the run that a Rath keeps for effects outside
 * any workflow only the ancestors count, because it is shared by sessions that have nothing to do with each other.
 *
 * In every log the record is a prefix. What is missing or cannot be read becomes a finding.
 */
import { RathError } from "../session/errors.ts";
import { answerLogId, mailboxLogId } from "../session/id.ts";
import type { Platform } from "../session/platform.ts";
import type { LogRow, RunRow, Store, StoredEvent } from "../store/store.ts";
import { callsOf } from "./calls.ts";
import type { Entry, Finding, Inspect, Place } from "./inspect.ts";

/** Where a record is read from: a store, or a bundle that is not in one yet. */
export type Source = Pick<Store, "events" | "sessions" | "runs" | "blob">;

/** A log, and how much of it belongs to the record. */
export interface GatheredLog {
  readonly id: string;
  readonly row: LogRow | undefined;
  readonly entries: readonly Entry[];
  /** How many of its entries belong to the record. */
  readonly length: number;
  /** False when reading it failed on the way. */
  readonly whole: boolean;
}

/** A run that wrote events of the record. */
export interface GatheredRun {
  readonly id: string;
  /** No workflow: it holds effects of any session of one Rath. */
  readonly shared: boolean;
  /** Its own log, if it has one. */
  readonly log: GatheredLog | undefined;
  /** Its row as it was before its log was read, so that a run which ends meanwhile does not seem to lack its end. */
  readonly row: RunRow | undefined;
}

/** The record of a place. */
export interface Gathered {
  readonly logs: ReadonlyMap<string, GatheredLog>;
  readonly runs: ReadonlyMap<string, GatheredRun>;
  /** The events of the record by id. */
  readonly entries: ReadonlyMap<string, Entry>;
  readonly findings: readonly Finding[];
}

/** What counts as the record. */
export interface GatherOptions {
  /** The own logs of shared runs belong to it too: their statements can only be checked where all their events are. */
  readonly sharedLogs?: boolean | undefined;
  /** Hears how many more events were read. */
  readonly onEvents?: ((number: number) => void) | undefined;
}

const eventsAtOnce = 1000;

/** Finds the record of places, from a store or a bundle. */
export async function gather(
  source: Source,
  platform: Platform,
  inspect: Inspect,
  places: readonly Place[],
  options: GatherOptions = {},
): Promise<Gathered> {
  const gathering = new Gathering(source, platform, inspect, options);
  for (const { session, head } of places) await gathering.begin(session, head);
  await gathering.finish();
  return gathering.result();
}

/** Why an event is wanted. */
interface Want {
  readonly by: string;
  readonly as: string;
  readonly field: string;
}

type OpenLog = { -readonly [K in keyof GatheredLog]: GatheredLog[K] } & { readonly entries: Entry[] };

class Gathering {
  readonly logs = new Map<string, OpenLog>();
  readonly runs = new Map<string, GatheredRun>();
  readonly findings: Finding[] = [];
  readonly #source: Source;
  readonly #platform: Platform;
  readonly #inspect: Inspect;
  readonly #options: GatherOptions;
  /** All that was read. Whether it belongs to the record is told by its place in its log: a long record has no second map. */
  readonly #known = new Map<string, Entry>();
  readonly #asked = new Set<string>();
  #wanted = new Map<string, Want>();
  #newRuns: string[] = [];

  constructor(source: Source, platform: Platform, inspect: Inspect, options: GatherOptions) {
    this.#source = source;
    this.#platform = platform;
    this.#inspect = inspect;
    this.#options = options;
  }

  async begin(session: string, head: string): Promise<void> {
    await this.#load(session);
    this.#want(head, { by: head, as: `the head of session ${session}`, field: "head" });
  }

  async finish(): Promise<void> {
    do {
      while (this.#wanted.size > 0 || this.#newRuns.length > 0) {
        await this.#resolve();
        await this.#follow();
      }
    } while (await this.#findAnswers());
    await this.#takeErasures();
  }

  /** Of each erasure log as much as speaks of this record, or of contents by name. */
  async #takeErasures(): Promise<void> {
    const rows: string[] = [];
    await this.#read("erasure", this.#source.sessions({ log: "erasure" }), (row) => rows.push(row.id));
    const named = new Set<string>();
    for (const entry of this.#known.values()) if (entry.erasedBy !== undefined && this.#isTaken(entry)) named.add(entry.erasedBy);
    for (const id of rows) {
      const log = await this.#load(id);
      const last = log?.entries.findLastIndex(({ id: entry, names: { erasure } }) => {
        if (named.has(entry) || (erasure?.blobs?.length ?? 0) > 0) return true;
        return erasure?.events?.some((event) => this.#isTaken(this.#known.get(event))) === true;
      });
      if (log !== undefined && last !== undefined && last >= 0) this.#take(log, last);
    }
  }

  result(): Gathered {
    const { logs, runs, findings } = this;
    const all = [...logs.values()].every((log) => log.length === log.entries.length);
    const entries = all ? this.#known : new Map([...this.#known].filter(([, entry]) => this.#isTaken(entry)));
    return { logs, runs, entries, findings };
  }

  #isTaken(entry: Entry | undefined): boolean {
    return entry !== undefined && entry.index < (this.logs.get(entry.session)?.length ?? 0);
  }

  #want(id: string, want: Want): void {
    if (!this.#isTaken(this.#known.get(id)) && !this.#wanted.has(id)) this.#wanted.set(id, want);
  }

  async #resolve(): Promise<void> {
    const wanted = this.#wanted;
    this.#wanted = new Map();
    const unknown = [...wanted.keys()].filter((id) => !this.#known.has(id));
    if (unknown.length > 0) {
      const sessions = new Set<string>();
      await this.#read(unknown[0] as string, this.#source.events({ ids: unknown }), (event) => sessions.add(event.session));
      for (const session of sessions) await this.#load(session);
    }
    for (const [id, { by, as, field }] of wanted) {
      const entry = this.#known.get(id);
      const log = entry === undefined ? undefined : this.logs.get(entry.session);
      if (entry !== undefined && log !== undefined) this.#take(log, entry.index);
      else this.findings.push({ event: by, problem: `${as} is missing: there is no event ${id}`, field, kind: "missing" });
    }
  }

  /** Takes a log into the record up to a position. */
  #take(log: OpenLog, last: number): void {
    for (; log.length <= last; log.length++) {
      const entry = log.entries[log.length] as Entry;
      const before = log.entries[log.length - 1]?.id;
      for (const flaw of entry.flaws) this.findings.push({ event: entry.id, ...flaw });
      // Most stand on the one before them, which is taken already.
      for (const parent of entry.parents)
        if (parent !== before) this.#want(parent, { by: entry.id, as: "its parent", field: "envelope.parents" });
      const { origin, answer, signal } = entry.names;
      if (origin !== undefined)
        this.#want(origin.head, {
          by: entry.id,
          ...(entry.kind === "run.started"
            ? { as: "the input of the run", field: "data.input" }
            : { as: "what it was detached from", field: "data.from" }),
        });
      if (answer !== undefined) {
        this.#want(answer, { by: entry.id, as: "the answer it names", field: "data.answer" });
        // Only where it was given can be seen what was asked.
        if (entry.source !== undefined)
          this.#want(entry.source, {
            by: entry.id,
            as: "the result it was taken from, which was answered,",
            field: "envelope.facts.source",
          });
      }
      if (signal !== undefined) this.#want(signal, { by: entry.id, as: "the signal it took", field: "data.signal" });
      if (entry.run !== undefined && !this.#asked.has(entry.run)) {
        this.#asked.add(entry.run);
        this.#newRuns.push(entry.run);
      }
    }
  }

  /** All that a run of a workflow wrote belongs to the record, in whichever logs. */
  async #follow(): Promise<void> {
    const runs = this.#newRuns;
    this.#newRuns = [];
    for (const id of runs) {
      let row: RunRow | undefined;
      await this.#read(id, this.#source.runs({ id }), (found) => {
        row = found;
      });
      const log = await this.#load(id);
      const shared = log === undefined || isShared(log);
      this.runs.set(id, { id, shared, log, row });
      if (shared) {
        if (log !== undefined && this.#options.sharedLogs === true) this.#take(log, log.entries.length - 1);
        continue;
      }
      const rows = new Map<string, LogRow | undefined>([[id, undefined]]);
      await this.#read(id, this.#source.sessions({ run: id }), (row) => rows.set(row.id, row));
      for (const [session, row] of rows) {
        const written = await this.#load(session, row);
        if (written !== undefined)
          this.#take(written, session === id ? written.entries.length - 1 : written.entries.findLastIndex((entry) => entry.run === id));
      }
    }
  }

  /** Answers and signals that no result names: not taken yet, or they said that something may run. */
  async #findAnswers(): Promise<boolean> {
    let found = false;
    for (const log of [...this.logs.values()]) {
      for (const { call, signal, settled, started } of callsOf(log.entries.slice(0, log.length))) {
        if (settled && !started) continue;
        const id = signal === undefined ? answerLogId(this.#platform, call) : this.#mailbox(call, signal);
        if (this.#asked.has(id)) continue;
        this.#asked.add(id);
        const answer = await this.#load(id);
        if (answer === undefined || answer.length === answer.entries.length) continue;
        this.#take(answer, answer.entries.length - 1);
        found = true;
      }
    }
    return found;
  }

  #mailbox(call: string, signal: string): string {
    return mailboxLogId(this.#platform, this.#known.get(call)?.run ?? "", signal);
  }

  /** A row that was read with others is read again where the log has another head: somebody may be writing. */
  async #load(id: string, given?: LogRow): Promise<OpenLog | undefined> {
    const loaded = this.logs.get(id);
    if (loaded !== undefined) return loaded;
    const log: OpenLog = { id, row: given, entries: [], length: 0, whole: true };
    if (given === undefined) await this.#list(log);
    const events = (from: number): Promise<boolean> =>
      this.#read(id, this.#source.events({ session: id, from }), (event) => this.#add(log, event));
    if (!(await events(0))) log.whole = false;
    const last = log.entries.at(-1);
    if (log.whole && given !== undefined && last !== undefined && last.id !== given.head) await this.#list(log);
    if (log.whole && last !== undefined && log.row !== undefined && !this.#known.has(log.row.head) && !(await events(last.step + 1)))
      log.whole = false;
    if (log.row === undefined && log.entries.length === 0) return undefined;
    this.logs.set(id, log);
    return log;
  }

  async #list(log: OpenLog): Promise<void> {
    const listed = await this.#read(log.id, this.#source.sessions({ id: log.id }), (row) => {
      if (row.id === log.id) log.row = row;
    });
    if (!listed) log.whole = false;
  }

  #add(log: OpenLog, event: StoredEvent): void {
    const other = this.#known.get(event.id);
    if (other !== undefined) {
      this.findings.push({
        event: event.id,
        problem: `it is stored twice: in log ${other.session} and in log ${log.id}`,
        kind: "moved",
      });
      return;
    }
    const entry = this.#inspect(event, log.entries.length);
    this.#known.set(event.id, entry);
    log.entries.push(entry);
    if (this.#known.size % eventsAtOnce === 0) this.#options.onEvents?.(eventsAtOnce);
  }

  /** Reads as far as it can; why not to the end is a finding about `about`. */
  async #read<T>(about: string, items: AsyncIterable<T>, each: (item: T) => void): Promise<boolean> {
    try {
      for await (const item of items) each(item);
      return true;
    } catch (error) {
      if (!RathError.is(error, "store.corrupt")) throw error;
      this.findings.push({ event: about, problem: `it cannot be read: ${error.message}`, kind: "unreadable" });
      return false;
    }
  }
}

/** A shared run never started: it says of itself only what it signed, opened and found. */
function isShared({ entries: [first] }: GatheredLog): boolean {
  return first?.kind !== undefined && first.kind !== "run.started" && first.parents.length === 0;
}
