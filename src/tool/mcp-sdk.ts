/**
 * What we use of `@modelcontextprotocol/client`, an optional peer: loaded when the first server is opened, and described
 * structurally, so that our types compile for those who have not installed it.
 */
import { RathError } from "../session/errors.ts";

const peer = "@modelcontextprotocol/client";

/** Imports a module by name; another one in tests. */
export type Importer = (name: string) => Promise<object>;

/** A message of JSON-RPC, as far as we look at it. */
export interface WireMessage {
  readonly id?: string | number | undefined;
  readonly method?: string | undefined;
}
interface SendOptions {
  readonly onRequestStreamEnd?: (() => void) | undefined;
}
export interface Transport {
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: object, extra?: object) => void) | undefined;
  start(): Promise<void>;
  send(message: WireMessage, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  /** Of a process. */
  readonly pid?: number | null | undefined;
  readonly stderr?: { on(event: "data", listener: (chunk: Uint8Array) => void): unknown } | null | undefined;
  /** Of an HTTP session. */
  readonly sessionId?: string | undefined;
  terminateSession?(): Promise<void>;
}
interface RequestOptions {
  readonly timeout?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onprogress?: ((progress: { progress: number; total?: number | undefined; message?: string | undefined }) => void) | undefined;
  readonly cacheMode?: "refresh" | undefined;
}
/** A tool as a server lists it. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  readonly annotations?:
    | {
        readonly readOnlyHint?: boolean | undefined;
        readonly destructiveHint?: boolean | undefined;
        readonly idempotentHint?: boolean | undefined;
        readonly openWorldHint?: boolean | undefined;
      }
    | undefined;
}
/** The text or the bytes of a resource. */
export interface WireResource {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly text?: string | undefined;
  readonly blob?: string | undefined;
}
/** A block of content. A closed union in the specification; here what is common, since servers are not trusted to keep to it. */
export interface WireBlock {
  readonly type: string;
  readonly text?: string | undefined;
  readonly data?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly resource?: WireResource | undefined;
  readonly uri?: string | undefined;
  readonly name?: string | undefined;
}
/** What a call of a tool comes back with. */
export interface WireResult {
  readonly content?: readonly WireBlock[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}
interface Listed {
  readonly name: string;
  readonly description?: string | undefined;
}
export interface Client {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  connect(transport: Transport, options?: RequestOptions): Promise<void>;
  close(): Promise<void>;
  getServerCapabilities(): { readonly tools?: object | undefined; readonly resources?: object; readonly prompts?: object } | undefined;
  getServerVersion(): { readonly name: string; readonly version: string } | undefined;
  getInstructions(): string | undefined;
  setRequestHandler(
    method: "elicitation/create",
    handler: (request: { readonly params: { readonly message: string; readonly requestedSchema?: object } }) => Promise<object>,
  ): void;
  listTools(params: undefined, options: RequestOptions): Promise<{ readonly tools: readonly ListedTool[] }>;
  callTool(
    params: { readonly name: string; readonly arguments: object; readonly _meta?: object },
    options: RequestOptions,
  ): Promise<WireResult>;
  listResources(
    params: undefined,
    options: RequestOptions,
  ): Promise<{ readonly resources: readonly (Listed & { readonly uri: string; readonly mimeType?: string | undefined })[] }>;
  readResource(params: { readonly uri: string }, options: RequestOptions): Promise<{ readonly contents: readonly WireResource[] }>;
  listPrompts(
    params: undefined,
    options: RequestOptions,
  ): Promise<{
    readonly prompts: readonly (Listed & { readonly arguments?: readonly (Listed & { readonly required?: boolean | undefined })[] })[];
  }>;
  getPrompt(
    params: { readonly name: string; readonly arguments: Readonly<Record<string, string>> },
    options: RequestOptions,
  ): Promise<{ readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: WireBlock }[] }>;
}
export interface Sdk {
  readonly Client: new (info: { readonly name: string; readonly version: string }, options: object) => Client;
  readonly StreamableHTTPClientTransport: new (url: URL, options: object) => Transport;
  readonly StdioClientTransport: new (options: object) => Transport;
  /** The variables that the peer hands to every process unless told otherwise. */
  readonly DEFAULT_INHERITED_ENV_VARS: readonly string[];
}

/** Loads the peer, or says how to install it. */
export async function loadSdk(load: Importer = (name) => import(name)): Promise<Sdk> {
  try {
    const [client, stdio] = await Promise.all([load(peer), load(`${peer}/stdio`)]);
    return { ...client, ...stdio } as Sdk;
  } catch (cause) {
    throw new RathError("mcp.unavailable", `MCP servers need the package ${peer}, which cannot be loaded. Run "npm install ${peer}".`, {
      cause,
      details: { package: peer },
    });
  }
}
