/** One server: its connection, the list of what it offers, and what else can be asked of it. */
import { durationMs } from "../session/duration.ts";
import type { Duration, Repeat } from "../session/session.ts";
import { type Connection, connection, type Live } from "./mcp-connection.ts";
import { type McpPart, partOf, resourcePart } from "./mcp-result.ts";
import { checkOf } from "./mcp-schema.ts";
import type { Client, ListedTool, Sdk, WireResult } from "./mcp-sdk.ts";
import { type McpCommand, type McpUrl, placeOf } from "./mcp-transport.ts";

/** What a server says of a tool. Hints: nothing makes it tell the truth. */
export interface McpToolInfo {
  readonly server: string;
  /** The server's own name for it. */
  readonly name: string;
  readonly description: string;
  readonly readOnly: boolean;
  readonly idempotent: boolean;
  readonly destructive: boolean;
}

/** A question of a server, with the JSON Schema of the answer. */
export interface McpQuestion {
  readonly server: string;
  readonly message: string;
  readonly schema: object;
}

/** How servers are opened and how far they are believed. */
export interface McpOptions {
  /** Believe what the server says of its tools: read-only and idempotent ones may be repeated. Default: every tool is `once`. */
  readonly trust?: boolean | undefined;
  /**
   * Says what a crash may do to a call of this tool; undefined leaves it as it is. With `keyed` the server is sent the key of the call
   * as `_meta["openrath/key"]`, and must act once for one key.
   */
  readonly repeat?: ((tool: McpToolInfo) => Exclude<Repeat, "nested"> | undefined) | undefined;
  /** How long opening, listing and reading may take, each: 30 seconds by default. */
  readonly timeout?: Duration | undefined;
  /** Gives up opening. */
  readonly signal?: AbortSignal | undefined;
  /** How long one call may take; the runtime ends it then. */
  readonly callTimeout?: Duration | undefined;
  /** Answers a question that the server has for a person during a call. Without it, and for undefined, the server is told that the person declines. */
  readonly elicit?: ((question: McpQuestion) => Promise<Readonly<Record<string, unknown>> | undefined>) | undefined;
}

/** What a server can be asked beside calls of its tools. */
export interface McpServerInfo {
  /** What we call it. */
  readonly name: string;
  /** What it calls itself. */
  readonly reported: { readonly name: string; readonly version: string };
  /** How it wants to be used, in its own words. */
  readonly instructions: string | undefined;
  resources(): Promise<readonly { readonly uri: string; readonly name: string; readonly mediaType: string | undefined }[]>;
  read(uri: string): Promise<readonly McpPart[]>;
  prompts(): Promise<readonly { readonly name: string; readonly description: string; readonly arguments: readonly string[] }[]>;
  prompt(
    name: string,
    values?: Readonly<Record<string, string>>,
  ): Promise<readonly { readonly role: "user" | "assistant"; readonly part: McpPart }[]>;
}

/** A server as this module holds it. */
export interface Server extends AsyncDisposable {
  readonly info: McpServerInfo;
  readonly options: McpOptions;
  readonly use: Connection["use"];
  /** What it offered when it was last asked: every name once. */
  readonly listed: readonly ListedTool[];
  /** Asks again: a notice that the list changed may be late or lost. */
  refresh(): Promise<void>;
}

/** As long as a timer can be: calls end by their signal. */
const forever = 2 ** 31 - 1;

export async function openServer(server: McpCommand | McpUrl, options: McpOptions, sdk: Sdk): Promise<Server> {
  const { z } = await import("zod");
  const timeoutMs = durationMs(options.timeout ?? "30s");
  let listed: readonly ListedTool[] = [];
  let about: About = { reported: { name: placeOf(server), version: "" }, instructions: undefined };
  const name = () => server.name ?? about.reported.name;
  const take = (tools: readonly ListedTool[]): void => {
    // Of tools with the same name only one can be called; the first, so that a later one cannot take its place.
    listed = [...new Map(tools.toReversed().map((tool) => [tool.name, tool])).values()].toReversed();
  };
  const client = (probe: boolean): Client => {
    const made = new sdk.Client({ name: "openrath", version: "0.1.0" }, clientOptions(probe, z.fromJSONSchema, take));
    return answering(made, name, options);
  };
  const list = async ({ client }: Live): Promise<void> => {
    take(await toolsOf(client, timeoutMs));
    about = aboutOf(client, about);
  };

  const link = connection({ server, timeoutMs, sdk, client, opened: list });
  try {
    await link.use({ what: "opening", safe: true, signal: options.signal }, async () => undefined);
  } catch (error) {
    await link[Symbol.asyncDispose]();
    throw error;
  }
  const ask: Ask = (what, run) => link.use({ what, safe: true }, (live) => run(live.client, { timeout: timeoutMs }));
  return {
    info: {
      get name() {
        return name();
      },
      get reported() {
        return about.reported;
      },
      get instructions() {
        return about.instructions;
      },
      ...questions(ask),
    },
    options,
    use: (use, run) => link.use(use, run),
    get listed() {
      return listed;
    },
    refresh: () => link.use({ what: "listing its tools", safe: true }, list),
    [Symbol.asyncDispose]: () => link[Symbol.asyncDispose](),
  };
}

