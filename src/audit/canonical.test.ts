/** The short way of judging canonical JSON says the same as building the canonical text and comparing. */
import canonicalize from "canonicalize";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readCanonical } from "./canonical.ts";

const key = fc.oneof(fc.constantFrom("", "$", "a", "b", "10", "9", "1a", "__proto__", "\n", "é", "\u{1f30a}"), fc.string());
const leaf = fc.oneof(
  fc.constantFrom(0, -0, 5, 100, -100, 120, 1000, 1e21, 0.001, 0.5, 2 ** 53, true, false, null),
  fc.integer(),
  fc.constantFrom("", '"', "\\", "\n\t", "\u0007", "\u2028", "/", "a b", "\u{1f30a}"),
  fc.string({ unit: "grapheme" }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie("value"), { maxLength: 3 }), fc.dictionary(key, tie("value"), { maxKeys: 4 })),
}));

/** What somebody could write instead of a part of a text, most of it still JSON of the same or another value. */
const changes: readonly [RegExp, string][] = [
  [/,/, ", "],
  [/:/, ":\n"],
  [/100/, "1e2"],
  [/1000/, "1e3"],
  [/1000/, "1e3 "],
  [/120/, "12e1"],
  [/5/, "5.0"],
  [/0/, "-0"],
  [/0\.001/, "1e-3"],
  [/0\.001/, "1e-3 "],
  [/9007199254740992/, "9007199254740993"],
  [/\\n/, "\\u000a"],
  [/\//, "\\/"],
  [/a/, "\\u0061"],
  [/\\u0007/, "\\u0007 "],
  [/"a":/, '"a":1,"a":'],
  [/"10":(.*),"9":/, '"9":$1,"10":'],
  [/"a":(.*),"b":/, '"b":$1,"a":'],
  [/\{/, '{"":"\\n\\n\\n\\n",'],
];

test("a text is accepted exactly when it is the canonical text of its value", () => {
  fc.assert(
    fc.property(value, fc.array(fc.constantFrom(...changes), { maxLength: 2 }), (given, changed) => {
      const text = changed.reduce((before, [part, other]) => before.replace(part, other), canonicalize(given) as string);
      let canonical: unknown;
      try {
        canonical = canonicalize(JSON.parse(text)) === text;
      } catch {
        canonical = false;
      }
      const read = readCanonical(Buffer.from(text));
      expect("flaw" in read).toBe(!canonical);
      if ("value" in read) expect(read.value).toEqual(JSON.parse(text));
    }),
    { numRuns: 5000 },
  );
});

test.each([
  ["1e2"],
  ["[1e3 ]"],
  ["[1e3,1 ]"],
  ['{"a":1,"a":1}'],
  ['{"a":1,"b":1e20}'],
  ['{"b":1,"a":2}'],
  ['{"2":1,"1":2}'],
  ['{"a": 1}'],
  ['"\\u0061"'],
  ['"\\/"'],
  ["-0"],
  ["1.0"],
  ["0.10"],
  ["9007199254740993"],
  ["[1e-3 ]"],
  ["[120e1,12e1 ]"],
])("%s is not canonical", (text) => {
  expect(readCanonical(Buffer.from(text))).toHaveProperty("flaw");
});

test.each([["100"], ['{"1":1,"2":2}'], ["0.001"], ['"\\u0007\\n"'], ['"/"'], ['{"":0,"$":[]}'], ["{}"], ["[]"], ["1e+21"]])(
  "%s is canonical",
  (text) => {
    expect(readCanonical(Buffer.from(text))).toHaveProperty("value");
  },
);

test("bytes that are no UTF-8 are refused, and the character that stands for such bytes is not", () => {
  for (const bad of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf0, 0x9f]])
    expect(readCanonical(Buffer.from([0xff, 0x22, ...bad, 0x22]), 1)).toEqual({ flaw: "is not UTF-8" });
  expect(readCanonical(Buffer.from('"\ufffd"'))).toMatchObject({ value: "\ufffd" });
  expect(readCanonical(new Uint8Array(Buffer.from([0xff, 0x22, 0x22])), 1)).toMatchObject({ value: "" });
});
