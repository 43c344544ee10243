// Memory items as a store gets them, and texts for many of them.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The lines of a file in bench/retrieval. */
export function retrievalData(name) {
  const text = readFileSync(join(import.meta.dirname, "retrieval", name), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** A published item of a project, as if an event of its own had written it. */
export function memoryItem({ uri, key, content }, number) {
  return {
    uri,
    key,
    content,
    scope: uri.startsWith("memory://user/") ? "user" : "project",
    ...(uri.startsWith("memory://user/") ? { owner: uri.split("/")[3] } : {}),
    version: 1,
    state: "published",
    origin: "human",
    trust: "trusted",
    because: [],
    from: [],
    event: `event-${number}`,
    session: undefined,
    by: "bench",
    at: "2026-11-15T10:00:00.000Z",
  };
}

/** People whose items lie beside those of the project: one in a thousand items is Ada's. */
const people = { 0: "ada", 500: "ben" };

/**
 * Many texts, the same every time: words of the retrieval data and made-up ones, as frequent as words are (1 / rank); 55 % English,
 * 25 % Chinese, 20 % with identifiers. `frequency` says in how many texts a word is.
 */
export function manyTexts(count) {
  const random = generator(20_261_115);
  const data = retrievalData("items.jsonl");
  const english = vocabulary(data, "en", /[a-z]{3,}/g, 30_000, (n) => invented(n));
  const chinese = vocabulary(data, "zh", /\p{Script=Han}{2}/gu, 8_000, (n) => `${hanzi(n * 7)}${hanzi(n * 13 + 5)}`);
  const frequency = new Map();
  const texts = Array.from({ length: count }, (_, number) => {
    const kind = number % 20;
    const words = Array.from({ length: kind < 11 || kind >= 16 ? 24 : 14 }, () =>
      kind < 11 || kind >= 16 ? english(random()) : chinese(random()),
    );
    for (const word of new Set(words)) frequency.set(word, (frequency.get(word) ?? 0) + 1);
    const owner = people[number % 1000];
    const key = `item-${number}`;
    const uri = owner ? `memory://user/${owner}/${key}` : `memory://project/${key}`;
    return { uri, key, content: sentence(words, kind) };
  });
  return { texts, frequency };
}

function sentence(words, kind) {
  if (kind < 11) return `${words.join(" ")}.`;
  if (kind < 16) return `${words.slice(0, 7).join("")}，${words.slice(7).join("")}。`;
  const [first, second, third, ...rest] = words;
  return `${first}${capital(second)}${capital(third)}(${rest[0]}_${rest[1]}) ${rest.slice(2).join(" ")}`;
}

/** Words by rank: those of the data first, the most frequent ahead, then made-up ones; drawn with a probability of 1 / rank. */
function vocabulary(data, lang, pattern, size, make) {
  const counts = new Map();
  for (const item of data.filter((one) => one.lang === lang)) {
    for (const word of item.content.toLowerCase().match(pattern) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const words = [...counts].sort(([, a], [, b]) => b - a).map(([word]) => word);
  for (let n = 0; words.length < size; n++) if (!counts.has(make(n))) words.push(make(n));
  return (chance) => words[Math.min(size - 1, Math.floor(size ** chance) - 1)];
}

const SYLLABLES = [
  "ba",
  "den",
  "fi",
  "gor",
  "hul",
  "ja",
  "ker",
  "li",
  "mon",
  "nu",
  "pel",
  "qua",
  "ris",
  "so",
  "tav",
  "ul",
  "ves",
  "wo",
  "xi",
  "zan",
];
function invented(n) {
  const parts = [];
  for (let rest = n + 400; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) parts.push(SYLLABLES[rest % SYLLABLES.length]);
  return parts.join("");
}

const hanzi = (n) => String.fromCodePoint(0x4e00 + (n % 3000));
const capital = (word) => word[0].toUpperCase() + word.slice(1);

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
