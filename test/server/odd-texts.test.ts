/**
 * Texts that JSON can carry and others cannot: half a character, which UTF-8 has no bytes for, and NUL, which PostgreSQL does not keep.
 * Whatever the document calls a text may hold them, and no call ends with 500 for it.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { routes } from "../../src/server/routes/routes.ts";
import { type Filled, filled } from "../support/filled.ts";
import { Document, type Schema } from "../support/from-schema.ts";
import { freshDatabase } from "../support/postgres.ts";
import type { Asked } from "../support/served.ts";

const odds = ["\ud800", "a\u0000"];
/** Bodies and queries of each call. */
const samples = 10;

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: "path" | "query"; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface Input {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** What others need is taken away last. */
const last = ["cancelRun", "forgetMemory", "retractMemory", "rollbackMemory", "rejectSession", "rotateKey", "revokeKey", "deleteSession"];
const names = [...routes.map(({ name }) => name).filter((name) => !last.includes(name)), ...last];

describe.each(["memory", "postgres"])("in a store of %s", (kind) => {
  let world: Filled;
  let database: Awaited<ReturnType<typeof freshDatabase>> | undefined;
  let document: Document;
  let operations: ReadonlyMap<string, Operation>;

  beforeAll(async () => {
    database = kind === "postgres" ? await freshDatabase() : undefined;
    world = await filled(database?.url ?? "memory");
    const json = await (await world.server.fetch(new Request("http://localhost/openapi.json"))).json();
    const { paths } = json as { readonly paths: Record<string, Record<string, Operation>> };
    document = new Document(json as Record<string, unknown>);
    operations = new Map(Object.values(paths).flatMap((some) => Object.values(some).map((one) => [one.operationId, one])));
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  /** A call that goes well where one is known; the same with other bodies that the document allows, and with other queries. */
  function inputs({ operationId, parameters = [], requestBody }: Operation): readonly Input[] {
    const well = world.well[operationId];
    const path = Object.fromEntries(parameters.filter((one) => one.in === "path").map(({ name }) => [name, world.known[name]?.[0]]));
    const good: Input = { path: { ...path, ...well?.path }, query: { ...well?.query }, body: well?.body };
    const queried = parameters
      .filter((one) => one.in === "query")
      .map((one) => [one.name, document.values(one.schema, world.known, one.name)]);
    const schema = requestBody?.content["application/json"]?.schema;
    const some = <T>(values: fc.Arbitrary<T>): T[] => fc.sample(values, { numRuns: samples, seed: 7 });
    return [
      good,
      ...(schema === undefined ? [] : some(document.values(schema, world.known)).map((body) => ({ ...good, body }))),
      ...some(fc.record(Object.fromEntries(queried))).map((query) => ({ ...good, query: { ...query, ...good.query } })),
    ];
  }

  function fits({ parameters, requestBody }: Operation, input: Input, [where, field]: readonly (string | number)[]): boolean {
    const schema =
      where === "body"
        ? requestBody?.content["application/json"]?.schema
        : parameters?.find((one) => one.in === where && one.name === field)?.schema;
    return schema !== undefined && document.validator(schema)(where === "body" ? input.body : input[where as "query"][field as string]);
  }

  // Mutants: a job is named by texts as they came; a session that somebody else makes is not looked at; titles may hold NUL.
  test("every text that the document allows is taken or refused, and nothing fails for it", async () => {
    const [taken, failed]: [Set<string>, string[]] = [new Set(), []];
    for (const name of names) {
      const operation = operations.get(name) as Operation;
      const sent = new Map<string, number>();
      for (const input of inputs(operation))
        for (const odd of odds)
          for (const at of textsIn(input, [])) {
            const text = `${name} ${described(at)} ${JSON.stringify(odd)}`;
            const changed = replaced(input, at, odd) as Input;
            const times = sent.get(text) ?? 0;
            // What is refused may be so for another reason: it is asked once more, with another body.
            if (taken.has(text) || times > 1 || !fits(operation, changed, at)) continue;
            sent.set(text, times + 1);
            const { status, body } = await heard(
              await world.admin.response(name, { ...changed.query, ...changed.path } as Asked, changed.body),
            );
            if (status < 400) taken.add(text);
            if (status >= 500 || body.includes("refused a value")) failed.push(`${text}: ${status} ${body}`);
          }
    }
    expect(failed).toEqual([]);
    for (const text of ['createSession body.title "\\ud800"', 'startExport body.service "\\ud800"', 'noteInSession body.text "a\\u0000"'])
      expect(taken).toContain(text);
    expect(taken.size).toBeGreaterThan(60);
  });

  test("a name with NUL is refused, and the next one is kept", async () => {
    for (const body of [{ title: "a\0" }, { tags: ["\0"] }, { principal: "\0ada" }])
      expect(await world.admin.refused("createSession", {}, body)).toMatchObject({ status: 400, code: "request.invalid" });
    const runtime = runtimeOf(world.server.rath.session());
    expect(() => runtime.session({ title: "a\0" }, "human:ada")).toThrow(/title has a NUL character/);
    expect(await world.admin.ask("createSession", {}, { title: "a" })).toMatchObject({ title: "a" });
  });
});

/** A stream is not waited for. */
async function heard(response: Response): Promise<{ readonly status: number; readonly body: string }> {
  if (response.status >= 400) return { status: response.status, body: await response.text() };
  await response.body?.cancel();
  return { status: response.status, body: "" };
}

/** Where a text stands; what is any JSON is all the same. */
function described(at: readonly (string | number)[]): string {
  return at
    .map((part) => (typeof part === "number" || !/^[a-z]+$/i.test(part) ? "*" : part))
    .slice(0, 5)
    .join(".");
}

/** Where texts are in it. */
function* textsIn(value: unknown, at: readonly (string | number)[]): Generator<readonly (string | number)[]> {
  if (typeof value === "string") yield at;
  else if (Array.isArray(value)) for (const [index, one] of value.entries()) yield* textsIn(one, [...at, index]);
  else if (typeof value === "object" && value !== null) for (const [name, one] of Object.entries(value)) yield* textsIn(one, [...at, name]);
}

function replaced(value: unknown, [first, ...rest]: readonly (string | number)[], odd: string): unknown {
  if (first === undefined) return odd;
  if (Array.isArray(value)) return value.map((one, index) => (index === first ? replaced(one, rest, odd) : one));
  return { ...(value as object), [first]: replaced((value as Record<string, unknown>)[first], rest, odd) };
}
