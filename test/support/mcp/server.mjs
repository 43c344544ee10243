// An MCP server over stdio, written by hand so that it can misbehave: node server.mjs MODE.
import { existsSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [mode = "plain", marker = ""] = process.argv.slice(2);
const modern = mode === "modern";
const serverInfo = { name: `fixture-${mode}`, version: "1.2.3" };
const capabilities = mode === "toolless" ? {} : { tools: { listChanged: true } };
const object = (properties = {}, required = []) => ({ type: "object", properties, required });
const tool = (name, description = "", inputSchema = object(), more = {}) => ({ name, description, inputSchema, ...more });
const text = (value) => ({ content: [{ type: "text", text: value }] });
const cancelled = [];
const waiting = new Map();
let count = 0;
let listings = 0;
let subscription;
let client;

const plain = [
  tool("pid"),
  tool("meta"),
  tool("client"),
  tool("starts", "A read-only tool.", object(), { annotations: { readOnlyHint: true } }),
  tool("put", "An idempotent tool.", object(), { annotations: { readOnlyHint: false, idempotentHint: true } }),
  tool("crash"),
  tool("sleep"),
  tool("cancelled"),
  tool("fail"),
  tool("refuse"),
  tool("grow"),
  tool("sample"),
  tool("mixed", "", object(), { outputSchema: object({ n: { type: "number" } }, ["n"]) }),
  tool("liar", "", object(), { outputSchema: object({ n: { type: "number" } }, ["n"]) }),
  tool("progress"),
  tool("weather", "", object({ city: { type: "string" }, days: { type: "integer", minimum: 1 } }, ["city"])),
];
const lists = {
  names: [
    tool("a.b", "dotted"),
    tool("a_b", "the valid one"),
    tool("a b", "spaced"),
    tool("", "nameless"),
    tool("名前", "not Latin"),
    tool("x".repeat(200), "long"),
    tool("twice", "first"),
    tool("twice", "second"),
    tool("wordy", "w".repeat(100_000)),
  ],
};
const tools = [...(lists[mode] ?? plain)];

function send(message) {
  if (mode === "garbage") process.stdout.write('Hello there!\n{"half":\n[1,2]\n{"jsonrpc":"1.0"}\n\u0000\u0001\n');
  const result = modern && message.result && { ...message.result, resultType: "complete", ttlMs: 60_000, cacheScope: "private" };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message, ...(result && { result }) })}\n`);
}

function call({ id, params }) {
  const answer = (result) => send({ id, result });
  switch (params.name) {
    case "pid":
      return answer(text(String(process.pid)));
    case "meta":
      return answer(text(JSON.stringify(params._meta)));
    case "client":
      return answer({ ...text(""), structuredContent: client });
    case "crash":
      process.stderr.write("\u001b[31mpanic: out of cheese\u001b[0m\n", () => process.exit(7));
      return;
    case "sleep":
      waiting.set(id, answer);
      return;
    case "cancelled":
      return answer({ ...text(""), structuredContent: { cancelled } });
    case "fail":
      return answer({ ...text("no such city"), isError: true });
    case "refuse":
      return send({ id, error: { code: -32602, message: "not like this" } });
    case "grow":
      count += 1;
      tools.push(tool(`grown_${count}`));
      send({ method: "notifications/tools/list_changed", params: subscription });
      return answer(text("grown"));
    case "sample":
      waiting.set("ask", (response) => answer(text(JSON.stringify(response.error))));
      return send({ id: "ask", method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } });
    case "mixed":
      return answer({
        content: [
          { type: "text", text: "{}" },
          { type: "audio", data: "AQI=", mimeType: "audio/wav" },
        ],
        structuredContent: { n: 1 },
      });
    case "liar":
      return answer({ content: [], structuredContent: { n: "one" } });
    case "progress": {
      const progress = (more) => send({ method: "notifications/progress", params: { progressToken: params._meta.progressToken, ...more } });
      progress({ progress: 1, total: 2, message: "half" });
      progress({ progress: 2, message: "all" });
      return answer(text("done"));
    }
    default:
      return answer(text(JSON.stringify({ name: params.name, arguments: params.arguments })));
  }
}

function receive(message) {
  const { id, method, params } = message;
  if (method === undefined) return waiting.get(id)?.(message);
  if (mode === "silent") return;
  if (method === "tools/list") listings += 1;
  if (method === "tools/list" && (mode === "mute" || (mode === "tiring" && listings > 1))) return;
  if (method === "notifications/cancelled") cancelled.push(params.requestId);
  if (method === "initialize") client = { info: params.clientInfo, capabilities: params.capabilities };
  if (method === "initialize" && modern) return send({ id, error: { code: -32601, message: "Method not found" } });
  if (method === "server/discover") {
    if (!modern) return send({ id, error: { code: -32601, message: "Method not found" } });
    const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
    return send({ id, result: { supportedVersions: ["2026-07-28"], capabilities, _meta } });
  }
  if (method === "subscriptions/listen") {
    subscription = { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
    send({ method: "notifications/subscriptions/acknowledged", params: { ...subscription, notifications: params.notifications } });
  }
  if (method === "initialize")
    send({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities,
        serverInfo,
      },
    });
  if (method === "tools/list" && mode === "deep") {
    const nested = `${'{"a":'.repeat(50_000)}{}${"}".repeat(50_000)}`;
    const schema = `{"type":"object","properties":${nested}}`;
    return process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"deep","inputSchema":${schema}}]}}\n`);
  }
  if (method === "tools/list") send({ id, result: { tools } });
  if (method === "tools/call") call(message);
}

if (mode === "dies" || (mode === "second" && existsSync(marker))) {
  process.stderr.write(`${"x".repeat(5000)}\ncannot find my configuration\n`, () => process.exit(3));
} else if (mode === "flood") {
  process.stdout.write("x".repeat(11 * 1024 * 1024));
} else {
  if (marker !== "") writeFileSync(marker, String(process.pid));
  if (mode === "stubborn") {
    process.on("SIGTERM", () => undefined);
    setInterval(() => undefined, 1000);
  }
  createInterface({ input: process.stdin }).on("line", (line) => receive(JSON.parse(line)));
}
