import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string };
}

/** A small MCP server over HTTP in this process, whose answers to calls a test decides. */
export class WebServer implements AsyncDisposable {
  /** Called for every call of a tool. Nothing happens by itself. */
  onCall: (response: ServerResponse, request: Request) => void = (response, { id }) =>
    answer(response, id, { content: [{ type: "text", text: "done" }] });
  /** Takes a request before anything else does when it gives true. */
  before: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly headers: IncomingMessage["headers"][] = [];
  calls = 0;
  sessions = 0;
  ended = 0;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.before(request, response)) return;
    if (request.method === "DELETE") this.ended += 1;
    if (request.method !== "POST") return void response.writeHead(405).end();
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const message = JSON.parse(Buffer.concat(chunks).toString()) as Request;
    this.headers.push(request.headers);
    switch (message.method) {
      case "initialize":
        this.sessions += 1;
        response.setHeader("mcp-session-id", `session-${this.sessions}`);
        return answer(response, message.id, {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "web", version: "1" },
        });
      case "tools/list":
        return answer(response, message.id, { tools: [{ name: "act", inputSchema: { type: "object" } }] });
      case "tools/call":
        this.calls += 1;
        return this.onCall(response, message);
      case "notifications/initialized":
        return void response.writeHead(202).end();
      default:
        return void response.writeHead(400).end("Bad Request: no session");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

export function answer(response: ServerResponse, id: number | undefined, result: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
