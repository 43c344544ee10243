/** A memory store for tests that finds what shares a word with the query. Small enough to be seen to be right; it can be told to fail. */
import type { MemoryListQuery, MemoryQuery, MemoryRecord, MemoryStore, MemoryUse, MemoryWrite } from "../../src/memory/memory.ts";
import type { MemoryHit, MemoryItem } from "../../src/session/memory.ts";

export interface WordsMemory extends MemoryStore {
  /** What every call from now on is to fail with. */
  failing: Error | undefined;
  readonly asked: MemoryQuery[];
}

export function wordsMemory(): WordsMemory {
  const records: MemoryRecord[] = [];
  const used: MemoryUse[] = [];
  let revision = 0;
  const newest = (asOf = revision): MemoryRecord[] => {
    const found = new Map<string, MemoryRecord>();
    for (const record of records) if (record.revision <= asOf) found.set(record.uri, record);
    return [...found.values()];
  };
  const store: WordsMemory = {
    failing: undefined,
    asked: [],
    async revision() {
      if (store.failing !== undefined) throw store.failing;
      return revision;
    },
    async write(writes: readonly MemoryWrite[]) {
      if (store.failing !== undefined) throw store.failing;
      const current = new Map(newest().map((record) => [record.uri, record]));
      const refused = writes.filter(({ item, based }) => (current.get(item.uri)?.version ?? 0) !== based);
      const written = writes.filter((write) => !refused.includes(write));
      if (written.length > 0) revision++;
      const made = written.map(({ item }) => ({ ...item, revision }));
      records.push(...made);
      return { revision, written: made, refused: refused.map(({ item }) => ({ item, current: current.get(item.uri) })) };
    },
    async search(query: MemoryQuery) {
      if (store.failing !== undefined) throw store.failing;
      store.asked.push(query);
      const staged = (query.staged ?? []).map(({ item }) => item);
      const hidden = new Set([...staged.map(({ uri }) => uri), ...(query.without ?? [])]);
      const stored = newest(query.asOf).filter(({ uri, state }) => state === "published" && !hidden.has(uri));
      return [...stored, ...staged]
        .filter((item) => query.within.some((prefix) => item.uri.startsWith(prefix)))
        .filter((item) => query.trust === undefined || item.trust === query.trust)
        .map((item): MemoryHit => ({ ...item, score: shared(item, query.text), query: query.text }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score)
        .slice(0, query.limit);
    },
    async *list(query: MemoryListQuery) {
      if (store.failing !== undefined) throw store.failing;
      const all = query.asOf === "all" || query.events !== undefined ? records : newest(query.asOf);
      for (const record of all) {
        if (query.uri !== undefined && record.uri !== query.uri) continue;
        if (query.key !== undefined && record.key !== query.key) continue;
        if (query.within !== undefined && !query.within.some((prefix) => record.uri.startsWith(prefix))) continue;
        if (query.state !== undefined && record.state !== query.state) continue;
        if (query.events !== undefined && !query.events.includes(record.event)) continue;
        yield record;
      }
    },
    async used(uses) {
      used.push(...uses);
    },
    async *uses(uri) {
      yield* used.filter((use) => use.uri === uri);
    },
    async [Symbol.asyncDispose]() {},
  };
  return store;
}

function shared(item: MemoryItem, text: string): number {
  const words = new Set(wordsOf(text));
  return new Set(wordsOf(`${item.key} ${item.content}`).filter((word) => words.has(word))).size;
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
}
