/**
 * The server held to its own document. Whoever knows nothing but /openapi.json sends what it allows and what it does not: what it allows is
 * answered as it says, what it does not is refused, and nothing ends with 500 or leaves a store that does not verify.
 */
import { setTimeout } from "node:timers/promises";
import type { ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../src/server/routes/routes.ts";
import { statusOf } from "../../src/server/status.ts";
import { type Filled, filled } from "../support/filled.ts";
import { anyJson, anyText, Document, oddTexts, type Schema } from "../support/from-schema.ts";

interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: "path" | "query";
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>>;
}

interface Input {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const mostMs = 5000;
let world: Filled;
let json: {
  readonly paths: Record<string, Record<string, Omit<Operation, "method" | "path">>>;
  readonly components: { readonly schemas: Record<string, Schema> };
};
let document: Document;
let isError: ValidateFunction;

beforeAll(async () => {
  world = await filled();
  json = (await (await world.server.fetch(new Request("http://localhost/openapi.json"))).json()) as typeof json;
  document = new Document(json);
  isError = document.strictValidator({ $ref: "#/components/schemas/Error" });
});
afterAll(async () => world[Symbol.asyncDispose]());

function operationNamed(name: string): Operation {
  for (const [path, methods] of Object.entries(json.paths))
    for (const [method, operation] of Object.entries(methods))
      if (operation.operationId === name) return { ...operation, method: method.toUpperCase(), path };
  throw new Error(`the document has no ${name}`);
}

// ── what is sent ──

/** Everything that the document allows, mostly about things that are there. */
function inputs(operation: Operation): fc.Arbitrary<Input> {
  const part = (where: "path" | "query"): fc.Arbitrary<Record<string, string>> => {
    const named = (operation.parameters ?? []).filter((one) => one.in === where);
    // Whoever asks to wait is answered later: nobody waits here.
    const valuesOf = ({ name, schema }: (typeof named)[number]): fc.Arbitrary<string> =>
      name === "wait" ? fc.constantFrom("0", "0.05") : document.values(schema, world.known, name).map(written);
    const values = named.map((one) => [one.name, valuesOf(one)] as const);
    return fc.record(Object.fromEntries(values), {
      requiredKeys: named.filter(({ required }) => required === true).map(({ name }) => name),
    });
  };
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const body = schema === undefined ? fc.constant(undefined) : document.values(schema, world.known);
  return fc.record({ path: part("path"), query: part("query"), body });
}

/** A call about things that are there. */
function wellKnown({ operationId, parameters = [] }: Operation): Input {
  const needed = (where: string): Record<string, string> => {
    const names = parameters.filter((one) => one.in === where && one.required === true).map(({ name }) => name);
    return Object.fromEntries(names.map((name) => [name, String(world.known[name]?.[0])]));
  };
  return { path: needed("path"), query: needed("query"), body: undefined, ...world.well[operationId] };
}

/** Numbers in digits alone. */
function written(value: unknown): string {
  return typeof value === "number" && !Number.isInteger(value) ? value.toFixed(3) : String(value);
}

/** One that it does not allow, made of one that it does. */
function wrongInputs(operation: Operation): fc.Arbitrary<Input> {
  const right = inputs(operation);
  const wrong: fc.Arbitrary<Input>[] = [];
  for (const { name, in: where, schema, required } of operation.parameters ?? []) {
    const fits = document.validator(schema);
    const isNumber = /^(integer|number)$/.test(String(document.resolve(schema).type));
    const text = fc.oneof(anyText({ minLength: 1, maxLength: 20 }), fc.constantFrom(...oddTexts, "x".repeat((schema.maxLength ?? 0) + 1)));
    // A query is text: numbers are written in digits alone.
    const refused = text.filter((one) => !/^\.{1,2}$/.test(one) && (isNumber ? !/^\d+(\.\d+)?$/.test(one) : !fits(one)));
    if (
      typeof schema.type !== "string" ||
      (schema.type === "string" && schema.maxLength === undefined && schema.enum === undefined && schema.pattern === undefined)
    )
      continue;
    wrong.push(fc.tuple(right, refused).map(([input, value]) => ({ ...input, [where]: { ...input[where], [name]: value } })));
    if (where === "query" && required === true) wrong.push(right.map((input) => ({ ...input, query: without(input.query, name) })));
  }
  wrong.push(right.map((input) => ({ ...input, query: { ...input.query, nothingKnowsThis: "1" } })));
  const schema = operation.requestBody?.content["application/json"]?.schema;
  if (schema !== undefined && !notAlone.has(operation.operationId)) wrong.push(wrongBodies(right, schema));
  return fc.oneof(...wrong);
}

function wrongBodies(right: fc.Arbitrary<Input>, schema: Schema): fc.Arbitrary<Input> {
  const fits = document.validator(schema);
  return fc
    .tuple(right, anyJson, fc.nat(), fc.constantFrom("replaced", "field", "left out", "more"))
    .map(([input, value, at, how]) => {
      const { body } = input;
      if (how === "replaced" || typeof body !== "object" || body === null) return { ...input, body: value };
      const names = Object.keys(body);
      const name = names[at % Math.max(1, names.length)] ?? "x";
      if (how === "left out") return { ...input, body: without(body, name) };
      return { ...input, body: { ...body, [how === "more" ? "nothingKnowsThis" : name]: value } };
    })
    .filter(({ body }) => body !== undefined && !fits(JSON.parse(JSON.stringify(body))));
}

function without(object: object, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(object).filter(([one]) => one !== name));
}

