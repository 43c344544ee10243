import { describe, expect, test } from "vitest";
import { answerFields, answerOf } from "./answer-fields.ts";

const survey = {
  type: "object",
  properties: {
    send: { type: "boolean", description: "Send it now" },
    day: { enum: ["monday", "friday"] },
    copies: { type: "integer", minimum: 1, maximum: 9 },
    note: { type: "string" },
  },
  required: ["send", "day", "copies"],
};

describe("the form of an answer", () => {
  test("has a field for each simple property, or one for a simple value", () => {
    expect(answerFields(survey)?.map(({ name, kind, required }) => [name, kind, required])).toEqual([
      ["send", "boolean", true],
      ["day", "choice", true],
      ["copies", "integer", true],
      ["note", "text", false],
    ]);
    expect(answerFields({ type: "string" })).toMatchObject([{ name: "", kind: "text", required: true }]);
    expect(answerFields({ anyOf: [{ const: "a" }, { const: "b" }] })).toMatchObject([{ kind: "choice", choices: ["a", "b"] }]);
  });

  test.each([
    [{}],
    [{ type: "array", items: {} }],
    [{ type: "object", properties: {} }],
    [{ type: "object", properties: { deep: { type: "object", properties: {} } } }],
    [{ type: "object", properties: { odd: null } }],
    [{ enum: [1, 2] }],
    [{ anyOf: [null, {}] }],
  ])("is written as JSON where it takes more: %j", (schema) => {
    expect(answerFields(schema)).toBeUndefined();
  });

  test("gives a value of the right types, without what was left out", () => {
    const fields = answerFields(survey) ?? [];
    expect(answerOf(fields, { send: true, day: "friday", copies: "3", note: "" })).toEqual({
      answer: { send: true, day: "friday", copies: 3 },
    });
    expect(answerOf(fields, { send: "false", day: "friday", copies: "1.5" })).toHaveProperty("problem");
    expect(answerOf(fields, { send: false, copies: "1" })).toMatchObject({ problem: "day is missing." });
    expect(answerOf(fields, { day: "monday", copies: "1" })).toMatchObject({ problem: "Send it now is missing." });
  });

  test("gives one value where one is asked for", () => {
    expect(answerOf(answerFields({ type: "string" }) ?? [], { "": "yes" })).toEqual({ answer: "yes" });
    expect(answerOf(answerFields({ type: "boolean" }) ?? [], { "": "false" })).toEqual({ answer: false });
    expect(answerOf(answerFields({ type: "number" }) ?? [], { "": "x" })).toHaveProperty("problem");
  });
});
