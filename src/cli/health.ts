/**
 * A small HTTP endpoint that says how a worker is doing, for whoever restarts processes and sends them traffic. It reads nothing from
 * a request but its method and path, and says nothing that is secret.
 *
 * `/health`: 200 while the worker does its work, 503 when it cannot. `/ready`: 200 only while it takes new runs.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { refusalOf } from "../session/thrown.ts";
import { exits, Fault } from "./fault.ts";
import type { WorkStates } from "./work-states.ts";

export interface HealthSource {
  readonly states: WorkStates;
  now(): Date;
}

export interface HealthServer extends AsyncDisposable {
  /** Where it listens. */
  readonly url: string;
}

/** Nobody who asks needs longer. */
const requestMs = 2000;

/** `PORT` on loopback, or `HOST:PORT`. */
export function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const [, host, port] = /^(?:(\[[0-9a-f:]+\]|[^:\s]+):)?(\d{1,5})$/i.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535) throw new Fault(exits.usage, `--health takes PORT or HOST:PORT, not ${text}.`);
  return { host: host?.replace(/^\[|\]$/g, "") ?? "127.0.0.1", port: Number(port) };
}

export async function serveHealth(address: string, source: HealthSource): Promise<HealthServer> {
  const { host, port } = parseAddress(address);
  const server = createServer({
    ...{ requestTimeout: requestMs, headersTimeout: requestMs, keepAliveTimeout: 1000, maxHeaderSize: 8192 },
    // How often Node looks who takes longer: left alone, every half minute.
    connectionsCheckingInterval: requestMs / 4,
  });
  server.maxConnections = 64;
  server.on("request", (request, response) => answer(source, request, response));
  await listening(server, host, port);
  const at = server.address() as { readonly address: string; readonly port: number };
  return {
    url: `http://${at.address.includes(":") ? `[${at.address}]` : at.address}:${at.port}/health`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) =>
      reject(
        new Fault(
          exits.error,
          `The health endpoint cannot listen on ${host}:${port}: ${refusalOf(cause).replace(` ${host}:${port}`, "")}. Choose another port with --health.`,
          { cause },
        ),
      ),
    );
    server.listen({ host, port }, resolve);
    // Whoever asks must not keep a worker alive that has ended.
    server.unref();
  });
}

function answer(source: HealthSource, { method, url = "" }: IncomingMessage, response: ServerResponse): void {
  const path = url.split("?")[0];
  if (path !== "/health" && path !== "/ready") {
    give(response, method, 404, { error: "there are /health and /ready" });
    return;
  }
  if (method !== "GET" && method !== "HEAD") {
    give(response, method, 405, { error: "ask with GET" }, { allow: "GET, HEAD" });
    return;
  }
  const state = source.states.sum;
  const works = source.states.workWell(source.now());
  const good = path === "/health" ? works : works && state?.status === "working";
  give(response, method, good ? 200 : 503, {
    status: state === undefined ? "starting" : works ? state.status : "failing",
    worker: state?.worker ?? null,
    ...{ executing: state?.executing ?? 0, taken: state?.taken ?? 0, looked: state?.looked ?? null },
    ...(state?.problem === undefined ? {} : { problem: state.problem }),
  });
}

function give(
  response: ServerResponse,
  method: string | undefined,
  status: number,
  body: object,
  more: Readonly<Record<string, string>> = {},
): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    // Nothing that was sent along is read, so the connection cannot be used for another request.
    connection: "close",
    ...more,
  });
  response.end(method === "HEAD" ? undefined : text);
}
