/**
 * Finds text in what is on record. An index beside the store says which events may have it; those are read and looked at. Without an
 * index, or where it cannot help, all events are read, and the index is filled with what passes by.
 */
import type { Rath } from "../runtime/rath.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { openTextIndex } from "../runtime/text-index.ts";
import { dataText } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { EventKind } from "../session/event.ts";
import { givenOptions } from "../session/given.ts";
import type { Session } from "../session/session.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import type { IndexedTo, TextIndex } from "../store/text-index.ts";
import { isInGit } from "../workspace/git-folder.ts";
import { broughtIn, type Fresh, freshOnce, hasFile, inWalk, type Thing } from "./grep-files.ts";
import { type ChosenLog, chosenFrom, Filling, goneSince } from "./grep-index.ts";
import { type Pattern, type PatternOptions, patternOf } from "./grep-pattern.ts";
import { runtimeBehind, type ScopedLog, scopeOf } from "./grep-scope.ts";
import { type EventTexts, textsIn, textsOfBlob } from "./grep-text.ts";

/** Where to look, and how. */
export interface GrepOptions {
  /** The pattern is a regular expression, matched line by line. */
  readonly regex?: boolean | undefined;
  /** Upper and lower case are the same. */
  readonly ignoreCase?: boolean | undefined;
  /** Only events of these kinds. */
  readonly kind?: EventKind | readonly EventKind[] | undefined;
  /** Only what this agent, workflow or person did: the name, or the last part of it. */
  readonly by?: string | undefined;
  /** Only this log: the id of a session, a run or an answer, or a beginning of it that only one has. */
  readonly session?: string | undefined;
  /** Only what happened from this time on, and before that one. */
  readonly since?: Date | string | undefined;
  readonly until?: Date | string | undefined;
  /** A text in a blob, and a file, is a hit in every log that names it, not in the first of them alone. */
  readonly eachLog?: boolean | undefined;
  /** No more hits than this. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called now and then with how many more events were read. */
  readonly onProgress?: ((events: number) => void) | undefined;
}

/** A line in which the pattern was found. */
export interface GrepHit {
  readonly session: string;
  readonly step: number;
  readonly event: string;
  readonly kind: EventKind;
  readonly by: string;
  readonly at: string;
  /** Where in the event's data, like "parts[0].text"; of a file its path. */
  readonly where: string;
  /** It is in a file that the event brought in. */
  readonly file: boolean;
  /** The line of that text, from 1. */
  readonly line: number;
  /** The line, or what of a long one stands around the match. */
  readonly excerpt: string;
  /** Where in the excerpt the first match begins and ends. */
  readonly start: number;
  readonly end: number;
}

/**
 * Finds a text in messages, replies, inputs and outputs of tools, output of commands, notes, reasons, memories and files: of a session
 * with all its branches, or of everything a Rath has. Hits come one a line, log by log and in the order of events, the first ones at once. A text
 * in a blob, and a file, is a hit where an event first names it. What was erased, and what lies in a `.git`, is no hit. Where a log is
 * damaged, what others have is found all the same, and `store.corrupt` is thrown after the last hit. The first search
 * reads everything, and fills the index after the last hit; the next ones read only what may match, where the store has an index (in memory it has none), and the pattern
 * has three characters that must be there.
 *
 * A regular expression is JavaScript's and is given two seconds for each portion of what is stored; one that needs more is refused with
 * `value.unsupported`.
 *
 * @example
 * for await (const { session, step, by, excerpt } of grep(rath, "connection refused", { ignoreCase: true, limit: 20 }))
 *   console.log(session, step, by, excerpt);
 */
export async function* grep(asked: Rath | Session, pattern: string, options: GrepOptions = {}): AsyncGenerator<GrepHit, void> {
  givenOptions(options, known, "grep");
  const wanted = patternOf(pattern, options satisfies PatternOptions);
  const filter = filterOf(options);
  const runtime = runtimeBehind(asked);
  runtime.assertOpen();
  const scope = await scopeOf(asked, runtime, options.session);
  const { limit = Number.POSITIVE_INFINITY, signal } = options;
  if (limit <= 0) return;
  let found = 0;
  for await (const hit of new Searching(runtime, await runtime.store(), wanted, filter, options).hits(scope)) {
    yield hit;
    signal?.throwIfAborted();
    if (++found >= limit) return;
  }
}

