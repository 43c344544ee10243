// What memory costs among 100 000 items: a search against one of a bare FTS5 table, a write against a bare durable insert, in turns.
import { join } from "node:path";
import { sqliteMemory } from "../../dist/memory/sqlite.js";
import { hashEmbedder } from "../../dist/testing/hash-embedder.js";
import { inDirectory, median, now, progress, settleHeap } from "../measure.mjs";
import { manyTexts, memoryItem } from "../memory-items.mjs";
import { inPairs, rawTexts } from "../raw-text.mjs";
import { row } from "../report.mjs";
import { finish, openDurable, Repeated } from "./rounds.mjs";

const BATCH = 1000;
const LIMIT = 5;
const EVERYTHING = ["memory://project/", "memory://user/ada/"];
const ADAS = "memory://user/ada/";

export function measure({ quick }) {
  const count = quick ? 20_000 : 100_000;
  return inDirectory(async (directory) => {
    progress(`writing ${count} items`);
    const { texts, frequency } = manyTexts(count);
    const raw = rawTexts(join(directory, "raw.db"));
    const store = sqliteMemory(join(directory, "memory.db"));
    const filled = await fill(raw, store, texts);

    const rows = [];
    for (const [name, kind] of Object.entries(queryKinds(frequency, count))) {
      progress(`searching: ${name}`);
      rows.push(...(await searching(raw, store, name, kind, quick ? 3 : 7)));
    }
    progress("writing one item at a time");
    rows.push(...(await writing(raw, store, quick ? 100 : 300)));
    await store[Symbol.asyncDispose]();
    raw.close();
    progress("searching with vectors");
    return [
      ...[...rows, ...filled].map((r) => ({ ...r, name: `${r.name}, ${count} items` })),
      ...(await withVectors(directory, quick ? 2000 : 10_000, 20)),
      ...(await recallBySessionLength([10, 100, quick ? 500 : 3000])),
    ];
  });
}

/** Writes the same texts to both, in batches, in turns. */
async function fill(raw, store, texts) {
  const spent = { raw: 0, ours: 0 };
  for (let from = 0; from < texts.length; from += BATCH) {
    const batch = texts.slice(from, from + BATCH);
    const one = now();
    raw.addAll(batch.map((text) => ({ ...text, content: inPairs(text.content) })));
    const two = now();
    await store.write(batch.map((text, i) => ({ item: memoryItem(text, from + i), based: 0 })));
    spent.ours += now() - two;
    spent.raw += two - one;
  }
  return [row(`import in batches of ${BATCH} / raw FTS5`, spent.ours / spent.raw, "ratio"), row("import", spent.ours / 1000, "s")];
}

/** Queries by how much there is to find. Chinese is compared with a raw table of pairs of characters, which finds the same. */
function queryKinds(frequency, count) {
  const words = (script, from, to) => [...frequency].filter(([word, n]) => script.test(word) && n >= from && n <= to).map(([word]) => word);
  const latin = /^[a-z]{6,}$/; // no "the" or "from", which ours does not ask for
  const han = /^\p{Script=Han}+$/u;
  const some = (list, n, i) => Array.from({ length: n }, (_, j) => list[(i * 31 + j * 7) % list.length]);
  const twenty = (make) => Array.from({ length: 20 }, (_, i) => make(i));

  const rare = words(latin, 3, 20);
  const middle = words(latin, count * 0.005, count * 0.02);
  const common = words(latin, count * 0.03, count * 0.15);
  const frequent = words(/^[a-z]+$/, count * 0.15, count);
  const rareHan = words(han, 3, 20);
  const commonHan = words(han, count * 0.01, count * 0.1);
  return {
    "a rare word": { texts: twenty((i) => some(rare, 1, i).join(" ")) },
    "a word of no item": { texts: twenty((i) => `nowhere${i}`) },
    "three common words": { texts: twenty((i) => some(common, 3, i).join(" ")) },
    "a question of eight words": {
      texts: twenty((i) => [...some(frequent, 3, i), ...some(common, 2, i), ...some(middle, 3, i)].join(" ")),
    },
    "a rare Chinese word": { texts: twenty((i) => some(rareHan, 1, i).join("")) },
    "two common Chinese words": { texts: twenty((i) => some(commonHan, 2, i).join("")) },
    "three common words, of one person": { texts: twenty((i) => some(common, 3, i).join(" ")), scope: ADAS },
    "three common words, as of half the revisions": { texts: twenty((i) => some(common, 3, i).join(" ")), asOf: count / BATCH / 2 },
    "three common words, each after a write": { texts: twenty((i) => some(common, 3, i).join(" ")), written: true },
  };
}

