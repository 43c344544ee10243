/**
 * What a failure means for the call that met it. The question that matters is whether the server may have acted: then the outcome
 * is not known, and only the runtime may decide whether the call is made again.
 */
import { setImmediate as tick } from "node:timers/promises";
import { RathError } from "../session/errors.ts";
import type { Transport } from "./mcp-sdk.ts";
import { type McpCommand, type McpUrl, streamEnded } from "./mcp-transport.ts";

/** The server answered, with an error or with nonsense; it never got the call; or nobody knows. */
export type Failure = "answered" | "not-sent" | "lost";

/** What is known of a connection when it fails. */
export interface Trouble {
  readonly link: { readonly transport: Transport; readonly stderr: () => string };
  readonly closed: boolean;
  readonly trouble: string | undefined;
}

interface Shape {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly data?: unknown;
  /** Of an HTTP error. */
  readonly status?: unknown;
}

const unreachable = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"];

export function failureOf(error: unknown, { link, closed }: Trouble): Failure {
  const { code, message, status } = error as Shape;
  if (code === "NOT_CONNECTED" || message === "Not connected") return "not-sent";
  if (code === streamEnded || code === "CONNECTION_CLOSED") return "lost";
  if (isAnswer(error)) return "answered";
  if (typeof status === "number") {
    // 404 says that the session is over; some servers say 400. Both refuse what they were sent.
    if (status === 404 || (status === 400 && link.transport.sessionId !== undefined)) return "not-sent";
    return status >= 500 ? "lost" : "answered";
  }
  if (unreachable.includes(systemCode(error) ?? "")) return "not-sent";
  if (error instanceof TypeError || code === "CLIENT_HTTP_UNEXPECTED_CONTENT") return "lost";
  return closed ? "lost" : "answered";
}

/** True for an error that the server sent as its answer. */
export function isAnswer(error: unknown): boolean {
  return error instanceof Error && !(error instanceof DOMException) && typeof (error as Shape).code === "number";
}

/** True for an error that HTTP or a timer tells of, and not the server in its own words. */
export function isRefusal(error: unknown): boolean {
  const { code, status } = error as Shape;
  return typeof status === "number" || code === "REQUEST_TIMEOUT";
}

/** The error of a call whose outcome nobody knows. */
export async function lost(what: string, place: string, error: unknown, live: Trouble): Promise<Error> {
  const why = await tellCause(error, live);
  const problem = new RathError(
    "effect.unknown",
    `The MCP server ${place} was lost during ${what}, so its outcome is not known: ${why} The next call connects again.`,
    { cause: error },
  );
  problem.name = "McpLost";
  return problem;
}

/** What went wrong in words, and what the server last wrote to stderr. */
export async function tellCause(error: unknown, live: Trouble, server?: McpCommand | McpUrl): Promise<string> {
  // What a dying process wrote arrives after the news of its death.
  if (live.closed) await tick();
  const trouble = live.trouble === undefined ? "" : ` Before that: ${live.trouble}`;
  const stderr = live.link.stderr();
  return `${sentence(reason(error, live, server))}${trouble}${stderr === "" ? "" : `\nIt wrote to stderr:\n${stderr}`}`;
}

function reason(error: unknown, live: Trouble, server: McpCommand | McpUrl | undefined): string {
  const system = systemCode(error);
  if (server !== undefined && "command" in server) {
    const where = server.cwd === undefined ? "" : ` or there is no directory ${server.cwd}`;
    if (system === "ENOENT") return `there is no command ${server.command}${where}`;
    if (system === "EACCES") return `${server.command} may not be executed`;
  }
  if (system === "ECONNREFUSED") return "nothing listens there (ECONNREFUSED)";
  if (live.closed && live.link.transport.terminateSession === undefined) return "the process ended";
  const { status, message } = error as Shape;
  if (status === 401 || status === 403) return `it wants authorization (HTTP ${status}): give "headers"`;
  const http = typeof status === "number" ? `HTTP ${status}: ` : "";
  const under = root(error) === error ? "" : ` (${String((root(error) as Shape).message)})`;
  return brief(`${http}${String(message ?? error)}${under}`);
}

function systemCode(error: unknown): string | undefined {
  const { code } = root(error) as Shape;
  return typeof code === "string" && /^E[A-Z]+$|^UND_/.test(code) ? code : undefined;
}

/** The error at the bottom of the causes; the peer keeps what its probe met in `data`. */
function root(error: unknown): unknown {
  const { cause, data } = error as Shape;
  const under = cause ?? (typeof data === "object" && data !== null ? (data as Shape).cause : undefined);
  if (under instanceof AggregateError) return under.errors[0] ?? error;
  return under instanceof Error ? root(under) : error;
}

/** The text on one line, and not all of it when it is long. */
export function brief(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
