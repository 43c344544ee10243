/** A server on a port. It ends gracefully: nothing new is let in, streams are told to come back, calls under way are answered. */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { RathError } from "../session/errors.ts";
import { refusalOf } from "../session/thrown.ts";
import { sendStream } from "./send-stream.ts";
import { type Behind, servedBy } from "./served.ts";
import type { Server } from "./server.ts";

export interface Listening extends AsyncDisposable {
  /** Where it can be reached from this machine. */
  readonly url: string;
  /** Stops: calls under way have this long to end, then they are cut off. */
  close(graceMs?: number): Promise<void>;
}

/** Whoever takes longer to say what they want is cut off, so that they cannot hold all connections. */
const usualTimes = { headersMs: 10_000, requestMs: 300_000, lookMs: 1000 };
/** For how long a connection may be idle and be used again. Clients are told so with each answer, and give it up a second or two before. */
const keepAliveMs = 5000;
const mostHeaderBytes = 16 * 1024;
const mostConnections = 10_000;

export async function listen(
  server: Server,
  {
    host = "127.0.0.1",
    port = 0,
    times = usualTimes,
  }: { readonly host?: string; readonly port?: number; readonly times?: typeof usualTimes } = {},
): Promise<Listening> {
  const behind = servedBy(server);
  const http = createAdaptorServer({
    fetch: (request, env) => send(behind, request, env as HttpBindings),
    overrideGlobalObjects: false,
    serverOptions: {
      ...{ headersTimeout: times.headersMs, requestTimeout: times.requestMs, connectionsCheckingInterval: times.lookMs },
      ...{ maxHeaderSize: mostHeaderBytes, keepAliveTimeout: keepAliveMs },
    },
  }) as HttpServer;
  http.maxConnections = mostConnections;
  let stopping = false;
  // A connection that was used while the server stops must not be used again.
  http.prependListener("request", (_: IncomingMessage, response: ServerResponse) => {
    if (stopping) response.setHeader("connection", "close");
  });
  await listening(http, host, port);
  const at = http.address() as { readonly address: string; readonly port: number };
  const name = at.address === "0.0.0.0" || at.address === "::" ? "localhost" : at.address.includes(":") ? `[${at.address}]` : at.address;
  const close = async (graceMs = 10_000): Promise<void> => {
    stopping = true;
    behind.stop();
    // Not as `http` closes: it would cut connections that are idle at this moment, though a call may be on its way on them. Whatever
    // comes on them now is answered, and is the last; they last as long as was promised, if there is time. What has come is read first.
    const over = new Promise<void>((resolve) => NetServer.prototype.close.call(http, () => resolve()));
    const cutIdle = (): void => void setImmediate(() => http.closeIdleConnections());
    const timers = [setTimeout(cutIdle, Math.min(keepAliveMs, graceMs / 2)), setTimeout(() => http.closeAllConnections(), graceMs)];
    await over;
    for (const timer of timers) clearTimeout(timer);
    http.close(() => {}); // it looks for slow connections no more
    await server.close();
  };
  return { url: `http://${name}:${at.port}`, close, [Symbol.asyncDispose]: () => close(0) };
}

/** Answers that are there as a whole are written at once; streams as their reader takes them. */
async function send({ answer }: Behind, request: Request, env: HttpBindings): Promise<Response> {
  const { status, headers, body } = await answer(request, env);
  const outgoing = env.outgoing as ServerResponse;
  if (body instanceof ReadableStream) void sendStream({ status, headers, body }, outgoing);
  else {
    const length = body === null ? {} : { "content-length": `${Buffer.byteLength(body)}` };
    outgoing.writeHead(status, { ...headers, ...length });
    outgoing.end(body ?? undefined);
  }
  return RESPONSE_ALREADY_SENT;
}

function listening(http: HttpServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once("error", (cause) =>
      reject(
        new RathError(
          "server.failed",
          `The server cannot listen on ${host}:${port}: ${refusalOf(cause).replace(` ${host}:${port}`, "")}. Choose another port.`,
          { cause },
        ),
      ),
    );
    http.listen({ host, port }, resolve);
  });
}
