/** The server for models, driven by the official client: over pipes as a process, and over HTTP with keys, in both eras of the protocol. */

import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { openrath, type Session, Workflow } from "../../src/index.ts";
import { listen } from "../../src/server/listen.ts";
import { toolNames } from "../../src/server/mcp.ts";
import type { Route } from "../../src/server/route.ts";
import { routes } from "../../src/server/routes/routes.ts";
import { servedBy } from "../../src/server/served.ts";
import { createServer, type ServerOptions } from "../../src/server/server.ts";
import { cleaned, command, projectFolder } from "../support/called.ts";
import { accessOf, call, keyFor } from "../support/guarded.ts";

cleaned();
const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

class Asks extends Workflow {
  forward(session: Session) {
    return session.ask("Which?", undefined, { to: "human:ada" });
  }
}

class Quick extends Workflow {
  forward(session: Session) {
    return session.do("witness", () => 42);
  }
}

type Mode = "legacy" | "auto";
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Answer = any;

/** Calls a tool that answers as it should. */
async function ask(client: Client, name: string, given: Record<string, unknown> = {}): Promise<Answer> {
  const { isError, content } = (await client.callTool({ name, arguments: given })) as Answer;
  expect(isError ?? false, content[0].text).toBe(false);
  return JSON.parse(content[0].text);
}

async function refused(client: Client, name: string, given: Record<string, unknown>): Promise<string> {
  const { isError, content } = (await client.callTool({ name, arguments: given })) as Answer;
  expect(isError, content[0].text).toBe(true);
  return content[0].text as string;
}

const named = (names: readonly { readonly name: string }[]): readonly string[] => names.map(({ name }) => name);

test("every tool is a route", () => {
  expect(toolNames.filter((name) => !routes.some((route) => route.name === name))).toEqual([]);
  expect(new Set(toolNames).size).toBe(toolNames.length);
});

// Mutant: it is parsed as JSON.parse does.
test.each([
  ["a key twice", '"params":{"name":"info","arguments":{},"name":"createSession","arguments":{"message":"x"}}'],
  ["a key twice in what a tool is given", '"params":{"name":"createSession","arguments":{"message":"x","message":"y"}}'],
  ["a key __proto__", '"params":{"name":"createSession","arguments":{"message":"x","__proto__":{}}}'],
])("a body with %s is refused, as everywhere", async (_, params) => {
  const rath = openrath({ store: "memory" });
  const server = createServer(rath);
  open.push(() => rath.close());
  const key = await keyFor(server);
  const send = (body: string) => call(server, "POST /mcp", { key, headers: { accept: "application/json, text/event-stream" }, body });
  const refusal = await send(`{"jsonrpc":"2.0","id":1,"method":"tools/call",${params}}`);
  expect([refusal.status, ((await refusal.json()) as Answer).error.code]).toEqual([400, "request.invalid"]);
  expect(((await (await call(server, "GET /v1/sessions", { key })).json()) as Answer).items).toEqual([]);
  const taken = await send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"createSession","arguments":{"message":"x"}}}');
  expect([taken.status, await taken.text()]).toEqual([200, expect.stringContaining("head")]);
});

// Mutant: the session is opened as it lies in memory.
test("a session that another process erased is not read as a resource", async () => {
  const store = join(await projectFolder(""), "store.db");
  const [rath, other] = [openrath({ store }), openrath({ store })];
  const server = createServer(rath);
  const listening = await listen(server);
  open.push(async () => {
    await listening.close(0);
    for (const one of [rath, other]) await one.close();
  });
  const session = await rath.save(rath.session("forget me please"));
  await other.erase({ session: session.id }, { by: "human:root", reason: "asked" });
  expect(session.messages[0]?.text).toBe("forget me please");
  const client = new Client({ name: "test", version: "1.0.0" });
  const headers = { authorization: `Bearer ${await keyFor(server, "viewer")}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${listening.url}/mcp`), { requestInit: { headers } }));
  open.push(() => client.close());
  const { contents } = await client.readResource({ uri: `openrath://sessions/${session.id}` });
  expect(JSON.stringify(contents)).not.toContain("forget me");
});

