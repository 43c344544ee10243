import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readInput } from "./input.ts";

describe("arguments as a model writes them", () => {
  test.each([
    ["nothing", "", {}, false],
    ["spaces", " \n ", {}, false],
    ["an object", '{"a":1}', { a: 1 }, false],
    ["null", "null", {}, true],
    ["a fence", '```json\n{"a":1}\n```', { a: 1 }, true],
    ["a fence without a language", '```\n{"a":1}\n```', { a: 1 }, true],
    ["trailing commas", '{"a":[1,2,],}', { a: [1, 2] }, true],
    ["commas inside strings stay", '{"a":"x,}","b":[",]",],}', { a: "x,}", b: [",]"] }, true],
    ["a string that holds JSON", '"{\\"a\\":1}"', { a: 1 }, true],
    ["an empty string", '""', {}, true],
    ["a key with the name of the prototype", '{"__proto__":{"polluted":1}}', JSON.parse('{"__proto__":{"polluted":1}}'), false],
  ])("%s is read", (_, raw, input, repaired) => {
    expect(readInput(raw)).toEqual({ input, repaired });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test.each([
    ["a number", "7", /expected a JSON object, got a number/],
    ["an array", "[1]", /expected a JSON object, got an array/],
    ["text", '"hello"', /expected a JSON object, got a string/],
    ["half an object", '{"a":', /not JSON: \{"a":/],
    ["words", "please call me", /not JSON/],
    ["two objects", '{"a":1}{"b":2}', /not JSON/],
  ])("%s is refused, and why", (_, raw, problem) => {
    expect(readInput(raw)).toEqual({ problem: expect.stringMatching(problem) });
  });

  test("a long text that is no JSON is shown shortened", () => {
    const read = readInput(`{${"x".repeat(1_000_000)}`);
    expect("problem" in read && read.problem.length).toBeLessThan(300);
  });

  test.each([
    ["nested deeper than the log keeps", `{"a":${"[".repeat(1200)}${"]".repeat(1200)}}`, /nested deeper than 900/],
    ["nested deeper than anything", `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`, /nested deeper than 900/],
    ["a key with half a character", '{"\\ud800":1}', /key .* lone surrogate/],
    ["an integer that numbers cannot hold", '{"id":12345678901234567890}', /12345678901234567890 .* write it as a string/],
    ["a key written twice", '{"path":"a","b":{"x":1},"path":"b"}', /"path" is written twice/],
    ["a key written twice, escaped", '{"p\\u0061th":"a","path":"b"}', /"path" is written twice/],
  ])("what would be lost or could not be kept is refused: %s", (_, raw, problem) => {
    expect(readInput(raw)).toEqual({ problem: expect.stringMatching(problem) });
  });

  test.each([
    ["the same key in different objects", '{"a":{"x":1},"b":[{"x":1},{"x":2}],"x":3}'],
    ["braces and quotes in strings", '{"a":"{\\"x\\":1,\\"x\\":2}","b":"\\\\","c":"12345678901234567890"}'],
    [
      "the largest safe integers, fractions and exponents",
      '{"a":9007199254740991,"b":-9007199254740991,"c":0.1,"d":1e21,"e":3.14159265358979312}',
    ],
    ["900 levels", `{"a":${"[".repeat(800)}${"]".repeat(800)}}`],
  ])("%s is read as it stands", (_, raw) => {
    expect(readInput(raw)).toEqual({ input: JSON.parse(raw), repaired: false });
  });

  test("every JSON object is read as JSON.parse reads it", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(readInput(text)).toEqual({ input: JSON.parse(text), repaired: false });
      }),
    );
  });

  test("whatever is written, reading neither throws nor takes long", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "1", "a", "`", "\n", "-", "u") }), (raw) => {
        readInput(raw);
      }),
      { numRuns: 2000 },
    );
    const start = performance.now();
    for (const raw of [
      '"\\'.repeat(50_000),
      "[".repeat(100_000),
      ",".repeat(100_000),
      `{"a":"${"x".repeat(1_000_000)}"}`,
      `,${" ".repeat(50_000)}x`.repeat(5),
    ])
      readInput(raw);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
