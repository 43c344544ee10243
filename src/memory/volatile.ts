/** Memory in this process: the same contract, gone at exit. For tests and for programs that need not remember. */
import type { EmbedderLike, Vector } from "../session/embedding.ts";
import { RathError } from "../session/errors.ts";
import { givenOptions } from "../session/given.ts";
import { givenEmbedder } from "../session/given-memory.ts";
import type { MemoryItem } from "../session/memory.ts";
import type { MemoryListQuery, MemoryRecord, MemoryStore, MemoryUse, MemoryWrite, MemoryWritten } from "./memory.ts";
import { checkWrites, decodeItem, decodeRecord, encodeItem, erasedItem, readNames } from "./record.ts";
import { countWords, type Statistics } from "./score.ts";
import { expiryOf, fits, type Index, likenessOf, type StoredCandidate, search, type Wanted } from "./search.ts";

/** How a volatile memory is made. */
export interface VolatileMemoryOptions {
  /** Makes vectors of texts; without one, words alone are compared. */
  readonly embedder?: EmbedderLike | undefined;
  /** Milliseconds since 1970, for what expires. */
  readonly clock?: (() => number) | undefined;
}

/** One version. */
interface Version extends StoredCandidate {
  item: MemoryItem;
  text: string;
  readonly revision: number;
  /** The revision that superseded it. */
  until: number;
  vector: Vector | undefined;
}

interface State {
  revision: number;
  /** By number, which is their order. */
  readonly versions: Version[];
  readonly byUri: Map<string, Version[]>;
  /** By uri and event. */
  readonly byWrite: Map<string, Version>;
  /** Published versions by the words they have. */
  readonly byWord: Map<string, Version[]>;
  /** Of what is published, at each revision. */
  readonly totals: { documents: number; length: number }[];
  readonly uses: Map<string, MemoryUse>;
}

/**
 * An empty memory.
 *
 * @example
 * await using memory = volatileMemory();
 * const hits = await memory.search({ text: "how are tests run?", within: ["memory://project/"], limit: 5 });
 */
export function volatileMemory(options: VolatileMemoryOptions = {}): MemoryStore {
  const { embedder, clock = Date.now } = givenOptions(options, ["embedder", "clock"], "volatileMemory");
  givenEmbedder(embedder, "volatileMemory.embedder");
  const state = emptyState();
  const index = indexOf(state);
  let closed = false;

  const open = (): State => {
    if (closed) throw new RathError("store.closed", "The volatile memory is closed. Make another one with volatileMemory.");
    return state;
  };

  return {
    embedder,
    revision: async () => open().revision,
    write: async (writes, { whole = false } = {}) => write(open(), writes, whole),
    search: async (query) => search(index, query, Math.min(query.asOf ?? Number.POSITIVE_INFINITY, open().revision), clock()),
    list: (query) => stream(() => list(open(), query, clock())),
    used: async (uses) => {
      const { uses: known } = open();
      for (const use of uses) {
        const name = JSON.stringify([use.uri, use.version, use.session, use.event]);
        if (!known.has(name)) known.set(name, { ...use });
      }
    },
    uses: (uri) => stream(() => usesOf(open(), uri)),
    erase: async (versions, entry) => {
      for (const { uri, version } of versions) erase(open(), uri, version, entry);
    },
    [Symbol.asyncDispose]: async () => {
      closed = true;
    },
  };
}

function emptyState(): State {
  return {
    ...{ revision: 0, versions: [], totals: [{ documents: 0, length: 0 }] },
    ...{ byUri: new Map(), byWrite: new Map(), byWord: new Map(), uses: new Map() },
  };
}

function write(state: State, writes: readonly MemoryWrite[], whole: boolean): MemoryWritten {
  checkWrites(writes);
  const stale = whole ? writes.flatMap((one) => staleIn(state, one)) : [];
  if (stale.length > 0) return { revision: state.revision, written: [], refused: stale };
  const written: MemoryRecord[] = [];
  const refused: MemoryWritten["refused"][number][] = [];
  const revision = state.revision + 1;
  for (const { item, based, vector, again } of writes) {
    const known = state.byWrite.get(writeName(item));
    const newest = state.byUri.get(item.uri)?.at(-1);
    if (known !== undefined) written.push(record(known));
    else if ((newest?.item.version ?? 0) !== based) refused.push({ item, current: newest && record(newest) });
    else {
      state.revision = revision;
      const earlier = again === undefined ? undefined : state.byUri.get(item.uri)?.find((one) => one.item.version === again);
      written.push(record(add(state, item, vector ?? earlier?.vector, revision, newest)));
    }
  }
  // A write that was made before has the revision that it had then.
  return {
    revision: written.reduce((last, one) => Math.max(last, one.revision), written.length > 0 ? 0 : state.revision),
    written,
    refused,
  };
}

/** Why a write would be refused. */
function staleIn(state: State, { item, based }: MemoryWrite): MemoryWritten["refused"] {
  const newest = state.byUri.get(item.uri)?.at(-1);
  if ((newest?.item.version ?? 0) === based || state.byWrite.has(writeName(item))) return [];
  return [{ item, current: newest && record(newest) }];
}

