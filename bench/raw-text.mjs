// The baseline of search: an FTS5 table with nothing around it.
import { extendWal, openDatabase } from "./raw.mjs";

/**
 * Texts in one FTS5 table of the tokenizer `unicode61`. A query is its words, quoted and OR-ed, in the order of bm25.
 * @param {string} file
 */
export function rawTexts(file) {
  const db = openDatabase(file);
  db.exec("create virtual table text using fts5(uri unindexed, key, content, tokenize = 'unicode61')");
  db.exec("create table pad (id integer primary key, n integer)");
  extendWal(db);
  const insert = db.prepare("insert into text (uri, key, content) values (?, ?, ?)");
  const all = db.prepare("select uri, key, content from text where text match ? order by rank limit ?");
  const within = db.prepare("select uri, key, content from text where text match ? and uri >= ? and uri < ? order by rank limit ?");
  return {
    add: (/** @type {{ uri: string, key: string, content: string }} */ item) => insert.run(item.uri, item.key, item.content),
    addAll: db.transaction((items) => {
      for (const item of items) insert.run(item.uri, item.key, item.content);
    }),
    search: (text, limit, scope) => {
      const match = anyWord(text);
      if (match === "") return [];
      return scope === undefined ? all.all(match, limit) : within.all(match, scope, `${scope}\u{10ffff}`, limit);
    },
    close: () => db.close(),
  };
}

/** The query language of FTS5: any of the words. */
function anyWord(text) {
  return (text.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => `"${word}"`).join(" OR ");
}

/** Runs of Chinese characters as overlapping pairs, so that `unicode61`, which takes a run for one word, can find a part of it. */
export function inPairs(text) {
  return text.replace(/\p{Script=Han}+/gu, (run) => {
    const letters = [...run];
    return ` ${
      letters.length === 1
        ? run
        : letters
            .slice(1)
            .map((letter, i) => letters[i] + letter)
            .join(" ")
    } `;
  });
}