const known: readonly (keyof GrepOptions)[] = [
  ...(["regex", "ignoreCase", "kind", "by", "session", "since", "until", "eachLog", "limit", "signal", "onProgress"] as const),
];

/** What an envelope says. One of a newer version is read like any other. */
interface Said {
  readonly kind: EventKind;
  readonly by: string;
  readonly at: string;
}
type Filter = (said: Said) => boolean;

function filterOf({ kind, by, since, until }: GrepOptions): Filter {
  const kinds = kind === undefined ? undefined : new Set<string>([kind].flat());
  const [from, to] = [timeOf(since, "since"), timeOf(until, "until")];
  return (said) =>
    (kinds === undefined || kinds.has(said.kind)) &&
    (by === undefined || said.by === by || said.by.endsWith(`/${by}`)) &&
    (from === undefined || said.at >= from) &&
    (to === undefined || said.at < to);
}

function timeOf(time: Date | string | undefined, field: string): string | undefined {
  if (time === undefined) return undefined;
  const date = new Date(time);
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new RathError("value.unsupported", `${field} is no time: give a Date or an ISO time like 2026-01-31.`, { details: { field } });
}

/** What an event says, and the texts in it. */
interface ReadEvent extends EventTexts {
  readonly said: Said;
}

/** A text to be looked at, and where it stands. */
interface Waiting {
  readonly of: Pick<GrepHit, "session" | "step" | "event" | "kind" | "by" | "at">;
  readonly where: string;
  readonly file: boolean;
  readonly text: string;
}

/** The first texts are looked at soon, later ones in portions. */
const firstPortion = 65_536;
const portion = 1_048_576;
const portionTexts = 4096;
const progressEvery = 256;

class Searching {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #pattern: Pattern;
  readonly #filter: Filter;
  readonly #options: GrepOptions;
  #waiting: Waiting[] = [];
  #length = 0;
  #portion = firstPortion;
  #read = 0;
  /** The first damage that was met, which is told when all that can be read was. */
  #damage: RathError | undefined;
  /** Logs in which something was erased since they were indexed. */
  readonly #stale = new Set<string>();

  constructor(runtime: Runtime, store: Store, pattern: Pattern, filter: Filter, options: GrepOptions) {
    this.#runtime = runtime;
    this.#store = store;
    this.#pattern = pattern;
    this.#filter = filter;
    this.#options = options;
  }

