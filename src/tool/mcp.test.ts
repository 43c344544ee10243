import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { call, errorOf, fixture, isAlive, toolOf } from "../../test/support/mcp/calls.ts";
import { freePort } from "../../test/support/mcp/http.ts";
import { RathError } from "../session/errors.ts";
import { type Mcp, mcp, mcpServers } from "./mcp.ts";
import { openAll } from "./mcp-open.ts";

const unused = await freePort();
const cleanups: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function opened(...args: Parameters<typeof mcp>): Promise<Mcp> {
  const open = await mcp(...args);
  cleanups.push(() => open[Symbol.asyncDispose]());
  return open;
}

async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "openrath-mcp-"));
  cleanups.push(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

describe("what is declared", () => {
  test("without trust every tool is once and writes to the world, whatever the server says", async () => {
    const open = await opened(fixture());
    expect(new Set(open.tools.map((tool) => tool.repeat))).toEqual(new Set(["once"]));
    expect(new Set(open.tools.map((tool) => tool["~tool"].writes))).toEqual(new Set(["world"]));
  });

  test("with trust read-only and idempotent tools are safe, and read-only ones write nothing", async () => {
    const open = await opened(fixture(), { trust: true });
    const declared = ["starts", "put", "crash"].map((name) => [toolOf(open, name).repeat, toolOf(open, name)["~tool"].writes]);
    expect(declared).toEqual([
      ["safe", "nothing"],
      ["safe", "world"],
      ["once", "world"],
    ]);
  });

  test("the caller has the last word on repeating", async () => {
    const open = await opened(fixture(), { repeat: ({ name }) => (name === "crash" ? "keyed" : undefined), callTimeout: "5s" });
    expect(toolOf(open, "crash").repeat).toBe("keyed");
    expect(toolOf(open, "pid").repeat).toBe("once");
    expect(toolOf(open, "pid")["~tool"].timeoutMs).toBe(5000);
  });

  test("a keyed tool gets the key of the call, and no other tool does", async () => {
    const open = await opened(fixture(), { repeat: ({ name }) => (name === "meta" ? "keyed" : undefined) });
    expect(await call(open, "meta", {}, { key: "call-1" })).toContain('"openrath/key":"call-1"');
    expect(await call(await opened(fixture()), "meta", {}, { key: "call-1" })).not.toContain("call-1");
  });

  test("we say who we are and what we can do", async () => {
    const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
    expect(await call(await opened(fixture()), "client")).toEqual({
      info: { name: "openrath", version: manifest.version },
      capabilities: { elicitation: { form: {} } },
    });
  });

  test("names become valid, the server is called by its own, and of two with one name the first counts", async () => {
    const open = await opened(fixture("names"));
    const dotted = open.tools.find((tool) => tool.description === "dotted");
    expect(dotted?.name).toMatch(/^a_b_[0-9a-f]{8}$/);
    expect(await call(open, dotted?.name ?? "", { x: 1 })).toBe('{"name":"a.b","arguments":{"x":1}}');
    for (const { name } of open.tools) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(open.tools.filter(({ name }) => name === "twice").map(({ description }) => description)).toEqual(["first"]);
    expect(toolOf(open, "wordy").description).toMatch(/^w{4096}… \(95904 more characters\)$/);
  });

  test("a server without tools is no error", async () => {
    expect((await opened(fixture("toolless"))).tools).toEqual([]);
  });
});

describe("results", () => {
  test("an error of the tool is an error, with its text", async () => {
    const open = await opened(fixture());
    expect((await errorOf(call(open, "fail"))).message).toBe("no such city");
    expect((await errorOf(call(open, "refuse"))).message).toContain("not like this");
    expect(await call(open, "weather", { city: "Oslo" })).toBe('{"name":"weather","arguments":{"city":"Oslo"}}');
  });

  test("structured content keeps the files beside it", async () => {
    expect(await call(await opened(fixture()), "mixed")).toEqual([
      { type: "value", value: { n: 1 } },
      { type: "file", mediaType: "audio/wav", data: new Uint8Array([1, 2]) },
    ]);
  });

  test("structured content that breaks its own schema is an error", async () => {
    expect((await errorOf(call(await opened(fixture()), "liar"))).message).toContain("n: expected number, received string");
  });

  test("progress arrives as numbers where there is a total, and as text", async () => {
    const updates: unknown[] = [];
    await call(await opened(fixture()), "progress", {}, { progress: (update) => void updates.push(update) });
    expect(updates).toEqual([{ done: 1, of: 2 }, "half", "all"]);
  });
});

describe("calls that are given up or lost", () => {
  test("an aborted call rejects with the reason and the server is told", async () => {
    const open = await opened(fixture());
    const abort = new AbortController();
    const asleep = errorOf(call(open, "sleep", {}, { signal: abort.signal }));
    await call(open, "pid");
    const reason = new Error("enough");
    abort.abort(reason);
    expect(await asleep).toBe(reason);
    expect(await call(open, "cancelled")).toEqual({ cancelled: [expect.any(Number)] });
    expect(await errorOf(call(open, "pid", {}, { signal: abort.signal }))).toBe(reason);
  });

  test("a crash during a call loses every call in flight, and the next one connects again", async () => {
    const open = await opened(fixture());
    const before = await call(open, "pid");
    const asleep = errorOf(call(open, "sleep"));
    const error = await errorOf(call(open, "crash"));
    expect(error.name).toBe("McpLost");
    expect(error.message).toContain("outcome is not known");
    expect(error.message).toContain("panic: out of cheese");
    expect((await asleep).name).toBe("McpLost");
    const [one, two] = await Promise.all([call(open, "pid"), call(open, "pid")]);
    expect(one).toBe(two);
    expect(one).not.toBe(before);
  });

  test("a reconnection that fails says why, and a later one may work", async () => {
    const marker = join(await scratch(), "marker");
    const open = await opened(fixture("second", marker));
    await errorOf(call(open, "crash"));
    const error = await errorOf(call(open, "pid"));
    expect(RathError.is(error, "mcp.failed")).toBe(true);
    expect(error.message).toContain("cannot find my configuration");
    await rm(marker);
    expect(await call(open, "pid")).toMatch(/^\d+$/);
  });

  test("a notice that the list changed is enough for the tools to change", async () => {
    const open = await opened(fixture());
    await call(open, "grow");
    await vi.waitFor(() => expect(open.tools.map(({ name }) => name)).toContain("grown_1"), { timeout: 10_000 });
  });

  test("a changed list is seen by the next describe, and what did not change stays the same object", async () => {
    const open = await opened(fixture());
    const tool = toolOf(open, "grow");
    const before = await tool["~tool"].source?.describe();
    expect(before).toMatchObject({ server: "fixture-plain", version: "1.2.3" });
    await call(open, "grow");
    const after = await tool["~tool"].source?.describe();
    expect(after?.tools.map(({ name }) => name)).toContain("grown_1");
    expect(after?.digest).not.toBe(before?.digest);
    expect(await tool["~tool"].source?.describe()).toEqual(after);
    expect(toolOf(open, "grow")).toBe(tool);
    expect(await call(open, "grown_1")).toContain("grown_1");
  });

  test("a list that does not come is given up in time, and calls go on", async () => {
    const open = await opened(fixture("tiring"), { timeout: "2s" });
    const error = await errorOf(toolOf(open, "pid")["~tool"].source?.describe() ?? Promise.resolve());
    expect(error).toMatchObject({ code: "mcp.failed", message: expect.stringContaining("listing its tools: Request timed out") });
    expect(await call(open, "pid")).toMatch(/^\d+$/);
  });

  test("a server that wants to use our model is refused", async () => {
    expect(await call(await opened(fixture()), "sample")).toContain("-32601");
  });
});

describe("servers that cannot be opened", () => {
  test.each([
    ["a command that does not exist", { command: "no-such-command-here" }, "there is no command no-such-command-here"],
    ["a directory that does not exist", { ...fixture(), cwd: "/no/such" }, "there is no directory /no/such"],
    ["a process that dies at once", fixture("dies"), "cannot find my configuration"],
    ["output without end and without lines", fixture("flood"), "exceeded maximum size"],
    ["a schema nested without end", fixture("deep"), "Maximum call stack size"],
    ["an address where nothing listens", { url: `http://127.0.0.1:${unused}/mcp?key=secret` }, "nothing listens there"],
    ["a port that fetch does not use", { url: "http://127.0.0.1:9/mcp" }, "bad port"],
    ["an address that is none", { url: "ftp://example.com" }, "http://"],
    ["a variable that is not set", { ...fixture(), env: ["NO_SUCH_VARIABLE"] }, "NO_SUCH_VARIABLE"],
  ])("%s is an error that says so", async (_, server, text) => {
    const error = await errorOf(mcp(server));
    expect(RathError.is(error, "mcp.failed")).toBe(true);
    expect(error.message).toContain(text);
    expect(error.message).not.toContain("secret");
    expect(error.message.length).toBeLessThan(3000);
  });

  test.each(["silent", "mute"])("a server that is %s is given up in time and its process ended", async (mode) => {
    const marker = join(await scratch(), "pid");
    const error = await errorOf(mcp(fixture(mode, marker), { timeout: "1s" }));
    expect(error).toMatchObject({ code: "mcp.failed", message: expect.stringContaining("did not answer within 1 s") });
    expect(isAlive(Number(await readFile(marker, "utf8")))).toBe(false);
  });

  test("opening can be given up by a signal", async () => {
    const reason = new Error("enough");
    expect(await errorOf(mcp(fixture("silent"), { signal: AbortSignal.abort(reason) }))).toBe(reason);
  });

  test("garbage between the messages does no harm", async () => {
    expect(await call(await opened(fixture("garbage")), "pid")).toMatch(/^\d+$/);
  });

  test("a server that speaks only the newest revision is understood", async () => {
    const open = await opened(fixture("modern"));
    expect(open.servers[0]?.reported).toEqual({ name: "fixture-modern", version: "1.2.3" });
    expect(await call(open, "pid")).toMatch(/^\d+$/);
    expect((await errorOf(call(open, "fail"))).message).toBe("no such city");
    expect((await errorOf(call(open, "crash"))).name).toBe("McpLost");
    expect(await call(open, "pid")).toMatch(/^\d+$/);
    await call(open, "grow");
    await vi.waitFor(() => expect(open.tools.map(({ name }) => name)).toContain("grown_1"), { timeout: 10_000 });
  });

  test("a missing peer is named with the line that installs it", async () => {
    const missing = openAll(
      [fixture()],
      () => ({}),
      async (name) => Promise.reject(new Error(`Cannot find package '${name}'`)),
    );
    expect(await errorOf(missing)).toMatchObject({
      code: "mcp.unavailable",
      message: expect.stringContaining("npm install @modelcontextprotocol/client"),
    });
  });
});

describe("closing", () => {
  test.each(["plain", "stubborn"])("ends the process of a %s server, and calls afterwards fail", async (mode) => {
    const open = await mcp(fixture(mode));
    const pid = Number(await call(open, "pid"));
    expect(isAlive(pid)).toBe(true);
    await open[Symbol.asyncDispose]();
    expect(isAlive(pid)).toBe(false);
    expect(await errorOf(call(open, "pid"))).toMatchObject({ code: "mcp.failed", message: expect.stringContaining("was closed") });
    await open[Symbol.asyncDispose]();
  });

  test("ends calls that are in flight", async () => {
    const open = await mcp(fixture());
    const asleep = errorOf(call(open, "sleep"));
    await call(open, "pid");
    await open[Symbol.asyncDispose]();
    expect((await asleep).name).toBe("McpLost");
  });
});

describe("configurations", () => {
  test("when one server fails the others are closed", async () => {
    const marker = join(await scratch(), "pid");
    await errorOf(mcpServers({ mcpServers: { good: fixture("plain", marker), bad: fixture("dies") } }));
    expect(isAlive(Number(await readFile(marker, "utf8")))).toBe(false);
  });

  test("only the servers that are named are trusted", async () => {
    const open = await mcpServers({ mcpServers: { a: fixture(), b: fixture() } }, { trust: ["b"] });
    cleanups.push(() => open[Symbol.asyncDispose]());
    expect([toolOf(open, "a_starts").repeat, toolOf(open, "b_starts").repeat]).toEqual(["once", "safe"]);
  });

  test("what does not fit is said", async () => {
    const file = join(await scratch(), "mcp.json");
    await writeFile(file, "{");
    expect((await errorOf(mcpServers(file))).message).toContain("cannot be read as JSON");
    const say = async (config: unknown) => (await errorOf(mcpServers(config as never))).message;
    expect(await say({})).toContain('it must be { "mcpServers"');
    expect(await say({ mcpServers: { x: { args: [] } } })).toContain('"x" needs "command"');
    expect(await say({ mcpServers: { x: { type: "sse", url: "http://x/" } } })).toContain("streamable HTTP");
  });
});