// ── what is answered ──

interface Answered {
  readonly status: number;
  readonly code?: string;
  readonly problems?: readonly { readonly at: string; readonly message: string }[];
}

/** Calls, and holds the answer to the document. */
async function call(operation: Operation, input: Input, validators: Map<string, ValidateFunction>): Promise<Answered> {
  const response = await inTime(world.admin.response(operation.operationId, { ...input.query, ...input.path }, input.body), "an answer");
  const { status } = response;
  const type = response.headers.get("content-type") ?? "";
  const documented = operation.responses[status];
  if (documented === undefined) {
    expect(status).not.toBe(500);
    // Another protocol, whose errors look as it says.
    if (operation.operationId === "mcp" && status !== 401) return { status };
    const value = await inTime(response.json(), "a body");
    const { error } = value as { error: { code: keyof typeof statusOf; details: { problems?: Answered["problems"] } } };
    expect(isError(value), JSON.stringify([value, isError.errors])).toBe(true);
    expect(statusOf[error.code], JSON.stringify(value)).toBe(status);
    return { status, code: error.code, ...(error.details.problems === undefined ? {} : { problems: error.details.problems }) };
  }
  if (documented.content === undefined) expect(await response.text()).toBe("");
  else if (type.startsWith("application/json")) {
    const schema = documented.content["application/json"]?.schema ?? {};
    const validate = validators.get(String(status)) ?? document.strictValidator(schema);
    validators.set(String(status), validate);
    const value = await inTime(response.json(), "a body");
    expect(validate(value) || validate.errors, JSON.stringify(value).slice(0, 2000)).toBe(true);
  } else if (type.startsWith("text/event-stream")) {
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const { value } = await inTime(reader.read(), "the beginning of a stream");
    expect(new TextDecoder().decode(value)).toMatch(/^(?:(?:id|event|data|retry|): ?.*\n)+\n/);
    await reader.cancel();
  } else await inTime(response.arrayBuffer(), "a body");
  return { status };
}

/** A queue that is full, as that of exports may be on a slow machine, is asked again, as its answer says. */
async function patiently(ask: () => Promise<Answered>): Promise<Answered> {
  const until = performance.now() + mostMs;
  for (;;) {
    const answered = await ask();
    if (answered.code !== "server.busy" || performance.now() > until) return answered;
    await setTimeout(50);
  }
}

async function inTime<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = globalThis.setTimeout(() => reject(new Error(`${what} did not come within ${mostMs} ms`)), mostMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** What takes away what others need comes last. */
const taking = [
  ...["sendSignal", "decide", "getDecision", "cancelRun", "cancelJob", "forgetMemory", "retractMemory", "rollbackMemory"],
  ...["mergeSessions", "rejectSession", "rotateKey", "revokeKey", "deleteSession", "erase"],
];
const names = routes.map(({ name }) => name);
const operations = [...names.filter((name) => !taking.includes(name)), ...taking];
/** Those that nothing goes well with that can be made by chance: a code of an invitation, a bundle, another protocol. */
const notAlone = new Set(["exchangeCode", "mcp", "importSession"]);

test("what comes of a job that is not done is in the document, too", () => {
  expect(operationNamed("getJobResult").responses[202]?.content?.["application/json"]?.schema).toBeDefined();
});

describe("every operation", () => {
  test.each(operations)("%s takes what the document allows and answers as it says", async (name) => {
    const operation = operationNamed(name);
    const validators = new Map<string, ValidateFunction>();
    let well = 0;
    await fc.assert(
      fc.asyncProperty(inputs(operation), async (input) => {
        const { status, problems = [] } = await patiently(() => call(operation, input, validators));
        if (status < 400) well++;
        // What fields mean together is said in words; each by itself is as described.
        expect(problems.filter(({ at }) => at.includes("."))).toEqual([]);
      }),
      { numRuns: 15, examples: [[wellKnown(operation)]] },
    );
    if (!notAlone.has(name)) expect(well, "calls that went well").toBeGreaterThan(0);
  });

  test.each(operations.filter((name) => name !== "mcp"))("%s refuses what the document does not allow", async (name) => {
    const operation = operationNamed(name);
    await fc.assert(
      fc.asyncProperty(wrongInputs(operation), async (input) => {
        const { status, code } = await call(operation, input, new Map());
        expect([status, code]).toEqual([400, "request.invalid"]);
      }),
      { numRuns: 15 },
    );
  });

  test("leaves a store in which every session verifies", async () => {
    const { items } = await world.admin.ask("getSessions", { limit: 500, fields: "index" });
    expect(items.length).toBeGreaterThan(5);
    for (const { id } of items)
      expect(await world.admin.ask("verifySession", { session: id }, {})).toMatchObject({ problems: [], ok: true });
  });
});
