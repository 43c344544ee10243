/**
 * How a server is reached: as a process over its pipes, or over streamable HTTP.
 *
 * A process gets PATH and HOME (on Windows also what a process needs to start there) and the variables that are named: nothing
 * else of our environment. What it writes to stderr is kept, the last of it, and shown when it fails.
 */
import { stripVTControlCharacters } from "node:util";
import { RathError } from "../session/errors.ts";
import type { Sdk, Transport } from "./mcp-sdk.ts";

/** A server that is started as a process and spoken to over its pipes. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Names of variables to pass on, or variables with their values. Nothing else is inherited but PATH and HOME. */
  readonly env?: readonly string[] | Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** What we call it; by default what it calls itself. */
  readonly name?: string | undefined;
}
/** A server that is reached over streamable HTTP. */
export interface McpUrl {
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What we call it; by default what it calls itself. */
  readonly name?: string | undefined;
}

/** A way to a server, not yet open, and the end of what it wrote to stderr. */
export interface Link {
  readonly transport: Transport;
  readonly stderr: () => string;
  /** Of a process that was started, also when it has ended. */
  readonly pid: () => number | undefined;
}

const tail = 2000;
/** The code of the answer that we put in the place of one that can no longer come. */
export const streamEnded = -32_090;

/** What a person calls the server in a message. Arguments, queries and user names may be secrets and are left out. */
export function placeOf(server: McpCommand | McpUrl): string {
  if ("command" in server) return server.command;
  const { origin, pathname } = urlOf(server);
  return origin + pathname;
}

export function linkTo(server: McpCommand | McpUrl, sdk: Sdk): Link {
  return "command" in server ? processLink(server, sdk) : httpLink(server, sdk);
}

function processLink(server: McpCommand, sdk: Sdk): Link {
  const transport = new sdk.StdioClientTransport({
    command: server.command,
    args: [...(server.args ?? [])],
    env: environment(server, sdk),
    stderr: "pipe",
    ...(server.cwd !== undefined && { cwd: server.cwd }),
  });
  let written = "";
  const decoder = new TextDecoder();
  transport.stderr?.on("data", (chunk) => {
    written = (written + decoder.decode(chunk, { stream: true })).slice(-tail);
  });
  let pid: number | undefined;
  const start = transport.start.bind(transport);
  transport.start = async () => {
    await start();
    pid = transport.pid ?? undefined;
  };
  return { transport, stderr: () => stripVTControlCharacters(written).trim(), pid: () => pid };
}

function environment(server: McpCommand, sdk: Sdk): Readonly<Record<string, string | undefined>> {
  // The peer adds its own list to what it is given; a value of undefined takes a variable out again.
  const kept = process.platform === "win32" ? sdk.DEFAULT_INHERITED_ENV_VARS : ["PATH", "HOME"];
  const withheld = sdk.DEFAULT_INHERITED_ENV_VARS.filter((name) => !kept.includes(name));
  const named = Array.isArray(server.env) ? Object.fromEntries(server.env.map((name) => [name, variable(name)])) : server.env;
  return { ...Object.fromEntries(withheld.map((name) => [name, undefined])), ...named };
}

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined)
    throw new RathError(
      "mcp.failed",
      `The environment has no variable ${name}, which an MCP server is to be given. Set it, or do not name it.`,
    );
  return value;
}

function httpLink(server: McpUrl, sdk: Sdk): Link {
  const transport = new sdk.StreamableHTTPClientTransport(urlOf(server), {
    requestInit: { headers: { ...server.headers } },
    reconnectionOptions: { initialReconnectionDelay: 500, maxReconnectionDelay: 5000, reconnectionDelayGrowFactor: 2, maxRetries: 2 },
  });
  // The peer tells nobody when the stream of a request ends without an answer, and its caller would wait for ever.
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const { id, method } = message;
    if (id === undefined || method === undefined || options?.onRequestStreamEnd !== undefined) return send(message, options);
    const onRequestStreamEnd = () =>
      transport.onmessage?.({ jsonrpc: "2.0", id, error: { code: streamEnded, message: "The stream ended without an answer." } });
    return send(message, { ...options, onRequestStreamEnd });
  };
  return { transport, stderr: () => "", pid: () => undefined };
}

function urlOf(server: McpUrl): URL {
  const url = URL.canParse(String(server.url)) ? new URL(server.url) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new RathError("mcp.failed", "The url of an MCP server must begin with http:// or https://.");
  return url;
}
