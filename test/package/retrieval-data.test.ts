// The data of `npm run bench -- --only retrieval` is written and judged by hand. This keeps it well-formed; it judges no judgement.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";

const Item = z.strictObject({
  id: z.string().regex(/^m\d{3}$/),
  key: z.string().min(1),
  content: z.string().min(10),
  lang: z.enum(["en", "zh", "code"]),
});
const Query = z.strictObject({
  id: z.string().regex(/^q\d{3}$/),
  query: z.string().min(2),
  lang: z.enum(["en", "zh", "code", "mixed"]),
  kind: z.enum(["words", "morphology", "identifier", "typo", "paraphrase"]),
  relevant: z.array(z.string()).min(1),
});

function rows<T>(name: string, schema: z.ZodType<T>): readonly T[] {
  const text = readFileSync(new URL(`../../bench/retrieval/${name}`, import.meta.url), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => schema.parse(JSON.parse(line)));
}

const items = rows("items.jsonl", Item);
const queries = rows("queries.jsonl", Query);
const repeated = (values: readonly string[]) => values.filter((value, index) => values.indexOf(value) !== index);
const share = <T>(all: readonly T[], holds: (one: T) => boolean) => all.filter(holds).length / all.length;

test("ids, keys, contents and queries are there once each", () => {
  expect(repeated(items.map((item) => item.id))).toEqual([]);
  expect(repeated(items.map((item) => item.key))).toEqual([]);
  expect(repeated(items.map((item) => item.content))).toEqual([]);
  expect(repeated(queries.map((query) => query.id))).toEqual([]);
  expect(repeated(queries.map((query) => query.query))).toEqual([]);
});

test("every item that a query calls relevant exists, and is named once", () => {
  const known = new Set(items.map((item) => item.id));
  expect(queries.flatMap((query) => query.relevant).filter((id) => !known.has(id))).toEqual([]);
  expect(queries.filter((query) => repeated(query.relevant).length > 0)).toEqual([]);
});

test("five results can hold all that is relevant, so recall at 5 can reach 1", () => {
  expect(queries.filter((query) => query.relevant.length > 5)).toEqual([]);
});

test("the languages of items and the kinds of queries have their share", () => {
  expect(items.length).toBeGreaterThanOrEqual(300);
  expect(share(items, (item) => item.lang === "en")).toBeCloseTo(0.55, 1);
  expect(share(items, (item) => item.lang === "zh")).toBeCloseTo(0.25, 1);
  expect(share(items, (item) => item.lang === "code")).toBeCloseTo(0.2, 1);
  expect(queries.length).toBeGreaterThanOrEqual(120);
  expect(share(queries, (query) => query.kind === "paraphrase")).toBeGreaterThanOrEqual(1 / 3);
  expect(share(queries, (query) => query.kind === "typo")).toBeLessThan(0.05);
});

test("what a label says of a language holds of the text", () => {
  const han = (text: string) => /\p{Script=Han}/u.test(text);
  expect(items.filter((item) => (item.lang === "en" ? han(item.content) : item.lang === "zh" && !han(item.content)))).toEqual([]);
  expect(queries.filter((query) => han(query.query) !== (query.lang === "zh" || query.lang === "mixed"))).toEqual([]);
});
