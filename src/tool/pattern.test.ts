import fc from "fast-check";
import { expect, test } from "vitest";
import { matches, mayMatch } from "./pattern.ts";

const word = fc.string({ unit: fc.constantFrom("a", "b", " "), maxLength: 4 });
const expression = (pattern: string): RegExp => new RegExp(`^${pattern.split("*").join(".*")}$`, "s");

test("a text that is known whole may match when it does", () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 4 }), word, (parts, text) => {
      const pattern = parts.join("*");
      expect(matches(pattern, text)).toBe(expression(pattern).test(text));
      expect(mayMatch(pattern, text, "?")).toBe(matches(pattern, text));
    }),
  );
});

test("a text that is known in part may match exactly when something in its place would", () => {
  const letters = ["a", "b", " "];
  let fillings = [""];
  for (let length = 0; length < 4; length++)
    fillings = [...new Set([...fillings, ...fillings.flatMap((text) => letters.map((one) => text + one))])];
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 2 }), { maxLength: 3 }),
      word,
      word,
      (parts, before, after) => {
        const pattern = parts.join("*");
        const would = fillings.some((filling) => matches(pattern, `${before}${filling}${after}`));
        // All fillings of four letters are enough for patterns with at most four letters outside their stars.
        fc.pre(pattern.replaceAll("*", "").length <= 4);
        expect(mayMatch(pattern, `${before}?${after}`, "?")).toBe(would);
      },
    ),
  );
});
