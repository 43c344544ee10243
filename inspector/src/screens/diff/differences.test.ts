import { describe, expect, test } from "vitest";
import { differences } from "./differences.ts";

describe("differences", () => {
  test("of equal values are none", () => {
    expect(differences({ a: [1, { b: "x" }] }, { a: [1, { b: "x" }] })).toEqual([]);
    expect(differences(Number.NaN, Number.NaN)).toEqual([]);
  });

  test("name the place and both sides", () => {
    const a = { role: "user", parts: [{ type: "text", text: "Fix the cause." }] };
    const b = { role: "user", parts: [{ type: "text", text: "Rewrite it all." }, { type: "file" }], more: 1 };
    expect(differences(a, b)).toEqual([
      { path: "parts[0].text", a: "Fix the cause.", b: "Rewrite it all." },
      { path: "parts[1]", a: undefined, b: { type: "file" } },
      { path: "more", a: undefined, b: 1 },
    ]);
  });

  test("of another kind of value are the whole of it", () => {
    expect(differences({ a: [1] }, { a: { 0: 1 } })).toEqual([{ path: "a", a: [1], b: { 0: 1 } }]);
    expect(differences("x", null)).toEqual([{ path: "", a: "x", b: null }]);
  });

  test("are no more than can be read, however large the values are", () => {
    const many = Array.from({ length: 100_000 }, (_, index) => index);
    expect(
      differences(
        many,
        many.map((one) => -one - 1),
      ),
    ).toHaveLength(50);
  });

  test("do not follow what is nested without end", () => {
    let [a, b]: [unknown, unknown] = [1, 2];
    for (let depth = 0; depth < 2000; depth++) [a, b] = [{ in: a }, { in: b }];
    expect(differences(a, b)).toHaveLength(1);
  });

  test("names like __proto__ are names", () => {
    expect(differences(JSON.parse('{"__proto__":1}'), {})).toEqual([{ path: "__proto__", a: 1, b: undefined }]);
  });
});