function add(state: State, given: MemoryItem, vector: Vector | undefined, revision: number, before: Version | undefined): Version {
  const text = encodeItem(given);
  const item = decodeItem(text);
  const { counts, length } = countWords(item);
  const version: Version = {
    no: state.versions.length,
    ...{ item, text, revision, until: Number.POSITIVE_INFINITY },
    vector: vector && { model: vector.model, values: Float32Array.from(vector.values) },
    ...{ uri: item.uri, at: item.at, length, frequency: (word) => counts.get(word) ?? 0 },
  };
  state.versions.push(version);
  state.byWrite.set(writeName(item), version);
  append(state.byUri, item.uri, version);
  const totals = { ...(state.totals[revision] ?? state.totals[revision - 1] ?? { documents: 0, length: 0 }) };
  const count = ({ item, length }: Version, by: 1 | -1): void => {
    if (item.state !== "published") return;
    totals.documents += by;
    totals.length += by * length;
  };
  if (before !== undefined) {
    before.until = revision;
    count(before, -1);
  }
  count(version, 1);
  state.totals[revision] = totals;
  if (item.state === "published") for (const word of counts.keys()) append(state.byWord, word, version);
  return version;
}

function erase(state: State, uri: string, version: number, entry: string): void {
  const found = state.byUri.get(uri)?.find(({ item }) => item.version === version);
  if (found === undefined || found.item.erased !== undefined) return;
  for (const word of countWords(found.item).counts.keys()) {
    const left = (state.byWord.get(word) ?? []).filter((one) => one !== found);
    if (left.length > 0) state.byWord.set(word, left);
    else state.byWord.delete(word);
  }
  found.text = encodeItem(erasedItem(found.item, entry));
  found.item = decodeItem(found.text);
  found.vector = undefined;
}

function append(map: Map<string, Version[]>, name: string, version: Version): void {
  const known = map.get(name);
  if (known === undefined) map.set(name, [version]);
  else known.push(version);
}

function writeName({ uri, event }: MemoryItem): string {
  return JSON.stringify([uri, event]);
}

function record({ text, revision }: Version): MemoryRecord {
  return decodeRecord(text, revision);
}

function isVisible({ revision, until }: Version, at: number): boolean {
  return revision <= at && until > at;
}

function indexOf(state: State): Index {
  const published = (versions: readonly Version[], revision: number) =>
    versions.filter((version) => version.item.state === "published" && isVisible(version, revision));
  const having = (word: string, revision: number) => (state.byWord.get(word) ?? []).filter((version) => isVisible(version, revision));
  const wantedOf = (versions: Iterable<Version>, wanted: Wanted) => [...versions].filter(({ item }) => fits(item, wanted));
  return {
    statistics(words, revision): Statistics {
      const totals = state.totals[revision] ?? { documents: 0, length: 0 };
      return { ...totals, containing: new Map(words.map((word) => [word, having(word, revision).length])) };
    },
    documents: (uris, revision) =>
      published(
        [...new Set(uris)].flatMap((uri) => state.byUri.get(uri) ?? []),
        revision,
      ),
    byWords: (words, wanted) => wantedOf(new Set(words.flatMap((word) => having(word, wanted.revision))), wanted),
    byVector: (vector, wanted, most) =>
      wantedOf(published(state.versions, wanted.revision), wanted)
        .map((version) => ({ ...version, likeness: version.vector && likenessOf(vector, version.vector) }))
        .filter(({ likeness = 0 }) => likeness > 0)
        .sort((a, b) => (b.likeness ?? 0) - (a.likeness ?? 0))
        .slice(0, most),
    item: (no) => decodeItem((state.versions[no] as Version).text),
  };
}

function list(state: State, query: MemoryListQuery, now: number): MemoryRecord[] {
  const { uri, key, within, asOf = state.revision, because, from } = query;
  const events = query.events && new Set(query.events);
  const found = state.versions
    .filter((version) => asOf === "all" || isVisible(version, Math.min(asOf, state.revision)))
    .filter(
      ({ item }) =>
        (uri === undefined || item.uri === uri) &&
        (key === undefined || item.key === key) &&
        (within === undefined || within.some((beginning) => item.uri.startsWith(beginning))) &&
        (query.state === undefined || item.state === query.state) &&
        (query.alive !== true || expiryOf(item) > now) &&
        (events === undefined || events.has(item.event)) &&
        (because === undefined || item.because.includes(because)) &&
        (from === undefined || readNames(item.from).includes(from)),
    )
    .map(record);
  return query.newestFirst === true ? found.reverse() : found;
}

function usesOf({ uses }: State, uri: string): MemoryUse[] {
  return [...uses.values()]
    .filter((use) => use.uri === uri)
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    .map((use) => ({ ...use }));
}

/** What was there when reading began. */
async function* stream<T>(read: () => T[]): AsyncGenerator<T, void> {
  yield* read();
}