describe.each(["legacy", "auto"] as const)("over HTTP, %s", (mode) => {
  const served = async (options: ServerOptions = {}) => {
    const rath = openrath({ store: "memory", workflows: { quick: new Quick(), asks: new Asks() } });
    const server = createServer(rath, options);
    const listening = await listen(server);
    const stop = new AbortController();
    const working = rath.work({ signal: stop.signal });
    open.push(async () => {
      stop.abort();
      await working;
      await listening.close(0);
      await rath.close();
    });
    const connect = async (key: string): Promise<Client> => {
      const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${listening.url}/mcp`), {
          requestInit: { headers: { authorization: `Bearer ${key}` } },
        }),
      );
      open.push(() => client.close());
      return client;
    };
    return { server, connect };
  };

  test("sessions and runs are made, forked, compared, explained and replayed by tools, and read as resources", async () => {
    const { server, connect } = await served();
    const client = await connect(await keyFor(server, "operator"));
    const made = await ask(client, "createSession", { message: "hello", title: "greeting" });
    const fork = await ask(client, "forkSession", { session: made.id });
    const said = await ask(client, "sayInSession", { session: fork.id, message: "and more" });
    expect((await ask(client, "getMessages", { session: said.id })).items).toHaveLength(2);
    expect(await ask(client, "getDiff", { a: made.id, b: said.id })).toMatchObject({ identical: false });
    const run = await ask(client, "startRun", { workflow: "quick", session: made.id, key: "once" });
    expect((await ask(client, "startRun", { workflow: "quick", session: made.id, key: "once" })).id).toBe(run.id);
    const { status, session } = await ask(client, "getResult", { run: run.id, wait: 10 });
    expect(status).toBe("done");
    expect(await ask(client, "replaySession", { session: session.id })).toMatchObject({ identical: true });
    expect(await ask(client, "getWhy", { session: session.id, event: session.head })).toHaveProperty("hops");
    const { resources } = await client.listResources();
    expect(named(resources)).toEqual(expect.arrayContaining(["greeting", `quick ${run.id.slice(0, 8)}, done`]));
    const [text] = (await client.readResource({ uri: `openrath://sessions/${said.id}` })).contents as Answer;
    expect(text.text).toBe("user: hello\n\nuser: and more");
    const [about] = (await client.readResource({ uri: `openrath://runs/${run.id}` })).contents as Answer;
    expect(JSON.parse(about.text)).toMatchObject({ id: run.id, status: "done" });
  });

  test("what goes wrong is said with its code, and nothing else is taken", async () => {
    const { server, connect } = await served();
    const client = await connect(await keyFor(server, "operator"));
    expect(JSON.parse(await refused(client, "getSession", { session: "00000000-0000-7000-8000-000000000000" }))).toMatchObject({
      error: { code: "session.not-found" },
    });
    expect(await refused(client, "createSession", { message: "x", colour: "red" })).toMatch(/colour/);
    expect(await refused(client, "startRun", { workflow: "quick" })).toMatch(/request\.invalid.*give a session, a message, or both/);
    expect(await refused(client, "getSessions", { limit: 100_000 })).toMatch(/limit/);
    await expect(client.readResource({ uri: "openrath://sessions/00000000-0000-7000-8000-000000000000" })).rejects.toThrow(
      "There is no session",
    );
  });

  // Mutants: a tool takes no place; it frees none; it is not told that the server stops.
  test("a question that may take any time has a place among those over HTTP, and ends when the server stops", async () => {
    const { server, connect } = await served({ limits: { questions: 1 } });
    const key = await keyFor(server, "viewer");
    const client = await connect(key);
    const code = async (asked: Promise<string>): Promise<string> => JSON.parse(await asked).error.code;
    for (let n = 0; n < 2; n++) expect(await ask(client, "grepProject", { q: "x" })).toHaveProperty("items");
    const route = routes.find(({ name }) => name === "grepProject") as { handle: Route["handle"] };
    const { handle } = route;
    route.handle = ({ signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)));
    try {
      const first = code(refused(client, "grepProject", { q: "x" }));
      await expect.poll(() => servedBy(server).questions.all, { timeout: 10_000 }).toBe(1);
      expect((await call(server, "GET /v1/grep?q=x", { key })).status).toBe(429);
      expect(await code(refused(client, "grepProject", { q: "x" }))).toBe("request.limited");
      servedBy(server).stop();
      expect(await first).toBe("server.busy");
    } finally {
      route.handle = handle;
    }
  });

  // Mutants: only what went well is told; every status is 200; a tool that is not offered is refused and not told; it has an id of its own.
  test("what a tool changed, and who was turned away, is in the access log as if it had come over HTTP", async () => {
    const { server, connect } = await served();
    const [ada, bo, eve] = [
      await keyFor(server, "approver"),
      await keyFor(server, ["operator", "approver"], { identity: "human:bo" }),
      await keyFor(server, "viewer", { identity: "human:eve" }),
    ];
    const [adas, bos, eves] = [await connect(ada), await connect(bo), await connect(eve)];
    const run = await ask(bos, "startRun", { workflow: "asks", message: "x" });
    const { pending } = await ask(bos, "getResult", { run: run.id, wait: 10, until: "settled" });
    const given = { pending: pending[0].id, answer: "this" };
    await expect(eves.callTool({ name: "decide", arguments: given })).rejects.toThrow(/decide/);
    await refused(bos, "decide", given);
    await ask(adas, "decide", given);
    await refused(adas, "decide", given);
    const entries = async (): Promise<Answer[]> => {
      const { items } = (await (await call(server, "GET /v1/access", { key: await keyFor(server) })).json()) as Answer;
      return items.reverse();
    };
    const ofTools = async () => (await entries()).filter(({ route }) => route.startsWith("/v1") && route !== "/v1/access");
    await expect.poll(async () => (await ofTools()).length).toBe(5);
    const decision = { method: "POST", route: "/v1/pending/{pending}/decision", about: `pending=${given.pending}` };
    expect(await ofTools()).toMatchObject([
      { identity: "human:bo", method: "POST", route: "/v1/runs", status: 201 },
      { ...decision, identity: "human:eve", key: eve.slice(0, 15), status: 403, code: "access.forbidden" },
      { ...decision, identity: "human:bo", key: bo.slice(0, 15), status: 403, code: "access.forbidden" },
      { ...decision, identity: "human:ada", key: ada.slice(0, 15), status: 200 },
      { ...decision, identity: "human:ada", key: ada.slice(0, 15), status: 409, code: "pending.answered" },
    ]);
    const cameWith = new Set((await entries()).flatMap(({ route, request }) => (route === "/mcp" ? [request] : [])));
    for (const { request } of await ofTools()) expect(cameWith).toContain(request);
  });

  // Mutant: every key is offered every tool.
  test("who may decide is offered that, and who may only start work is not", async () => {
    const { server, connect } = await served();
    for (const [role, offered] of [
      ["operator", false],
      ["approver", true],
      ["admin", true],
    ] as const)
      expect(named((await (await connect(await keyFor(server, role))).listTools()).tools).includes("decide"), role).toBe(offered);
  });

  test("a viewer sees no tool that writes, and a key that was revoked opens nothing", async () => {
    const { server, connect } = await served();
    const key = await keyFor(server, "viewer");
    const client = await connect(key);
    const { tools } = await client.listTools();
    expect(named(tools)).toEqual(expect.arrayContaining(["getSessions", "getWhy", "verifySession"]));
    for (const name of named(tools)) expect(routes.find((route) => route.name === name)?.needs).toMatch(/^key$|:read$/);
    await expect(client.callTool({ name: "createSession", arguments: { message: "x" } })).rejects.toThrow(/createSession/);
    await (await accessOf(server)).endKey(key.slice(0, 15), { revoked: new Date().toISOString() });
    await expect(client.listTools()).rejects.toThrow();
    await expect(connect(key)).rejects.toThrow(/access\.unauthenticated|401|[Uu]nauthorized/);
  });
});

describe("over pipes", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await projectFolder("export const rath = openrath({});");
  });

  // Mutant: it may do everything unless it is told otherwise.
  test.each(["legacy", "auto"] as const)(
    "as a process of openrath mcp serve, which may approve nothing by itself, %s",
    async (mode: Mode) => {
      const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } });
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [command, "mcp", "serve", "--identity", "service:helper"],
        cwd: folder,
        stderr: "pipe",
      });
      let err = "";
      transport.stderr?.on("data", (piece: Buffer) => {
        err += piece.toString();
      });
      open.push(() => client.close());
      await client.connect(transport);
      const tools = named((await client.listTools()).tools);
      expect(tools).toContain("forkSession");
      expect(tools).not.toContain("decide");
      const made = await ask(client, "createSession", { message: `hello ${mode}` });
      expect(await ask(client, "getSession", { session: made.id })).toMatchObject({ principal: "service:helper" });
      expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain(`openrath://sessions/${made.id}`);
      expect(err).toMatch(/serves tools for models on standard input and output, as service:helper \(operator\)/);
    },
  );
});
