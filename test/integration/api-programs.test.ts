/** The programs of the public surface, run as their users would run them: own process, real HTTP, a server that speaks the providers' protocols. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openrath } from "../../src/index.ts";
import { program } from "../support/built.ts";
import { noLocal } from "../support/local.ts";
import { all } from "../support/memory.ts";
import { freshDatabase } from "../support/postgres.ts";

const programs = fileURLToPath(new URL("./programs/", import.meta.url));
const mock = new LLMock({ port: 0 });
const plan = {
  steps: [
    { title: "Back up", risk: "low" },
    { title: "Switch", risk: "high" },
  ],
};
const routes = ["fix", "docs", "done"];
/** A repository with a failing test, and what the two coders do about it. */
const repository = {
  "package.json": '{ "name": "sums", "type": "module", "scripts": { "test": "node --test" } }\n',
  "sum.js": "export const sum = (...numbers) => numbers[0] + numbers[1];\n",
  "sum.test.js":
    'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { sum } from "./sum.js";\n\ntest("sums", () => assert.equal(sum(1, 2, 3), 6));\n',
};
const adding = "// Adds.\nexport function add(a: number, b: number): number {\n  return a - b;\n}\n";
const edit = (replace: string) => ({
  toolCalls: [{ name: "edit_file", arguments: JSON.stringify({ path: "sum.js", find: "numbers[0] + numbers[1]", replace }) }],
});
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-api-"));
  mock.onMessage("What is a session?", { content: "A value that holds everything that happened." });
  const weather = { toolCalls: [{ name: "get_weather", arguments: '{"city":"Lisbon"}' }] };
  mock.on({ userMessage: "Is it warm in Lisbon?", hasToolResult: false }, weather);
  mock.on({ userMessage: "Is it warm in Lisbon?", hasToolResult: true }, { content: "Yes, 21 degrees." });
  mock.onMessage("Here is what happened so far", () => ({
    content: JSON.stringify({ choice: routes.shift() ?? "done", reason: "it is next" }),
  }));
  mock.onMessage("are red", { content: "I looked into it." });
  mock.onMessage("Tell me a long story", { content: "Once upon a time there was a log." }, { chunkSize: 6 });
  mock.onMessage(/Move to Postgres|Plan again|^x$/, { content: JSON.stringify(plan) });
  mock.onMessage("First make this safe", { content: "It is safe now." });
  const research = { toolCalls: [{ name: "research", arguments: '{"topic":"tides","depth":1}' }] };
  mock.on({ userMessage: "Write about tides", hasToolResult: false }, research);
  mock.on({ userMessage: "Write about tides", hasToolResult: true }, { content: "Tides come from the moon." });
  mock.onMessage("Research ", { content: JSON.stringify({ claims: [{ text: "The moon pulls.", source: "https://tides.test/moon" }] }) });
  mock.on({ userMessage: "Refund", hasToolResult: false }, { toolCalls: [{ name: "refund", arguments: '{"order":"7","cents":9900}' }] });
  mock.on({ userMessage: "Refund", hasToolResult: true }, { content: "Refunded." });
  mock.onMessage("Fix the failing test", { content: "Add up all numbers." });
  mock.on({ userMessage: "Make the smallest change", hasToolResult: false }, edit("numbers[0] + numbers[1] + 1"));
  mock.on({ userMessage: "Make the smallest change", hasToolResult: true }, { content: "Changed one thing." });
  mock.on({ userMessage: "Also fix the cause", hasToolResult: false }, edit("numbers.reduce((a, b) => a + b, 0)"));
  mock.on({ userMessage: "Also fix the cause", hasToolResult: true }, { content: "All numbers are added." });
  // What was recalled is the last thing that the model reads, after what was said.
  for (const userMessage of ["Make the build green", "Recalled from memory"]) {
    const repair = {
      toolCalls: [{ name: "shell", arguments: JSON.stringify({ command: "sed -i 's/a - b/a + b/' src/add.ts && npm test" }) }],
    };
    mock.on({ userMessage, hasToolResult: false }, repair);
    mock.on({ userMessage, hasToolResult: true }, { content: "The build is green." });
  }
  await mock.start();
  for (const place of ["repo", "fixtures/repo"]) {
    await mkdir(join(folder, place), { recursive: true });
    for (const [path, text] of Object.entries(repository)) await writeFile(join(folder, place, path), text);
  }
  await mkdir(join(folder, "build/src"), { recursive: true });
  await writeFile(join(folder, "build/src/add.ts"), adding);
  await writeFile(
    join(folder, "build/package.json"),
    '{ "name": "adding", "scripts": { "test": "grep -q \'a + b\' src/add.ts && echo 1 passed" } }\n',
  );
});
afterAll(async () => {
  await mock.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program without the lines that must not compile, and with lines of the test's own at its end. */
async function run(name: string, more = "", cwd = programs, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const source = await readFile(join(programs, `${name}.ts`), "utf8");
  const text = `${source.replace(/^\/\/ @ts-expect-error.*\n.*\n/gm, "")}${more}`;
  const file = await program(join(programs, `${name}.ts`), text);
  return await start(["--import", join(programs, "surroundings.mjs"), file], cwd, { ...keys(name), ...env });
}

async function runsIn(url: string): Promise<readonly string[]> {
  await using rath = openrath({ store: url });
  return await Promise.all((await all(rath.runs())).map((run) => run.status()));
}

function keys(name: string) {
  return {
    OPENRATH_HOME: join(folder, name),
    OPENAI_API_KEY: "test",
    OPENAI_BASE_URL: `${mock.url}/v1`,
    ANTHROPIC_API_KEY: "test",
    ANTHROPIC_BASE_URL: `${mock.url}/v1`,
  };
}

function start(args: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env: { PATH: process.env["PATH"], ...env } });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout += chunk));
    child.stderr.on("data", (chunk) => (stderr += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

describe("the programs of the public surface run", () => {
  test("01-hello", async () => {
    const { code, stdout, stderr } = await run("01-hello");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^A value that holds everything that happened\. \d/);
  });

  test("02-tool", async () => {
    const { code, stdout } = await run("02-tool");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Yes, 21 degrees\. \[/);
    expect(stdout).toMatch(/tool: 'get_weather'[\s\S]*\n21\n$/);
  });

  test.skipIf(noLocal !== undefined)(
    "03-forks: two coders in sandboxes of their own, npm test judges, and the directory stays as it was",
    async () => {
      const { code, stdout, stderr } = await run("03-forks", "console.log(fixed.text, fixed.checks.at(-1)?.passed);", folder);
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "changed sum.js\nAll numbers are added. true\n", stderr: "" });
      expect(await readFile(join(folder, "repo/sum.js"), "utf8")).toBe(repository["sum.js"]);
    },
  );

  test.skipIf(noLocal !== undefined)("06-replay: recorded once, then replayed without a key and without a network", async () => {
    const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));
    const file = await program(join(programs, "06-replay.test.ts"), await readFile(join(programs, "06-replay.ts"), "utf8"));
    const args = [vitest, "run", "--testTimeout", "60000", "--root", folder, "--dir", dirname(file), file];
    const recorded = await start(args, folder, keys("06-replay"));
    expect(recorded, recorded.stdout + recorded.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(/2 passed/) });
    const replayed = await start(args, folder, { CI: "1" });
    expect(replayed, replayed.stdout + replayed.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(/2 passed/) });
  });

  test.each(["SQLite", "PostgreSQL"])("04-approval on %s: the refund waits, then the mail, each answered by a handler", async (kind) => {
    await using database = kind === "PostgreSQL" ? await freshDatabase() : undefined;
    const driver = `
      const ticket = () => POST_ticket(new Request("http://test", { method: "POST", body: JSON.stringify({ id: "1", text: "Refund order 7" }) }));
      const decided = (id: string, body: object) => POST_decision(new Request("http://test", { method: "POST", body: JSON.stringify(body) }), id, { id: "ada" });
      const first = (await (await ticket()).json()) as { pending: { id: string; kind: string; tool: string }[] };
      console.log(first.pending[0]?.kind, first.pending[0]?.tool);
      console.log((await decided(first.pending[0]?.id ?? "", { approve: true, reason: "fine" })).status);
      const second = (await (await ticket()).json()) as { pending: { id: string; kind: string }[] };
      console.log(second.pending[0]?.kind);
      console.log((await decided(first.pending[0]?.id ?? "", { approve: true })).status);
      await rath.decide(second.pending[0]?.id ?? "", { by: "human:ada", answer: { send: true } });
      console.log((await ticket()).status);
      await rath.close();
    `;
    const { code, stdout, stderr } = await run("04-approval", driver, programs, database && { DATABASE_URL: database.url });
    if (database !== undefined) expect(await runsIn(database.url)).toEqual(["done"]);
    expect({ code, stderr, lines: stdout.trim().split("\n") }).toEqual({
      code: 0,
      stderr: "",
      lines: ["approval refund", "204", "question", "409", "200"],
    });
  });

  test("07-selector", async () => {
    const { code, stdout } = await run("07-selector");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "fix it is next\ndocs it is next\ndone it is next\n" });
  });

  test("09-stream", async () => {
    const driver = `
      const started = await POST_chat(new Request("http://test", { method: "POST", body: JSON.stringify({ text: "Tell me a long story" }) }));
      const body = await started.text();
      const ids = [...body.matchAll(/^id: (.*)$/gm)].map(([, id]) => id ?? "");
      const again = await GET_chat(new Request("http://test", { headers: { "last-event-id": ids[2] ?? "" } }), started.headers.get("x-run") ?? "");
      const rest = [...(await again.text()).matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
      console.log(ids.length > 5 && JSON.stringify(rest) === JSON.stringify(ids.slice(3)));
      await rath.close();
    `;
    const { code, stdout, stderr } = await run("09-stream", driver);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Once upon a time there was a log\.finished \d.*\ntrue\n$/);
  });

  test.skipIf(noLocal !== undefined)("10-memory: learns, recalls what a person taught, and rejects what nobody vouches for", async () => {
    const again = (more: string) => run("10-memory", more, join(folder, "build"));
    const words = (stdout: string) => stdout.split("\n").map((line) => line.replaceAll(/\b[0-9a-f]{12,64}\b|[0-9a-f-]{36}/g, "ID"));
    // The program takes back what it learned; then a person says the same.
    const person = `
      const taught = rath.session("Mind this.", { principal: "ada" });
      await taught.remember({ key: "test-command", content: "To make the build green, tests are run with npm test -- --run.", publish: "now" });
    `;
    const first = await again(person);
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: "" });
    expect(words(first.stdout)).toEqual([
      expect.stringMatching(/^wrote {2}ID {2}shell .*a \+ b.*, changed src\/add\.ts: .*1 passe/),
      "  called  ID  workflow/coder called shell",
      "    decided  ID  workflow/coder asked openai/gpt-5.5, which read 1 message",
      '      was-in-context  ID  user: "Make the build green"',
      'wrote ID workflow remembered memory://project/test-command@1 (of a tool, untrusted, staged): "npm test -- --run"',
      expect.stringMatching(/^justified ID shell .*a \+ b/),
      "called ID workflow/coder called shell",
      "decided ID workflow/coder asked openai/gpt-5.5, which read 1 message",
      'was-in-context ID user: "Make the build green"',
      "",
    ]);
    // What the person said is recalled by the program and read by the model; what is remembered then is the tool's again, and comes back.
    const back = `
      const learned = (await rath.memory.history("test-command")).findLast(({ state }) => state === "published");
      await rath.memory.rollback(learned?.revision ?? 0, { by: "human:ada", reason: "it holds" });
    `;
    const second = await again(back);
    expect({ code: second.code, stderr: second.stderr }).toEqual({ code: 0, stderr: "" });
    expect(words(second.stdout)).toContain("    decided  ID  workflow/coder asked openai/gpt-5.5, which read 1 message, 1 recall");
    expect(words(second.stdout).filter((line) => line === "ID ID")).toHaveLength(2);
    // Now it is the tool's word alone: the run rejects, nothing was opened, and there is no line to ask about.
    const third = await again("");
    expect(third).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining('"src/add.ts" was not looked for') });
    await using rath = openrath({ store: join(folder, "10-memory/store.db") });
    const [, , repaired, rejected, ...others] = await all(rath.sessions());
    expect(others).toEqual([]);
    expect(repaired?.memory.reads.map(({ version, trust, recall }) => [version, trust, recall.by, recall.injected])).toEqual([
      [3, "trusted", "workflow", false],
      [3, "trusted", "workflow/coder", true],
    ]);
    expect(rejected).toMatchObject({ status: "rejected", memory: { reads: [{ version: 6, trust: "untrusted" }], writes: [] } });
    expect((await rath.memory.history("test-command")).map(({ state, origin, by }) => [state, origin, by])).toEqual([
      ["published", "tool", "workflow"],
      ["retracted", "tool", "human:ada"],
      ["published", "human", "ada"],
      ["published", "tool", "workflow"],
      ["retracted", "tool", "human:ada"],
      ["published", "tool", "human:ada"],
    ]);
  });

  test("11-output", async () => {
    const { code, stdout } = await run("11-output");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "[ 'Back up', 'Switch' ] low Back up\n1\n" });
  });

  test("12-agent-as-tool", async () => {
    const { code, stdout } = await run("12-agent-as-tool");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "agent research ok\nhttps://tides.test/moon\n" });
  });

  test("13-peers", async () => {
    expect(await run("13-peers")).toMatchObject({ code: 0, stderr: "" });
  });
});