async function searching(raw, store, name, { texts, scope, asOf, written }, passes) {
  const spent = { raw: [], ours: [], ratio: [] };
  settleHeap();
  for (let pass = 0; pass <= passes; pass++) {
    for (const [i, text] of texts.entries()) {
      if (written) await addOne(raw, store, `between-${pass}-${i}`, text); // what is known of words by revision is of no use then
      const one = now();
      const plain = raw.search(inPairs(text), LIMIT, scope);
      const two = now();
      const hits = await store.search({ text, within: scope ? [scope] : EVERYTHING, limit: LIMIT, asOf });
      const three = now();
      if (hits.length < plain.length) throw new Error(`"${text}" found ${hits.length} items, raw FTS5 ${plain.length}`);
      if (pass === 0) continue; // warm-up
      spent.raw.push(two - one);
      spent.ours.push(three - two);
      spent.ratio.push((three - two) / (two - one));
    }
  }
  return [
    row(`search / raw FTS5, ${name}`, median(spent.ratio), "ratio", "< 10"),
    row(`search, ${name}`, median(spent.ours), "ms"),
    row(`raw FTS5, ${name}`, median(spent.raw), "ms"),
  ];
}

async function writing(raw, store, times) {
  const spent = { raw: [], ours: [] };
  for (const [i, { content }] of manyTexts(times).texts.entries()) {
    const added = await addOne(raw, store, `added-${i}`, content);
    if (i < times / 10) continue; // warm-up
    spent.raw.push(added.raw);
    spent.ours.push(added.ours);
  }
  return [
    row("write / raw FTS5 insert and fsync", median(spent.ours.map((ms, i) => ms / spent.raw[i])), "ratio"),
    row("write", median(spent.ours), "ms"),
    row("raw FTS5 insert and fsync", median(spent.raw), "ms"),
  ];
}

/** Writes an item to both, each durable; returns the milliseconds. */
async function addOne(raw, store, key, content) {
  const item = { uri: `memory://project/${key}`, key, content };
  const plain = { ...item, content: inPairs(content) };
  const write = { item: memoryItem(item, key), based: 0 };
  const one = now();
  raw.add(plain);
  const two = now();
  const { written } = await store.write([write]);
  const three = now();
  if (written.length !== 1) throw new Error(`the write of ${item.uri} was refused`);
  return { raw: two - one, ours: three - two };
}

/** Words and vectors together; what of it is for the vectors is seen beside the search without them. */
async function withVectors(directory, count, passes) {
  const embedder = hashEmbedder();
  const { signal } = new AbortController();
  const vectorsOf = async (texts) => (await embedder.embed(texts, { signal })).vectors.map((values) => ({ model: embedder.id, values }));
  const store = sqliteMemory(join(directory, "vectors.db"), { embedder });
  const { texts } = manyTexts(count);
  for (let from = 0; from < count; from += BATCH) {
    const batch = texts.slice(from, from + BATCH);
    const vectors = await vectorsOf(batch.map((text) => text.content));
    await store.write(batch.map((text, i) => ({ item: memoryItem(text, from + i), based: 0, vector: vectors[i] })));
  }
  const spent = { words: [], both: [] };
  const query = { text: "gateway database minutes", within: EVERYTHING, limit: LIMIT };
  const [vector] = await vectorsOf([query.text]);
  for (let pass = -1; pass < passes; pass++) {
    const one = now();
    await store.search(query);
    const two = now();
    await store.search({ ...query, vector });
    if (pass < 0) continue; // warm-up
    spent.words.push(two - one);
    spent.both.push(now() - two);
  }
  await store[Symbol.asyncDispose]();
  const length = vector.values.length;
  return [
    row(`search by words, ${count} items with vectors of ${length}`, median(spent.words), "ms"),
    row(`search by words and vectors, ${count} items with vectors of ${length}`, median(spent.both), "ms"),
  ];
}

/** A runtime whose memory has something to find. */
async function openTaught(directory) {
  const rath = await openDurable(directory);
  const taught = await rath.session("Mind this.").remember({ key: "test-command", content: "Tests are run with npm test." });
  await rath.memory.publish(taught);
  return rath;
}

/** What one recall, recorded on disk, costs in sessions of so many rounds: it must not grow with them. */
async function recallBySessionLength(lengths, passes = 40) {
  const cost = [];
  for (const rounds of lengths) {
    progress(`recalling after ${rounds} rounds`);
    cost.push(
      await inDirectory(async (directory) => {
        const rath = await openTaught(directory);
        const session = await finish(rath, new Repeated(rounds));
        const spent = [];
        for (let pass = 0; pass <= passes; pass++) {
          const fork = session.fork(`recall-${pass}`);
          const begin = now();
          await fork.recall("how are tests run");
          if (pass > 0) spent.push(now() - begin);
        }
        await rath.close();
        return median(spent);
      }),
    );
  }
  return [
    ...lengths.map((rounds, i) => row(`recall after ${rounds} rounds`, cost[i], "ms")),
    row(`recall after ${lengths.at(-1)} rounds / after ${lengths[0]}`, cost.at(-1) / cost[0], "ratio", "0.5..1.5"),
  ];
}
