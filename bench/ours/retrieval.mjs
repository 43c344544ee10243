// How well recall finds things: items and queries of bench/retrieval, judged by hand, four ways of searching.
// recall@5 is the mean share of the relevant items among the first five; MRR the mean of 1 / rank of the first relevant one in ten.
// These figures are reported, not claimed: no goal is set, and the data is not the user's.
import { join } from "node:path";
import { sqliteMemory } from "../../dist/memory/sqlite.js";
import { hashEmbedder } from "../../dist/testing/hash-embedder.js";
import { inDirectory, progress } from "../measure.mjs";
import { memoryItem, retrievalData } from "../memory-items.mjs";
import { rawTexts } from "../raw-text.mjs";
import { row } from "../report.mjs";

const FOUND = 10;
const LANGUAGES = ["en", "zh", "mixed", "code"];
const KINDS = ["words", "morphology", "identifier", "typo", "paraphrase"];

export function measure() {
  const items = retrievalData("items.jsonl").map((item) => ({ ...item, uri: `memory://project/${item.key}` }));
  const queries = retrievalData("queries.jsonl");
  return inDirectory(async (directory) => {
    const ranked = [];
    for (const [name, searching] of Object.entries(candidates)) {
      progress(`${queries.length} queries over ${items.length} items: ${name}`);
      ranked.push([name, await rankings(items, queries, (use) => searching(join(directory, `${ranked.length}.db`), items, use))]);
    }
    return [
      ...rows("recall@5", "all", recallAt5, ranked, () => true),
      ...rows("MRR", "all", reciprocalRank, ranked, () => true),
      ...LANGUAGES.flatMap((lang) => [
        ...rows("recall@5", lang, recallAt5, ranked, (query) => query.lang === lang),
        ...rows("MRR", lang, reciprocalRank, ranked, (query) => query.lang === lang),
      ]),
      ...KINDS.flatMap((kind) => rows("recall@5", kind, recallAt5, ranked, (query) => query.kind === kind)),
    ];
  });
}

/** Each opens what it searches, fills it with the items, and gives `use` a function from a text to uris, best first. */
const candidates = {
  "raw FTS5": async (file, items, use) => {
    const raw = rawTexts(file);
    raw.addAll(items);
    await use((text) => raw.search(text, FOUND));
    raw.close();
  },
  ours: (file, items, use) => withStore(file, items, undefined, (store) => use((text) => store.search(asking(text)))),
  "vector alone (hash embedder)": async (_file, items, use) => {
    const embed = embedding(hashEmbedder());
    const vectors = await embed(items.map(textOf));
    await use(async (text) => nearest((await embed([text]))[0], items, vectors));
  },
  "fused (hash embedder)": (file, items, use) => {
    const embedder = hashEmbedder();
    const embed = embedding(embedder);
    return withStore(file, items, embedder, (store) =>
      use(async (text) => store.search({ ...asking(text), vector: { model: embedder.id, values: (await embed([text]))[0] } })),
    );
  },
};

const asking = (text) => ({ text, within: ["memory://project/"], limit: FOUND });
const textOf = (item) => `${item.key}\n${item.content}`;

async function withStore(file, items, embedder, use) {
  const store = sqliteMemory(file, { embedder });
  const vectors = embedder && (await embedding(embedder)(items.map(textOf)));
  const writes = items.map((item, i) => ({
    item: memoryItem(item, i),
    based: 0,
    ...(vectors ? { vector: { model: embedder.id, values: vectors[i] } } : {}),
  }));
  const { refused } = await store.write(writes);
  if (refused.length > 0) throw new Error(`${refused.length} items were refused`);
  await use(store);
  await store[Symbol.asyncDispose]();
}

function embedding(embedder) {
  const { signal } = new AbortController();
  return async (texts) => (await embedder.embed(texts, { signal })).vectors;
}

/** By the cosine, largest first. */
function nearest(vector, items, vectors) {
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const length = (a) => Math.sqrt(dot(a, a)) || 1;
  return items
    .map((item, i) => ({ uri: item.uri, score: dot(vector, vectors[i]) / (length(vector) * length(vectors[i])) }))
    .filter((hit) => hit.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, FOUND);
}

/** For each query the ids it found, best first. */
async function rankings(items, queries, open) {
  const ids = new Map(items.map((item) => [item.uri, item.id]));
  const found = [];
  await open(async (search) => {
    for (const query of queries) found.push({ query, ids: (await search(query.query)).map((hit) => ids.get(hit.uri)) });
  });
  return found;
}

function rows(figure, part, score, ranked, chosen) {
  const count = ranked[0][1].filter(({ query }) => chosen(query)).length;
  return ranked.map(([name, found]) => {
    const scores = found.filter(({ query }) => chosen(query)).map(score);
    return row(`${figure}, ${part} (${count} queries): ${name}`, scores.reduce((sum, one) => sum + one, 0) / count, "0..1");
  });
}

function recallAt5({ query, ids }) {
  return query.relevant.filter((id) => ids.slice(0, 5).includes(id)).length / query.relevant.length;
}

function reciprocalRank({ query, ids }) {
  const place = ids.findIndex((id) => query.relevant.includes(id));
  return place < 0 ? 0 : 1 / (place + 1);
}
