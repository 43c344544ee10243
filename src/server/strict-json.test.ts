import fc from "fast-check";
import { expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { parseStrictly } from "./strict-json.ts";

const parse = (text: string): unknown => parseStrictly(Buffer.from(text));
const said = (text: string | Uint8Array): string => {
  try {
    parseStrictly(typeof text === "string" ? Buffer.from(text) : text);
  } catch (error) {
    if (RathError.is(error, "request.invalid")) return error.message;
    throw error;
  }
  return "taken";
};

const hasProto = (value: unknown): boolean =>
  typeof value === "object" && value !== null && (Object.hasOwn(value, "__proto__") || Object.values(value).some(hasProto));

test("whatever JSON.stringify writes is read as JSON.parse reads it, unless it has a key __proto__", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), fc.constantFrom("", " ", "\n\t"), (text, space) => {
      const value = JSON.parse(text) as unknown;
      const spaced = space + JSON.stringify(value, null, space) + space;
      if (hasProto(value)) expect(said(spaced)).toContain("__proto__");
      else expect(parse(spaced)).toEqual(value);
    }),
    { numRuns: 300 },
  );
});

test("text that JSON.parse refuses is refused, whatever it is, and none is taken that it reads otherwise", () => {
  const piece = fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "a", '"a"', '"a":1', "1", " ", '\\"', "\\u0061", "null");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const text = pieces.join("");
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        expect(said(text)).toContain("is not JSON");
        return;
      }
      if (said(text) === "taken") expect(parse(text)).toEqual(value);
    }),
    { numRuns: 500 },
  );
});

test("a key that is there twice in one object is found wherever it is, however it is written", () => {
  const key = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom("", "\0", "ä", "🦉", "\u2028", '"', "\\", "constructor"));
  const escaped = (one: string): string =>
    `"${[...one].map((c) => [...c].map((_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")).join("")}"`;
  fc.assert(
    fc.property(key, fc.array(key, { maxLength: 5 }), fc.integer({ min: 0, max: 9 }), fc.boolean(), (twice, others, depth, plain) => {
      const rest = [...new Set(others)].filter((one) => one !== twice).map((one) => `${JSON.stringify(one)}:{"x":[1]}`);
      const once = `{${[`${JSON.stringify(twice)}:1`, ...rest].join(",")}}`;
      const again = `${once.slice(0, -1)},${plain && !/[\ud800-\udfff]/.test(twice) ? escaped(twice) : JSON.stringify(twice)}:2}`;
      const nested = (text: string): string => `${'[{"k":'.repeat(depth)}${text}${"}]".repeat(depth)}`;
      expect(said(nested(once))).toBe("taken");
      expect(said(nested(again))).toContain("twice in one object");
      // The same key in two objects is no key twice.
      expect(said(`[${once},${once}]`)).toBe("taken");
    }),
    { numRuns: 200 },
  );
});

test.each<readonly [string, string | Uint8Array, RegExp]>([
  ["bytes that are not UTF-8", Uint8Array.from([0x22, 0xff, 0x22]), /not UTF-8/],
  ["nothing", "", /not JSON/],
  ["two values", "{} {}", /not JSON/],
  ["nesting without end", "[".repeat(1_000_000), /deeper than 100/],
  ["nesting of objects", `${'{"a":'.repeat(101)}1${"}".repeat(101)}`, /deeper than 100/],
  ["__proto__ in disguise", '{"\\u005f_proto__":{"admin":true}}', /__proto__/],
])("%s is refused by name", (_, text, why) => {
  expect(said(text)).toMatch(why);
});

test("what was sent is not repeated", () => {
  expect(said('{"token": "hunter2-is-secret", broken')).not.toContain("hunter2");
});

test.each<readonly [string, string]>([
  ["a string without an end, full of quotes", `"${'\\"'.repeat(500_000)}`],
  ["backslashes", `"${"\\".repeat(1_000_000)}`],
  ["one long string", JSON.stringify("x".repeat(1_000_000))],
  ["quotes", '"'.repeat(1_000_000)],
  ["braces without an end in turn", "{}".repeat(500_000)],
  ["many keys", JSON.stringify(Object.fromEntries(Array.from({ length: 80_000 }, (_, i) => [`key${i}`, i])))],
  ["many small objects", JSON.stringify(Array.from({ length: 100_000 }, () => ({ a: 1 })))],
])("a megabyte of %s is read or refused in no time", (_, text) => {
  const begun = performance.now();
  said(text);
  expect(performance.now() - begun).toBeLessThan(1000);
});