/** What it said of itself when it was last connected. */
type About = Pick<McpServerInfo, "reported" | "instructions">;

function clientOptions(probe: boolean, convert: Parameters<typeof checkOf>[1], take: (tools: readonly ListedTool[]) => void): object {
  return {
    // No sampling and no roots: a server that asks all the same is told that there is no such method.
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: probe ? "auto" : "legacy" },
    listChanged: {
      tools: { onChanged: (_error: unknown, tools: readonly ListedTool[] | null) => tools !== null && take(tools) },
    },
    jsonSchemaValidator: {
      getValidator: (schema: object) => {
        const check = checkOf(schema, convert);
        return (value: unknown) => {
          const checked = check(value);
          return "value" in checked ? { valid: true, data: value } : { valid: false, errorMessage: checked.problems.join("; ") };
        };
      },
    },
  };
}

/** The client, once it answers questions for a person. */
function answering(client: Client, name: () => string, options: McpOptions): Client {
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const { message, requestedSchema } = params;
    const answer = await options.elicit?.({ server: name(), message, schema: requestedSchema ?? {} });
    return answer === undefined ? { action: "decline" } : { action: "accept", content: answer };
  });
  return client;
}

async function toolsOf(client: Client, timeout: number): Promise<readonly ListedTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  return (await client.listTools(undefined, { timeout, cacheMode: "refresh" })).tools;
}

/** A server that does not say its name keeps the one it had. */
function aboutOf(client: Client, before: About): About {
  const { name = before.reported.name, version = "" } = client.getServerVersion() ?? {};
  return { reported: { name, version }, instructions: client.getInstructions() };
}

type Ask = <T>(what: string, run: (client: Client, options: { readonly timeout: number }) => Promise<T>) => Promise<T>;

function questions(ask: Ask): Pick<McpServerInfo, "resources" | "read" | "prompts" | "prompt"> {
  return {
    resources: () =>
      ask("listing its resources", async (client, options) => {
        if (client.getServerCapabilities()?.resources === undefined) return [];
        const { resources } = await client.listResources(undefined, options);
        return resources.map(({ uri, name, mimeType }) => ({ uri, name, mediaType: mimeType }));
      }),
    read: (uri) =>
      ask(`reading ${uri}`, async (client, options) => (await client.readResource({ uri }, options)).contents.map(resourcePart)),
    prompts: () =>
      ask("listing its prompts", async (client, options) => {
        if (client.getServerCapabilities()?.prompts === undefined) return [];
        const { prompts } = await client.listPrompts(undefined, options);
        return prompts.map(({ name, description, arguments: takes }) => ({
          name,
          description: description ?? "",
          arguments: (takes ?? []).map((argument) => argument.name),
        }));
      }),
    prompt: (name, values = {}) =>
      ask(`the prompt ${name}`, async (client, options) => {
        const { messages } = await client.getPrompt({ name, arguments: values }, options);
        return messages.map(({ role, content }) => ({ role, part: partOf(content) }));
      }),
  };
}

/** A call of a tool by the server's name for it. */
export interface Call {
  readonly name: string;
  readonly input: object;
  readonly key?: string | undefined;
  readonly signal: AbortSignal;
  readonly progress: (done: number, of: number | undefined, message: string | undefined) => void;
}

export function callTool(server: Server, { name, input, key, signal, progress }: Call): Promise<WireResult> {
  const params = { name, arguments: input, ...(key !== undefined && { _meta: { "openrath/key": key } }) };
  return server.use({ what: `the call of ${name}`, signal }, ({ client }) =>
    client.callTool(params, {
      timeout: forever,
      signal,
      onprogress: ({ progress: done, total, message }) => progress(done, total, message),
    }),
  );
}
