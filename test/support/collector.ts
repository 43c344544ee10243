/** A collector of OTLP/HTTP: a real server that reads bodies with OpenTelemetry's own protobuf definitions where they are installed. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";

/** What it answers; the default is what a collector says to a request that it took. */
export interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly request: ExportRequest;
}

export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly received: Received[];
}

export interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly events?: readonly { readonly name: string; readonly timeUnixNano: string }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
}
export interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: object;
    readonly scopeSpans: readonly { readonly scope: object; readonly spans: readonly WireSpan[] }[];
  }[];
}

/** Answers requests in turn as told; after that it takes everything. */
export async function collector(...answers: readonly Answer[]): Promise<Collector> {
  const received: Received[] = [];
  const left = [...answers];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => take(request, response, Buffer.concat(parts).toString()));
  });
  const take = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const { status, headers = {}, body: text = "{}" } = left.shift() ?? answerTo(request, body, received);
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function answerTo(request: IncomingMessage, body: string, received: Received[]): Answer {
  if (request.method !== "POST" || request.url !== "/v1/traces") return { status: 404, body: '{"code":5,"message":"not found"}' };
  if (request.headers["content-type"] !== "application/json") return { status: 415 };
  try {
    received.push({ path: request.url, headers: request.headers, request: decoded(body) });
    return { status: 200, body: '{"partialSuccess":{}}' };
  } catch (error) {
    return { status: 400, body: JSON.stringify({ code: 3, message: String(error) }) };
  }
}

interface Message {
  fromObject(value: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): object;
}

const require = createRequire(import.meta.url);
const { opentelemetry } = require("@opentelemetry/otlp-transformer/build/src/generated/root.js") as {
  readonly opentelemetry: {
    readonly proto: { readonly collector: { readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: Message } } } };
  };
};

/** Parses OTLP's JSON, through the bytes of OpenTelemetry's definitions and back, so that only what they know is left. */
export function decoded(text: string): ExportRequest {
  const message = opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
  const given = JSON.parse(text, (key, value: unknown) =>
    isId(key) && typeof value === "string" ? [...Buffer.from(value, "hex")] : value,
  ) as object;
  const back = message.toObject(message.decode(message.encode(message.fromObject(given)).finish()), {
    longs: String,
    enums: Number,
    bytes: Array,
  });
  return JSON.parse(
    JSON.stringify(back, (key, value: unknown) =>
      isId(key) && Array.isArray(value) ? Buffer.from(value as number[]).toString("hex") : value,
    ),
  ) as ExportRequest;
}

function isId(key: string): boolean {
  return key === "traceId" || key === "spanId" || key === "parentSpanId";
}
