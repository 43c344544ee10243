/** The reference of the HTTP interface, from the OpenAPI document that a server answers with. */
import { openrath } from "../../src/openrath.ts";
import { createServer } from "../../src/server/server.ts";
import { blocks, code, plain, table } from "./markdown.ts";
import { nameOfRef, type Schema, typeText } from "./type-text.ts";

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security: readonly { readonly key?: readonly string[] }[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>;
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** What a server says about itself at /openapi.json. */
export async function openApiDocument(): Promise<Document> {
  await using rath = openrath({ store: "memory" });
  const server = createServer(rath, { auth: "none-on-loopback" });
  try {
    const response = await server.fetch(new Request("http://127.0.0.1/openapi.json"));
    return (await response.json()) as Document;
  } finally {
    await server.close();
  }
}

/** Resources that are read together. */
const chapters: Readonly<Record<string, readonly string[]>> = {
  Server: ["health", "ready", "info", "metrics", "server"],
  Sessions: ["sessions", "events", "blobs", "diff", "grep", "erase", "imports", "jobs", "sandboxes", "stream"],
  Runs: ["runs", "workflows"],
  People: ["pending", "decisions"],
  Memory: ["memories", "memory"],
  Access: ["keys", "access"],
};

export function httpPage({ paths, components }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags[0] ?? "",
      text: described(method.toUpperCase(), path, operation),
    })),
  );
  const homeless = operations.filter(({ tag }) => !Object.values(chapters).flat().includes(tag));
  if (homeless.length > 0) throw new Error(`No chapter of the HTTP reference has ${homeless.map(({ tag }) => tag).join(", ")}.`);
  const shapes = Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1));
  return blocks(
    "---\noutline: [2, 3]\n---",
    "# HTTP",
    "Made from the OpenAPI document that a server answers with at `/openapi.json`; this site has a copy as " +
      '<a href="../openapi.json" download target="_self">openapi.json</a>. [Server](../server.md) says how one is started and who may call it. ' +
      "Keys are sent as `Authorization: Bearer rath_…`. What goes wrong is answered with a JSON body of the shape [`Error`](#shape-error), " +
      "whose code is one of [these](./errors.md).",
    ...Object.entries(chapters).flatMap(([chapter, tags]) => [
      `## ${chapter}`,
      ...tags.flatMap((wanted) => operations.filter(({ tag }) => tag === wanted).flatMap(({ text }) => text)),
    ]),
    "## Shapes",
    ...shapes.flatMap(([name, schema]) => [
      `### ${name} {#${anchor(name)}}`,
      plain(schema.description ?? ""),
      fence(typeText(schema)),
      used(schema, name),
    ]),
  );
}

function described(method: string, path: string, operation: Operation): readonly string[] {
  const { operationId, summary, security, parameters = [], requestBody, responses } = operation;
  const needs = security.flatMap(({ key = [] }) => key);
  const who = security.length === 0 ? "Needs no key." : needs.length === 0 ? "Needs a key." : `Needs ${needs.map(code).join(" and ")}.`;
  const answers = Object.entries(responses).filter(([status]) => status !== "default");
  return [
    `### ${method} ${plain(path)} {#call-${operationId.toLowerCase()}}`,
    `${plain(summary)}. ${who}`,
    table(
      ["parameter", "in", "type", ""],
      parameters.map(({ name, in: place, required, description, schema }) => [
        code(name),
        place,
        code(typeText(schema)),
        plain(
          [required ? "required" : "", schema.default === undefined ? "" : `default ${JSON.stringify(schema.default)}`, description ?? ""]
            .filter((part) => part !== "")
            .join("; "),
        ),
      ]),
    ),
    requestBody === undefined ? "" : `Takes ${shown(requestBody)}`,
    ...answers.map(([status, content]) => `Answers ${status}${content.content === undefined ? "." : `: ${shown(content)}`}`),
  ];
}

/** A shape by its name, or spelt out. */
function shown({ content = {} }: Content): string {
  const [[media, { schema }] = ["", { schema: {} }]] = Object.entries(content);
  if (media !== "application/json") return `${code(media)}.`;
  const name = nameOfRef(schema);
  if (name !== undefined) return `${link(name)}.`;
  const others = used(schema);
  return `\n\n${fence(typeText(schema))}${others === "" ? "" : `\n\n${others}`}`;
}

function fence(text: string): string {
  return `\`\`\`ts\n${text}\n\`\`\``;
}

const anchor = (name: string): string => `shape-${name.toLowerCase()}`;
const link = (name: string): string => `[\`${name}\`](#${anchor(name)})`;

/** The shapes that a shape names. */
function used(schema: Schema, self = ""): string {
  const names = new Set([...JSON.stringify(schema).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name = ""]) => name));
  names.delete(self);
  return names.size === 0 ? "" : `See ${[...names].map(link).join(", ")}.`;
}