  async *hits(scope: readonly ScopedLog[]): AsyncGenerator<GrepHit, void> {
    const { needles } = this.#pattern;
    await using index = needles.length === 0 ? undefined : await openTextIndex(this.#runtime);
    const indexed = index === undefined ? undefined : await unlessUnusable(this.#known(index));
    if (index === undefined || indexed === undefined) yield* this.#all(scope);
    else if (scope.filter(({ id }) => !indexed.has(id)).length * 2 > scope.length) {
      // Mostly new: whoever waits gets hits as fast as they are read, and the next one has the index.
      yield* this.#all(scope);
      await unlessUnusable(this.#fillAll(scope, index, indexed));
    } else {
      const chosen = await unlessUnusable(this.#choose(scope, index, indexed));
      if (chosen === undefined) yield* this.#all(scope);
      else for (const log of chosen) yield* this.#some(log);
      yield* this.#look();
      await unlessUnusable(index.forget([...this.#stale]));
    }
    this.#progress(0);
    if (this.#damage !== undefined) throw this.#damage;
  }

  /** Goes on where a log is damaged: what others have is found all the same. */
  #pass(error: unknown): void {
    if (!RathError.is(error, "store.corrupt")) throw error;
    this.#damage ??= error;
  }

  /** How far logs are indexed, once all that was erased since is forgotten. */
  async #known(index: TextIndex): Promise<ReadonlyMap<string, IndexedTo>> {
    const indexed = await index.known();
    if (indexed.size === 0) return indexed;
    const { logs, keys, told } = await goneSince(this.#store, this.#runtime.platform, indexed);
    if (told.length === 0) return indexed;
    await index.forget([...logs], keys);
    await this.#fillAll(told, index, indexed);
    return index.known();
  }

  /** Reads everything. */
  async *#all(scope: readonly ScopedLog[]): AsyncGenerator<GrepHit, void> {
    const once = freshOnce();
    for (const { id, to } of scope) {
      const fresh = this.#options.eachLog === true ? freshOnce() : once;
      try {
        for await (const event of this.#store.events({ session: id, to })) {
          const texts = this.#textsOf(event);
          if (texts !== undefined) await this.#add(event, texts, fresh);
          if (this.#full) yield* this.#look();
        }
      } catch (error) {
        this.#pass(error);
      }
      // The end of a log is no reason to let anybody wait.
      if (this.#portion === firstPortion) yield* this.#look();
    }
    yield* this.#look();
  }

  /** Brings the index up to date and asks it; undefined where it could not be brought there. */
  async #choose(
    scope: readonly ScopedLog[],
    index: TextIndex,
    indexed: ReadonlyMap<string, IndexedTo>,
  ): Promise<readonly ChosenLog[] | undefined> {
    let now = indexed;
    for (let tries = 0; tries < 3; tries++) {
      const steps = await this.#fillAll(scope, index, now);
      const candidates = await index.candidates(this.#pattern.needles);
      if (scope.every(({ id }) => (candidates.known.get(id)?.step ?? 0) >= (steps.get(id) as number)))
        return chosenFrom(candidates, scope, steps, this.#options.eachLog === true);
      // Another process fills it too, or made it forget something.
      now = candidates.known;
    }
    return undefined;
  }

  /** Gives the steps up to which logs are indexed then. */
  async #fillAll(
    scope: readonly ScopedLog[],
    index: TextIndex,
    indexed: ReadonlyMap<string, IndexedTo>,
  ): Promise<ReadonlyMap<string, number>> {
    const steps = new Map<string, number>();
    const filling = new Filling(index, this.#store);
    for (const log of scope) steps.set(log.id, await this.#fill(filling, index, log, indexed.get(log.id)));
    await filling.flush();
    return steps;
  }

  async #fill(filling: Filling, index: TextIndex, { id, head }: ScopedLog, indexed: IndexedTo | undefined): Promise<number> {
    if (indexed?.head === head) return indexed.step;
    let step = 0;
    for await (const event of this.#store.events({ session: id, from: indexed?.step })) {
      if (event.id === indexed?.head) filling.begin(id, event.step);
      else {
        if (step === 0) {
          // The log is not the one that was indexed: somebody put an older store in its place.
          if (indexed !== undefined) {
            await index.forget([id]);
            return this.#fill(filling, index, { id, head }, undefined);
          }
          filling.begin(id, 0);
        }
        await filling.take(event, this.#textsOf(event));
      }
      step = event.step;
      this.#progress(1);
    }
    if (step > 0 || indexed === undefined) return step;
    await index.forget([id]);
    return this.#fill(filling, index, { id, head }, undefined);
  }

  /** Reads what the index chose of a log. */
  async *#some(log: ChosenLog): AsyncGenerator<GrepHit, void> {
    try {
      yield* this.#ranges(log);
    } catch (error) {
      this.#pass(error);
    }
  }

  async *#ranges({ id, ranges, things }: ChosenLog): AsyncGenerator<GrepHit, void> {
    for (const { from, to, erased } of ranges) {
      let gone = 0;
      for await (const event of this.#store.events({ session: id, from, to })) {
        const texts = this.#textsOf(event);
        const chosen = things.get(event.step);
        if (texts === undefined) {
          gone++;
          if (chosen !== undefined) this.#stale.add(id);
          continue;
        }
        const keys = new Map(chosen?.map(({ key, path }) => [key, path]));
        await this.#add(event, texts, async (asked) => new Set(asked.filter((key) => keys.has(key))), keys);
        if (this.#full) yield* this.#look();
      }
      if (erased !== undefined && gone > erased) this.#stale.add(id);
    }
  }

  #textsOf({ envelope, data }: StoredEvent): ReadEvent | undefined {
    if (data === undefined) return undefined;
    const { platform } = this.#runtime;
    const said = saidIn(platform.text(envelope));
    return { said, ...textsIn(said.kind, dataText(platform, data)) };
  }

  /** Puts the texts of an event among those that are looked at next. With `files`, which of these it brought in is known. */
  async #add(event: StoredEvent, texts: ReadEvent, fresh: Fresh, files?: ReadonlyMap<string, string | undefined>): Promise<void> {
    this.#options.signal?.throwIfAborted();
    this.#progress(1);
    const { kind, by, at } = texts.said;
    const wanted = this.#filter(texts.said);
    const of = { session: event.session, step: event.step, event: event.id, kind, by, at };
    const add = (where: string, file: boolean, text: string): void => {
      this.#waiting.push({ of, where, file, text });
      this.#length += text.length;
    };
    if (wanted) for (const { where, text } of texts.texts) add(where, false, text);
    if (texts.blobs.length + texts.trees.length === 0 || (files !== undefined && files.size === 0)) return;
    const things = files === undefined ? broughtIn(this.#store, texts, fresh) : this.#chosen(texts, fresh, files);
    for await (const { form, hash, where, file } of things) {
      // What an event brought in that is not asked about is no hit at the next one either.
      const bytes = wanted ? await this.#store.blob(hash) : undefined;
      for (const one of bytes === undefined ? [] : textsOfBlob(form, bytes, where)) add(one.where, file, one.text);
    }
  }

  async *#chosen(texts: EventTexts, fresh: Fresh, files: ReadonlyMap<string, string | undefined>): AsyncGenerator<Thing, void> {
    yield* broughtIn(this.#store, { ...texts, trees: [] }, async (keys) => {
      const found = await fresh(keys);
      return new Set([...found].filter((key) => files.get(key) === undefined));
    });
    const left = new Map(
      // An index that was filled earlier may know what lies in a `.git`.
      [...files]
        .flatMap(([key, path]) => (path === undefined || isInGit(path) ? [] : [[key, path] as const]))
        .sort(([, a], [, b]) => inWalk(a, b)),
    );
    for (const tree of texts.trees) {
      for (const [key, path] of left) {
        const hash = key.slice(key.indexOf(":") + 1);
        // The index is not believed: the file must be there.
        if (!(await hasFile(this.#store, tree, path, hash))) continue;
        left.delete(key);
        yield { key, hash, form: "bytes", where: path, file: true };
      }
    }
  }

  get #full(): boolean {
    return this.#length >= this.#portion || this.#waiting.length >= portionTexts;
  }

  *#look(): Generator<GrepHit, void> {
    const waiting = this.#waiting;
    [this.#waiting, this.#length] = [[], 0];
    if (waiting.length === 0) return;
    const matches = this.#pattern.find(waiting.map(({ text }) => text));
    if (matches.length > 0) this.#portion = portion;
    for (const { index, ...match } of matches) {
      const { of, where, file } = waiting[index] as Waiting;
      yield { ...of, where, file, ...match };
    }
  }

  #progress(events: number): void {
    this.#read += events;
    if (this.#read === 0 || (events > 0 && this.#read < progressEvery)) return;
    this.#options.onProgress?.(this.#read);
    this.#read = 0;
  }
}

function saidIn(envelope: string): Said {
  return JSON.parse(envelope) as Said;
}

/** Undefined when the index cannot be used now: it was damaged, is held by others, or there is no driver for it. */
async function unlessUnusable<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (RathError.is(error) && error.code.startsWith("store.")) return undefined;
    throw error;
  }
}
