import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { literalsIn, patternOf } from "./grep-pattern.ts";

describe("what of a regular expression must be there", () => {
  test.each([
    ["connection refused", ["connection refused"]],
    ["colou?r", ["colo", "r"]],
    ["ab+c", ["ab", "c"]],
    ["err(or|no)", []],
    ["a.*needle$", ["a", "needle"]],
    ["x{2,3}yes", ["yes"]],
    ["\\bword\\.txt", ["word.txt"]],
    ["[abc]def", ["def"]],
    ["\\u0041bcd", []],
    ["(?i)abc", []],
    ["(abc)*def", ["def"]],
  ])("%s", (source, literals) => {
    expect(literalsIn(source)).toEqual(literals);
  });

  test("every match has it", () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[abc.*+?()[\]\\{}12,]{1,12}$/),
        fc.string({ unit: fc.constantFrom(..."abc12,."), maxLength: 30 }),
        (source, text) => {
          let expression: RegExp;
          try {
            expression = new RegExp(source, "u");
          } catch {
            return;
          }
          const match = expression.exec(text)?.[0];
          if (match !== undefined) for (const literal of literalsIn(source)) expect(match).toContain(literal);
        },
      ),
      { numRuns: 5000 },
    );
  });

  test("one that would never end is stopped", () => {
    const began = performance.now();
    expect(() => patternOf("(a+)+$", { regex: true }).find([`${"a".repeat(60)}b`])).toThrow(/takes too long/);
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(() => patternOf("(", { regex: true })).toThrow(/is no regular expression/);
    expect(() => patternOf("", {})).toThrow(/nothing to search for/);
  });
});
