import { describe, expect, test } from "vitest";
import { z } from "zod";
import { RathError } from "../session/errors.ts";
import type { Schema } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "./tool.ts";

const echo = (input: Schema) => tool({ name: "echo", description: "Gives back its input.", input, repeat: "safe", run: (given) => given });

async function call(input: Schema, given: unknown): Promise<unknown> {
  await using rath = testRath();
  return (await rath.session().call(echo(input), given)).output;
}
async function problem(input: Schema, given: unknown): Promise<RathError> {
  await using rath = testRath();
  return await rath
    .session()
    .call(echo(input), given)
    .then(
      () => expect.fail("it was taken"),
      (error: RathError) => error,
    );
}

/** A Standard Schema of nobody we know. */
function standard(validate: (value: unknown) => unknown, json: object | (() => object) = { type: "object" }): Schema {
  const give = typeof json === "function" ? json : () => json;
  return { "~standard": { version: 1, vendor: "mine", validate, jsonSchema: { input: give } } } as unknown as Schema;
}

describe("an input schema", () => {
  test("of zod gives defaults, makes transforms, and strips what it does not know", async () => {
    const schema = z.object({ a: z.string().transform(Number), b: z.number().default(2) });
    expect(await call(schema, { a: "1", c: 3 })).toEqual({ a: 1, b: 2 });
  });

  test("of zod says what is wrong and where", async () => {
    const error = await problem(z.object({ a: z.object({ b: z.array(z.number()) }) }), { a: { b: [1, "x"] } });
    expect(error).toMatchObject({ code: "effect.failed", message: expect.stringMatching(/"echo" failed: .*a\.b\.1: .*expected number/) });
  });

  test("that follows the Standard Schema convention is used as it is", async () => {
    const schema = standard((value) =>
      (value as { n?: unknown }).n === 1 ? { value: { n: "one" } } : { issues: [{ message: "not one", path: [{ key: "n" }] }] },
    );
    expect(await call(schema, { n: 1 })).toEqual({ n: "one" });
    expect((await problem(schema, { n: 2 })).message).toMatch(/n: not one/);
  });

  test("written as JSON Schema is enforced: types, required, enum, no further fields", async () => {
    const schema = {
      type: "object",
      properties: { path: { type: "string" }, mode: { enum: ["r", "w"] } },
      required: ["path"],
      additionalProperties: false,
    } as const;
    expect(await call(schema, { path: "a", mode: "r" })).toEqual({ path: "a", mode: "r" });
    expect((await problem(schema, { path: 1 })).message).toMatch(/path: /);
    expect((await problem(schema, {})).message).toMatch(/path: /);
    expect((await problem(schema, { path: "a", mode: "x" })).message).toMatch(/mode: /);
    expect((await problem(schema, { path: "a", more: 1 })).message).toMatch(/more/);
  });

  test.each([
    ["a type that is none", { type: "strin" }, /\(Unsupported type: strin\)/],
    ["a reference to nothing", { $ref: "#/nowhere" }, /\(Reference not found: #\/nowhere\)/],
    ["a condition", { if: { type: "string" } }, /\(Conditional schemas/],
    ["a pattern that is none", { type: "string", pattern: "(" }, /\(Invalid regular expression/],
  ])("written as JSON Schema with %s is refused when the tool is made", (_, a, message) => {
    const make = () => echo({ type: "object", properties: { a } } as Schema);
    expect(make).toThrow(expect.objectContaining({ code: "tool.invalid", message: expect.stringMatching(message) }));
    expect(make).toThrow(/^The input schema of tool "echo" cannot be checked .*: mend it, or give a schema of zod\.$/);
  });

  test("that validates asynchronously is waited for", async () => {
    const schema = z.object({ a: z.string().refine(async (a) => a !== "bad", "is bad") });
    expect(await call(schema, { a: "good" })).toEqual({ a: "good" });
    expect((await problem(schema, { a: "bad" })).message).toMatch(/a: is bad/);
  });

  test.each([
    ["throws", () => standard(() => JSON.parse("{"))],
    ["rejects", () => standard(() => Promise.reject(new Error("schema server is down")))],
    ["rejects with no error", () => standard(() => Promise.reject("no"))],
    ["gives nothing", () => standard(() => undefined)],
    ["gives nothing later", () => standard(async () => undefined)],
  ])("that %s is a result, not a crash", async (_, schema) => {
    const error = await problem(schema(), {});
    expect([error.code, error.session?.calls.length]).toEqual(["effect.failed", 1]);
    expect(error.message).toMatch(/does not fit/);
  });

  test("may validate by a promise of another kind", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library
    const schema = standard((value) => ({ then: (resolve: (result: unknown) => void) => resolve({ value }) }));
    expect(await call(schema, { a: 1 })).toEqual({ a: 1 });
  });

  test.each<readonly [string, Schema, RegExp]>([
    ["gives no JSON Schema", { "~standard": { version: 1, vendor: "mine", validate: () => ({}) } }, /comes from "mine", which cannot give/],
    [
      "throws when asked for JSON Schema",
      standard(
        () => ({}),
        () => JSON.parse("{"),
      ),
      /cannot be written as JSON Schema/,
    ],
    ["is for no object", standard(() => ({}), { type: "string" }), /no type "object"/],
    ["is a zod shape without z.object", { city: z.string() } as never, /no type "object", .*give z\.object\(\{ … \}\) or/],
    ["is a cycle", cycle(), /not plain JSON/],
  ])("that %s is refused when the tool is made", (_, schema, message) => {
    expect(() => echo(schema)).toThrow(RathError);
    expect(() => echo(schema)).toThrow(message);
  });

  test("belongs to the revision of the tool, its code does not", () => {
    const revision = (input: Schema) => echo(input)["~tool"].revision;
    expect(revision(z.object({ a: z.string() }))).toBe(revision(z.object({ a: z.string() })));
    expect(revision(z.object({ a: z.string() }))).not.toBe(revision(z.object({ a: z.number() })));
  });
});

function cycle(): Schema {
  const schema: Record<string, unknown> = { type: "object" };
  schema["properties"] = schema;
  return schema as unknown as Schema;
}
