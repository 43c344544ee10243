/** Laws of values in and out of the log: what goes in comes out, equal values have equal bytes, and nothing is changed silently. */
import { isDeepStrictEqual } from "node:util";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nodePlatform } from "../runtime/platform.ts";
import { redactor } from "../runtime/redact.ts";
import { testRath } from "../testing/test-rath.ts";
import { RathError } from "./errors.ts";
import { blobsIn, blobThreshold, decode, type Encoded, encode } from "./json.ts";

const keepAll = (): undefined => undefined;

function encoded(value: unknown): Encoded {
  return encode(value, nodePlatform, keepAll);
}

function decoded({ text, blobs }: Encoded): unknown {
  return decode(text, nodePlatform, (hash) => blobs?.get(hash) as Uint8Array);
}

function isFrozen(value: unknown): boolean {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return true;
  return Object.isFrozen(value) && Object.values(value).every(isFrozen);
}

/** An object with exactly these keys, `__proto__` among them. */
function objectOf(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [key, value] of entries) Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  return object;
}

/** The same value, its keys inserted the other way round on every level. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return objectOf(
    Object.entries(value)
      .map(([key, inner]) => [key, reversed(inner)] as const)
      .reverse(),
  );
}

const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 }).map((codes) => String.fromCharCode(...codes));
const surrogates = fc.array(fc.constantFrom("\ud800", "\udfff", "a", "😀"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
const long = fc
  .tuple(surrogates, fc.integer({ min: blobThreshold - 4, max: blobThreshold + 4 }))
  .map(([text, length]) => text.padEnd(length, "é"));
const key = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom("$", "__proto__", "constructor", "toJSON", "10", "9", "1e3", "", "é", "\u{1f600}", "ﬀ", "hash"),
);
const leaf = fc.oneof(
  fc.constant(null),
  fc.constant(undefined),
  fc.boolean(),
  fc.double(),
  fc.integer(),
  fc.constantFrom(-0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.MAX_SAFE_INTEGER, 5e-324, 1e21),
  fc.constantFrom("undefined", "number", "utf16", "blob", "object"),
  fc.string({ unit: "binary" }),
  units,
  surrogates,
  long,
  fc.uint8Array({ maxLength: 16 }),
);
const { value: anyValue } = fc.letrec<{ value: unknown; object: unknown; array: unknown }>((tie) => ({
  value: fc.oneof({ depthSize: "medium", withCrossShrink: true }, leaf, tie("array"), tie("object")),
  array: fc.array(tie("value"), { maxLength: 5 }),
  object: fc.uniqueArray(fc.tuple(key, tie("value")), { maxLength: 6, selector: ([name]) => name }).map(objectOf),
}));

describe("decode ∘ encode", () => {
  test("is the identity, and gives the program what a resumed program reads", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const once = encoded(value);
        expect(isDeepStrictEqual(decoded(once), value)).toBe(true);
        expect(isDeepStrictEqual(once.value, value)).toBe(true);
        expect(isFrozen(once.value) && isFrozen(decoded(once))).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  test("keeps what JSON alone would change", () => {
    const changed = [undefined, -0, Number.NaN, Number.POSITIVE_INFINITY, { a: undefined }, [undefined], new Uint8Array([1])];
    for (const value of changed) {
      expect(isDeepStrictEqual(decoded(encoded(value)), value), String(value)).toBe(true);
      const mutant = (given: unknown): unknown => JSON.parse(JSON.stringify(given) ?? "null");
      expect(isDeepStrictEqual(mutant(value), value), String(value)).toBe(false);
    }
  });

  test("keeps a lone surrogate, which UTF-8 would change", () => {
    for (const text of ["\ud800", "a\udfffb", "\udc00\ud800".repeat(blobThreshold)]) {
      expect(decoded(encoded(text))).toBe(text);
      expect(Buffer.from(text).toString()).not.toBe(text);
    }
  });

  test("keeps a user's own $ keys apart from ours", () => {
    const forged = { $: "blob", hash: "0".repeat(64), type: "text" };
    expect(decoded(encoded(forged))).toStrictEqual(forged);
    expect(blobsIn(encoded(forged).text)).toStrictEqual([]);
    const around = encoded({ $: "blob", real: "x".repeat(blobThreshold + 1) });
    expect(blobsIn(around.text)).toStrictEqual([...(around.blobs?.keys() ?? [])]);
  });

  test("takes nesting up to its limit and refuses more by name", () => {
    const nested = (levels: number): unknown => {
      let value: unknown = 1;
      for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
      return value;
    };
    const deep = nested(1000);
    expect(isDeepStrictEqual(decoded(encoded(deep)), deep)).toBe(true);
    expect(() => encoded(nested(1001))).toThrow(/deeper than 1000/);
    expect(() => encoded(nested(100_000))).toThrow(/deeper than 1000/);
  });
});

describe("canonical text", () => {
  test("is RFC 8785 of what it parses to", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const { text } = encoded(value);
        expect(text).toBe(canonicalize(JSON.parse(text)));
      }),
      { numRuns: 300 },
    );
  });

  test("is equal for equal values, whatever the order of their keys", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(encoded(reversed(value)).text).toBe(encoded(value).text);
      }),
      { numRuns: 300 },
    );
  });

  test("differs for different values", () => {
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        expect(encoded(a).text === encoded(b).text).toBe(isDeepStrictEqual(a, b));
      }),
    );
  });

  test("orders keys by UTF-16 units, where JavaScript puts integers first and by size", () => {
    const value = { b: 0, 9: 1, 10: 2, "\u{1f600}": 3, ﬀ: 4 };
    expect(encoded(value).text).toBe('{"10":2,"9":1,"b":0,"\u{1f600}":3,"ﬀ":4}');
    expect(JSON.stringify(value)).not.toBe(encoded(value).text);
  });

  test("names long strings and bytes by their hash, each stored once", () => {
    const text = "x".repeat(blobThreshold + 1);
    const { text: stored, blobs } = encoded([text, text, new Uint8Array([1, 2]), text.slice(1)]);
    expect(blobs?.size).toBe(2);
    for (const [hash, bytes] of blobs ?? []) expect(nodePlatform.sha256(bytes)).toBe(hash);
    expect(new Set(blobsIn(stored))).toStrictEqual(new Set(blobs?.keys()));
    expect(stored.length).toBeLessThan(blobThreshold + 1000);
  });
});

describe("what was encoded stays as it is", () => {
  test("whatever happens to the value that was given", () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const given = { list: [1, { deep: "yes" }], bytes };
    const once = encoded(given);
    const { text } = once;
    given.list.push(2);
    (given.list[1] as { deep: string }).deep = "no";
    bytes[0] = 9;
    const expected = { list: [1, { deep: "yes" }], bytes: new Uint8Array([1, 2, 3]) };
    expect(once.value).toStrictEqual(expected);
    expect(decoded({ ...once, text })).toStrictEqual(expected);
  });

  test("whatever the program does to bytes it was handed", () => {
    const once = encoded(new Uint8Array([1, 2, 3]));
    (once.value as Uint8Array)[0] = 9;
    expect(decoded(once)).toStrictEqual(new Uint8Array([1, 2, 3]));
    (decoded(once) as Uint8Array)[0] = 9;
    expect(decoded(once)).toStrictEqual(new Uint8Array([1, 2, 3]));
  });
});

describe("redaction", () => {
  const secret = "correct-horse-battery";
  const redact = redactor([secret]);
  const apiKey = `sk-proj-${"A1b2".repeat(8)}`;

  test("replaces secrets in values and keys before anything is hashed, and counts them", () => {
    const once = encode(
      { [secret]: [`pass ${secret} and ${secret}`, apiKey], plain: "word", long: secret.padEnd(blobThreshold + 100, ".") },
      nodePlatform,
      redact,
    );
    expect(once.redacted).toBe(5);
    expect(once.value).toMatchObject({ "[redacted]": ["pass [redacted] and [redacted]", "[redacted]"], plain: "word" });
    expect(decoded(once)).toStrictEqual(once.value);
    const stored = [once.text, ...[...(once.blobs?.values() ?? [])].map((bytes) => nodePlatform.text(bytes))].join("\n");
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(apiKey);
  });

  test("finds declared secrets in base64 and in URLs", () => {
    const odd = "pässword/with?signs";
    const clean = redactor([odd]);
    for (const text of [odd, encodeURIComponent(odd), Buffer.from(odd).toString("base64")])
      expect(clean(`x=${text}`)?.text).toMatch(/^x=\[redacted\]=?$/);
  });

  test("keeps both fields when two keys become the same, whatever their order", () => {
    const other = `ghp_${"a1B2".repeat(9)}`;
    const one = encode({ [secret]: 1, [other]: 2 }, nodePlatform, redact);
    expect(Object.values(one.value as object).sort()).toStrictEqual([1, 2]);
    expect(encode({ [other]: 2, [secret]: 1 }, nodePlatform, redact).text).toBe(one.text);
    expect(encode({ a: 1, [secret]: 2 }, nodePlatform, redact).text).toBe('{"[redacted]":2,"a":1}');
  });

  test("leaves ordinary text alone", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const once = encode(value, nodePlatform, redact);
        expect(once.redacted).toBe(0);
        expect(once.text).toBe(encoded(value).text);
      }),
    );
  });
});

describe("refused, naming the field", () => {
  class Point {
    readonly x = 1;
  }
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = { cyclic };
  const cases: readonly (readonly [string, unknown, RegExp])[] = [
    ["bigint", 10n, /is a bigint/],
    ["Date", new Date(Number.NaN), /is a Date.*store a valid one/],
    ["Map", new Map(), /is a Map.*fromEntries/],
    ["Set", new Set(), /is a Set/],
    ["RegExp", /x/, /is a RegExp/],
    ["Error", new Error("no"), /is an Error.*message/],
    ["URL", new URL("https://example.com"), /is a URL/],
    ["Blob", new Blob(["x"]), /is a Blob/],
    ["ArrayBuffer", new ArrayBuffer(2), /is an ArrayBuffer/],
    ["Float64Array", new Float64Array(2), /is a Float64Array/],
    ["Promise", Promise.resolve(1), /is a Promise.*await it first/],
    ["Session", testRath().session("go"), /is a Session,.*store its output, its text or its id/],
    ["function", () => 1, /is a function/],
    ["symbol", Symbol("s"), /is a symbol/],
    ["class instance", new Point(), /is a Point/],
    // Mutant: it is named by its constructor, which has no name.
    ["generator", (function* () {})(), /is a generator, .*store what it gives, as a list/],
    ["async generator", (async function* () {})(), /is an async generator, .*store what it gives, as a list/],
    ["instance of a class without a name", new (class {})(), /is an object without a plain prototype, which/],
    ["boxed number", Object(1), /is a Number/],
    ["inherited fields", Object.create({ hidden: 1 }), /is an Object/],
    ["cyclic", cyclic, /contains itself/],
    // biome-ignore lint/suspicious/noSparseArray: the hole is the point
    ["sparse array", [1, , 3], /hole in a sparse array/],
    ["symbol key", { [Symbol("s")]: 1 }, /symbol keys/],
    ["lone surrogate in a key", { "\ud800": 1 }, /lone surrogate/],
  ];

  test.each(cases)("a %s", (_name, bad, message) => {
    const thrown = catching(() => encode({ list: ["fine", { bad }] }, nodePlatform, keepAll, "result"));
    expect(RathError.is(thrown, "value.unsupported")).toBe(true);
    expect((thrown as RathError).message).toMatch(message);
    expect((thrown as RathError).details["field"]).toMatch(/^result\.list\[1\]\.bad/);
    expect((thrown as RathError).message).toContain("result.list[1].bad");
  });

  test("and the same object twice is no cycle", () => {
    const shared = { a: 1 };
    expect(decoded(encoded([shared, { shared }]))).toStrictEqual([{ a: 1 }, { shared: { a: 1 } }]);
  });

  test("an array that carries named fields, which JSON would drop", () => {
    expect(catching(() => encoded(Object.assign([1], { extra: 2 })))).toMatchObject({ code: "value.unsupported" });
    expect(catching(() => encoded(/(?<word>\w+)/.exec("one")))).toMatchObject({ code: "value.unsupported" });
  });
});

function catching(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
