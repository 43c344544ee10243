/** JSON for programs: the same value however it is written, and words for what JSON has none for. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { plainJson } from "./neutral.ts";

test("what JSON can say is said as JSON says it", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => plainJson(value) === JSON.stringify(value)));
});

test("what JSON has no words for is found at any depth", () => {
  const wordless = fc.constantFrom<readonly [unknown, unknown]>(
    [Number.NaN, { $: "number", text: "NaN" }],
    [Number.NEGATIVE_INFINITY, { $: "number", text: "-Infinity" }],
    [12n, "12"],
    [new Uint8Array([1, 2, 3]), { $: "bytes", base64: "AQID" }],
    [{ toJSON: () => Number.NaN }, { $: "number", text: "NaN" }],
  );
  fc.assert(
    fc.property(wordless, fc.array(fc.constantFrom("list", "a", "b"), { maxLength: 6 }), ([value, words], path) => {
      const within = (inner: unknown): unknown =>
        path.reduce<unknown>((found, at) => (at === "list" ? [1, found, "x"] : { x: null, [at]: found }), inner);
      expect(JSON.parse(plainJson(within(value)))).toEqual(within(words));
    }),
  );
});
