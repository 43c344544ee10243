// The servers that the makers of MCP publish, over pipes and over HTTP. No network but loopback.

import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type Mcp, mcp, mcpServers } from "../../src/tool/mcp.ts";
import { call, errorOf, published, toolOf } from "../support/mcp/calls.ts";
import { freePort, HttpServer } from "../support/mcp/http.ts";

let directory = "";
const open: AsyncDisposable[] = [];

beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), "openrath-mcp-")));
  await writeFile(join(directory, "hello.txt"), "hello\n");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});
afterAll(() => rm(directory, { recursive: true, force: true }));

function keep<T extends AsyncDisposable>(one: T): T {
  open.push(one);
  return one;
}

type Keep = <T extends AsyncDisposable>(one: T) => T;

const overPipes = async (to: Keep) => to(await mcp(published("everything")));
const overHttp = async (to: Keep) => {
  const server = to(new HttpServer(await freePort()));
  await server.start();
  return to(await mcp({ url: server.url }));
};

describe.each([
  ["pipes", overPipes],
  ["HTTP", overHttp],
])("the everything server over %s", (_, connect) => {
  // One that is called from one test after the other, as programs do: to start one takes longer than all calls.
  const lasting: AsyncDisposable[] = [];
  let server: Mcp;
  beforeAll(async () => {
    server = await connect((one) => {
      lasting.push(one);
      return one;
    });
  });
  afterAll(async () => {
    for (const one of lasting.reverse()) await one[Symbol.asyncDispose]();
  });

  test("lists its tools and gives text, structured content, files and links", async () => {
    expect(server.servers.map(({ name, reported }) => [name, reported.version])).toEqual([["mcp-servers/everything", "2.0.0"]]);
    expect(await call(server, "echo", { message: "hi" })).toBe("Echo: hi");
    expect(await call(server, "get-structured-content", { location: "Chicago" })).toMatchObject({ conditions: expect.any(String) });
    const image = (await call(server, "get-tiny-image")) as readonly { type: string; mediaType?: string; data?: Uint8Array }[];
    expect(image.map(({ type }) => type)).toEqual(["text", "file", "text"]);
    expect(image[1]?.mediaType).toBe("image/png");
    expect([...(image[1]?.data?.subarray(0, 4) ?? [])]).toEqual([0x89, 0x50, 0x4e, 0x47]);
    expect(await call(server, "get-resource-links", { count: 1 })).toContainEqual(expect.objectContaining({ type: "link" }));
    expect(await call(server, "get-resource-reference", { resourceType: "Blob", resourceId: 1 })).toContainEqual(
      expect.objectContaining({ type: "file", uri: "demo://resource/dynamic/blob/1" }),
    );
  });

  test("has an error of the tool become an error", async () => {
    expect((await errorOf(call(server, "get-sum", { a: "one" }))).message).toContain("expected number");
    expect(await toolOf(server, "get-sum")["~tool"].validate({ a: "one" })).toEqual({
      problems: ["a: expected number, received string", "b: expected number, received undefined"],
    });
  });

  test("reports progress and stops when the caller gives up", async () => {
    const updates: unknown[] = [];
    await call(server, "trigger-long-running-operation", { duration: 0.1, steps: 2 }, { progress: (update) => updates.push(update) });
    expect(updates).toEqual([
      { done: 1, of: 2 },
      { done: 2, of: 2 },
    ]);
    const abort = new AbortController();
    const reason = new Error("enough");
    const running = call(
      server,
      "trigger-long-running-operation",
      { duration: 60, steps: 600 },
      { signal: abort.signal, progress: () => abort.abort(reason) },
    );
    expect(await errorOf(running)).toBe(reason);
    expect(await call(server, "echo", { message: "still there" })).toBe("Echo: still there");
  });

  test("describes itself the same over two connections", async () => {
    const [one, two] = [server, await connect(keep)];
    const describe = (server: Mcp) => toolOf(server, "echo")["~tool"].source?.describe();
    const described = await describe(one);
    expect(described).toMatchObject({
      server: "mcp-servers/everything",
      version: "2.0.0",
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await describe(two)).toEqual(described);
    expect(toolOf(two, "echo")["~tool"].revision).toBe(toolOf(one, "echo")["~tool"].revision);
    expect(toolOf(one, "echo")["~tool"].revision).toMatch(/^[0-9a-f]{16}$/);
  });

  test("is read for resources and prompts", async () => {
    const [info] = server.servers;
    const resources = await info!.resources();
    expect(resources.length).toBeGreaterThan(0);
    expect(await info!.read(resources[0]!.uri)).toMatchObject([{ type: "text", uri: resources[0]!.uri }]);
    expect((await info!.prompts()).find(({ name }) => name === "args-prompt")?.arguments).toEqual(["city", "state"]);
    expect(await info!.prompt("args-prompt", { city: "Oslo" })).toEqual([
      { role: "user", part: { type: "text", text: expect.stringContaining("Oslo") } },
    ]);
  });
});

test("a process inherits PATH and HOME and what is named, nothing else", async () => {
  // The peer would hand on the last four of these by itself.
  for (const name of ["OPENRATH_TEST_SECRET", "OPENRATH_TEST_TOKEN", "LOGNAME", "SHELL", "TERM", "USER"]) vi.stubEnv(name, "ours");
  const named = keep(await mcp({ ...published("everything"), env: ["OPENRATH_TEST_TOKEN"] }));
  const valued = keep(await mcp({ ...published("everything"), env: { MODE: "test", PATH: "/nowhere" } }));
  const environment = async (server: Mcp) => JSON.parse((await call(server, "get-env")) as string) as Record<string, string>;
  expect(Object.keys(await environment(named)).sort()).toEqual(["HOME", "OPENRATH_TEST_TOKEN", "PATH"]);
  expect(await environment(valued)).toEqual({ HOME: process.env["HOME"], MODE: "test", PATH: "/nowhere" });
});

test("a server that asks a person is told no, or what elicit says", async () => {
  const declined = keep(await mcp(published("everything")));
  expect(await call(declined, "trigger-elicitation-request")).toContain('"action": "decline"');
  const asked: string[] = [];
  const elicit = async ({ message, schema }: { message: string; schema: object }) => {
    asked.push(message, Object.keys(schema)[0] ?? "");
    return { name: "Ada", check: true };
  };
  const answered = keep(await mcp(published("everything"), { elicit }));
  expect(await call(answered, "trigger-elicitation-request")).toContain("Ada");
  expect(asked).toHaveLength(2);
});

describe("over HTTP", () => {
  test("a server that was restarted between calls is found again", async () => {
    const server = keep(new HttpServer(await freePort()));
    await server.start();
    const client = keep(await mcp({ url: server.url }));
    expect(await call(client, "echo", { message: "one" })).toBe("Echo: one");
    await server.kill();
    expect(await errorOf(call(client, "echo", { message: "two" }))).toMatchObject({ code: "mcp.failed" });
    await server.start();
    expect(await call(client, "echo", { message: "three" })).toBe("Echo: three");
    await server.kill();
    await server.start();
    expect(await call(client, "echo", { message: "four" })).toBe("Echo: four");
    expect((await toolOf(client, "echo")["~tool"].source?.describe())?.tools.length).toBe(client.tools.length);
  });

  test("a server that dies during a call leaves its outcome unknown", async () => {
    const server = keep(new HttpServer(await freePort()));
    await server.start();
    const client = keep(await mcp({ url: server.url }));
    const running = call(client, "trigger-long-running-operation", { duration: 60, steps: 600 }, { progress: () => void server.kill() });
    expect(await errorOf(running)).toMatchObject({ name: "McpLost", message: expect.stringContaining("outcome is not known") });
    await server.start();
    expect(await call(client, "echo", { message: "again" })).toBe("Echo: again");
  });
});

describe("several servers", () => {
  test("a JSON file of servers gives all their tools", async () => {
    const config = {
      mcpServers: {
        files: published("filesystem", directory),
        memory: { ...published("memory"), env: { MEMORY_FILE_PATH: join(directory, "memory.jsonl") } },
      },
    };
    const file = join(directory, "mcp.json");
    await writeFile(file, JSON.stringify(config));
    const both = keep(await mcpServers(file, { trust: ["files"] }));
    expect(both.servers.map(({ name }) => name)).toEqual(["files", "memory"]);
    expect(await call(both, "read_text_file", { path: join(directory, "hello.txt") })).toEqual({ content: "hello\n" });
    expect((await errorOf(call(both, "read_text_file", { path: "/etc/passwd" }))).message).toContain("Access denied");
    expect(toolOf(both, "read_text_file").repeat).toBe("safe");
    expect(toolOf(both, "write_file")["~tool"].writes).toBe("world");
    const entities = [{ name: "Ada", entityType: "person", observations: ["wrote a program"] }];
    expect(await call(both, "create_entities", { entities })).toEqual({ entities });
    expect(await readFile(join(directory, "memory.jsonl"), "utf8")).toContain("Ada");
    expect(await call(both, "search_nodes", { query: "program" })).toMatchObject({ entities: [{ name: "Ada" }] });
    expect(toolOf(both, "search_nodes").repeat).toBe("once");
  });

  test("names that two servers offer are told apart, also on record", async () => {
    const inner = join(directory, "inner.txt");
    await writeFile(inner, "inner\n");
    const both = keep(await mcpServers({ mcpServers: { a: published("filesystem", directory), b: published("filesystem", tmpdir()) } }));
    const names = both.tools.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.every((name) => /^[ab]_/.test(name))).toBe(true);
    expect(await call(both, "a_read_text_file", { path: inner })).toEqual({ content: "inner\n" });
    const described = await toolOf(both, "b_read_text_file")["~tool"].source?.describe();
    expect(described?.tools.map(({ name }) => name)).toContain("b_read_text_file");
    expect(toolOf(both, "b_read_text_file")["~tool"].source?.name).toBe("b");
  });
});
