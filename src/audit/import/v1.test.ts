import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readMarkup } from "../../../test/support/markup.ts";
import { Agent, type Rath, RathError, verify } from "../../index.ts";
import { scripted } from "../../model/scripted.ts";
import { testRath } from "../../testing/testing.ts";
import { cost, dossier, graph, write } from "../audit.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-v1-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Given {
  readonly header?: object;
  readonly chunks?: readonly (readonly [kind: string, payload: object])[];
  readonly trailer?: object | null;
}
const call = (id: string, name: string, args: string): object => ({ id, type: "function", function: { name, arguments: args } });
const conversation = [
  ["system", { content: "You are careful." }],
  ["user", { content: "What is in a.txt and b.txt?" }],
  ["assistant", { content: null, tool_calls: [call("c1", "read", '{"path":"a.txt"}'), call("c2", "read", '{"path":"b.txt"}')] }],
  ["tool_result", { tool_call_id: "c1", name: "read", content: '{"text":"A"}' }],
  ["tool_result", { tool_call_id: "c2", name: "read", content: "not json" }],
  ["assistant", { content: "A and not json.", tool_calls: [] }],
] as const;

function textOf({ header = {}, chunks = conversation, trailer = {} }: Given = {}): string {
  const lines: object[] = [
    {
      type: "header",
      schema_version: 1,
      id: "5d1c",
      created_at: "2025-06-01T10:00:00+00:00",
      parent_session_ids: [],
      lineage_operator: "user",
      lineage_kind: "leaf_user",
      lineage_extras: [["tag", "x"]],
      sandbox_backend: "local",
      sandbox_spec: { image: "python:3", env: { TOKEN: "hunter2" }, timeout_seconds: 60 },
      sandbox_handle_id: "h-1",
      ...header,
    },
    ...chunks.map(([kind, payload], index) => ({ type: "chunk", index, kind, payload })),
  ];
  if (trailer !== null)
    lines.push({
      type: "trailer",
      closed_at: "2025-06-01T10:01:00+00:00",
      final_chunk_count: chunks.length,
      cumulative_usage: { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 },
      ...trailer,
    });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
async function file(name: string, text: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}
const sessionsOf = async (rath: Rath): Promise<number> => {
  let count = 0;
  for await (const _ of rath.sessions()) count++;
  return count;
};

describe("a session file of version 1", () => {
  test("becomes a session whose messages, calls, usage and request are as the file has them", async () => {
    await using rath = testRath();
    const session = await rath.import(await file("5d1c.jsonl", textOf()));
    expect(session.messages.map(({ role, text }) => [role, text])).toEqual([
      ["system", "You are careful."],
      ["user", "What is in a.txt and b.txt?"],
      ["assistant", ""],
      ["tool", '{"text":"A"}'],
      ["tool", "not json"],
      ["assistant", "A and not json."],
    ]);
    expect(session.calls.map(({ tool, input, outcome }) => [tool, input, outcome])).toEqual([
      ["read", { path: "a.txt" }, { type: "ok", value: { text: "A" } }],
      ["read", { path: "b.txt" }, { type: "ok", value: "not json" }],
    ]);
    expect(session.usage).toMatchObject({ input: 120, output: 30, own: { input: 120, output: 30 } });
    expect(session.status).toBe("idle");
    expect(session.output).toBe("A and not json.");
    expect(session.lineage).toMatchObject({ kind: "import", parents: [] });
    const [first] = session.events();
    expect(first?.data).toMatchObject({
      format: "openrath-v1",
      id: "5d1c",
      createdAt: "2025-06-01T10:00:00+00:00",
      extras: [["tag", "x"]],
      sandbox: { backend: "local", handle: "h-1", spec: { image: "python:3", env: ["TOKEN"], timeout_seconds: 60 } },
      chunks: 6,
    });
    expect(JSON.stringify([...session.events()])).not.toContain("hunter2");
    const { messages } = await session.request();
    expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
    expect((await verify(session)).ok).toBe(true);
  });

  test("is continued by an agent, forked, exported as a bundle and imported elsewhere", async () => {
    await using rath = testRath();
    const imported = await rath.import(await file("5d1c.jsonl", textOf()));
    const agent = new Agent({ name: "reader", model: scripted((request) => `I read ${request.messages.length} messages.`) });
    const answered = await agent.forward(imported.fork("again").say("And c.txt?"));
    expect(answered.text).toBe("I read 6 messages.");
    expect(answered.usage.input).toBeGreaterThan(120);
    await write(answered, join(folder, "bundle.jsonl"));
    await using elsewhere = testRath();
    const there = await elsewhere.import(join(folder, "bundle.jsonl"));
    expect(there.messages.map(({ text }) => text)).toEqual(answered.messages.map(({ text }) => text));
  });

  // Mutant: a dossier adds up results of effects alone.
  test("costs what the file says, in its dossier too", async () => {
    await using rath = testRath();
    const session = await rath.import(await file("5d1c.jsonl", textOf()));
    const { total } = await cost(session);
    expect(total.usage).toMatchObject({ input: 120, output: 30 });
    const { page } = await dossier(session, join(folder, "dossier"));
    const { text } = readMarkup(await readFile(page, "utf8"));
    expect(text).toContain("150 tokens");
    expect(text).toContain("120 tokens read (0 of them from a cache) and 30 written");
  });

  test("imported twice is the same session, and nothing is written again", async () => {
    await using rath = testRath();
    const path = await file("5d1c.jsonl", textOf());
    const first = await rath.import(path);
    const again = await rath.import(path);
    expect(again.toJSON()).toEqual(first.toJSON());
    expect(await sessionsOf(rath)).toBe(1);
    await using other = testRath();
    expect((await other.import(path)).id).toBe(first.id);
  });

  test("without a trailer was interrupted: the session says so, and goes on", async () => {
    await using rath = testRath();
    const session = await rath.import(await file("5d1c.jsonl.__partial__", textOf({ trailer: null })));
    expect(session.status).toBe("failed");
    expect([...session.events()][0]?.data).toMatchObject({ interrupted: true });
    expect(session.messages).toHaveLength(6);
    const agent = new Agent({ name: "reader", model: scripted("Done.") });
    expect((await agent.forward(session.say("Go on"))).text).toBe("Done.");
  });

  test("a last line that was cut off is left out with a warning", async () => {
    await using rath = testRath();
    const session = await rath.import(await file("5d1c.jsonl", textOf({ trailer: null }).slice(0, -20)));
    expect(session.messages).toHaveLength(5);
    expect([...session.events()][0]?.data).toMatchObject({ warnings: [expect.stringContaining("line 7")] });
  });

  test("calls without a result and results without a call do not break the request", async () => {
    await using rath = testRath();
    const chunks = [
      ["user", { content: "Go" }],
      ["tool_result", { tool_call_id: "nobody", name: "read", content: "1" }],
      ["assistant", { content: "", tool_calls: [call("c1", "read", "{"), call("c1", "list", "")] }],
      ["tool_result", { tool_call_id: "c1", name: "read", content: '{"a":1,"a":2}' }],
      ["tool_result", { tool_call_id: "nobody", name: "read", content: "stray" }],
    ] as const;
    const session = (await rath.import(await file("x.jsonl", textOf({ chunks })))).say("More");
    const agent = new Agent({ name: "reader", model: scripted("Done.") });
    const { messages } = await (await agent.forward(session)).request();
    expect(messages.find(({ role }) => role === "tool")).toEqual({
      role: "tool",
      results: [
        { call: "c1", tool: "read", outcome: "ok", value: '{"a":1,"a":2}' },
        { call: "c1", tool: "list", outcome: "cancelled", value: "This call was not continued in this branch." },
      ],
    });
  });
});

describe("a folder of such files", () => {
  const parent = { id: "a", created_at: "1", parent_session_ids: [] };
  const left = [...conversation, ["user", { content: "Left" }]] as const;
  const right = [...conversation, ["user", { content: "Right" }]] as const;

  test("forks and merges repeat nothing", async () => {
    await using rath = testRath();
    await file("a.jsonl", textOf({ header: parent }));
    await file(
      "z.jsonl",
      textOf({ header: { id: "z", created_at: "2", parent_session_ids: ["a"], lineage_kind: "op_fork" }, chunks: left }),
    );
    await file(
      "b.jsonl",
      textOf({ header: { id: "b", created_at: "2", parent_session_ids: ["a"], lineage_kind: "op_fork" }, chunks: right }),
    );
    const merged = [...left, ...right, ["user", { content: "Both" }]] as const;
    await file(
      "0.jsonl",
      textOf({ header: { id: "0", created_at: "3", parent_session_ids: ["z", "b"], lineage_kind: "op_merge" }, chunks: merged }),
    );
    const session = await rath.import(folder);
    expect(session.messages.map(({ text }) => text).filter((text) => !text.includes("json"))).toEqual([
      "You are careful.",
      "What is in a.txt and b.txt?",
      "",
      '{"text":"A"}',
      "Left",
      "Right",
      "Both",
    ]);
    expect(session.lineage.kind).toBe("merge");
    expect(session.usage).toMatchObject({ input: 480, own: { input: 120 } });
    expect((await graph(session)).nodes).toHaveLength(4);
    expect((await verify(session)).ok).toBe(true);
    expect((await rath.import(folder)).toJSON()).toEqual(session.toJSON());
    expect(await sessionsOf(rath)).toBe(4);
    // A file that comes later finds its parent in the store.
    await file(
      "late.jsonl",
      textOf({ header: { id: "late", created_at: "9", parent_session_ids: ["b"] }, chunks: [...right, ["user", { content: "Late" }]] }),
    );
    const late = await rath.import(folder);
    expect(late.messages.at(-1)?.text).toBe("Late");
    expect(late.lineage.kind).toBe("fork");
    expect(await sessionsOf(rath)).toBe(5);
  });

  test("a session whose parents are elsewhere, or who says something else, names them and stands by itself", async () => {
    await using rath = testRath();
    await file("a.jsonl", textOf({ header: parent }));
    const other = [
      ["system", { content: "You are careful." }],
      ["user", { content: "Something else" }],
    ] as const;
    await file("b.jsonl", textOf({ header: { id: "b", created_at: "2", parent_session_ids: ["a", "gone"] }, chunks: other }));
    const session = await rath.import(folder);
    expect(session.lineage.kind).toBe("import");
    expect([...session.events()].filter(({ kind }) => kind === "record.linked").map(({ data }) => (data as { id: string }).id)).toEqual([
      "a",
      "gone",
    ]);
    expect(session.messages).toHaveLength(2);
  });

  test("files that name each other in a circle are imported all the same", async () => {
    await using rath = testRath();
    await file("a.jsonl", textOf({ header: { id: "a", parent_session_ids: ["b"] } }));
    await file("b.jsonl", textOf({ header: { id: "b", parent_session_ids: ["a"] }, chunks: left }));
    await rath.import(folder);
    expect(await sessionsOf(rath)).toBe(2);
  });

  test("one file that is wrong keeps all of them out", async () => {
    await using rath = testRath();
    await file("a.jsonl", textOf({ header: parent }));
    await file("b.jsonl", textOf({ header: { id: "b" }, trailer: { final_chunk_count: 7 } }));
    await expect(rath.import(folder)).rejects.toMatchObject({ code: "bundle.invalid", details: { line: 8, field: "final_chunk_count" } });
    expect(await sessionsOf(rath)).toBe(0);
  });

  test("an unfinished file beside the finished one is left out", async () => {
    await using rath = testRath();
    await file("a.jsonl", textOf({ header: parent }));
    await file("a.jsonl.__partial__", textOf({ header: parent, trailer: null }));
    expect((await rath.import(folder)).status).toBe("idle");
    expect(await sessionsOf(rath)).toBe(1);
  });
});

describe("what is wrong is refused with its line and field, and nothing is written", () => {
  const lines = textOf().trimEnd().split("\n");
  const changed = (line: number, change: (value: Record<string, unknown>) => void): string => {
    const value = JSON.parse(lines[line - 1] ?? "") as Record<string, unknown>;
    change(value);
    return lines.map((old, index) => `${index === line - 1 ? JSON.stringify(value) : old}\n`).join("");
  };
  const replaced = (line: number, text: string): string => lines.map((old, index) => `${index === line - 1 ? text : old}\n`).join("");
  test.each([
    ["a newer version", changed(1, (value) => Object.assign(value, { schema_version: 2 })), 1, "schema_version"],
    ["an id that is no text", changed(1, (value) => Object.assign(value, { id: 7 })), 1, "id"],
    ["parents that are no list", changed(1, (value) => Object.assign(value, { parent_session_ids: "a" })), 1, "parent_session_ids"],
    ["an extra that is no pair", changed(1, (value) => Object.assign(value, { lineage_extras: [["a"]] })), 1, "lineage_extras.0"],
    ["a negative index", changed(2, (value) => Object.assign(value, { index: -1 })), 2, "index"],
    ["chunks out of order", changed(3, (value) => Object.assign(value, { index: 2 })), 3, "index"],
    ["an unknown kind", changed(3, (value) => Object.assign(value, { kind: "robot" })), 3, "kind"],
    ["a missing payload", changed(3, (value) => delete value["payload"]), 3, "payload"],
    ["content of a wrong type", changed(3, (value) => Object.assign(value, { payload: { content: [1] } })), 3, "payload.content"],
    [
      "arguments that are no text",
      replaced(4, lines[3]?.replace('"{\\"path\\":\\"a.txt\\"}"', "{}") ?? ""),
      4,
      "payload.tool_calls.0.function.arguments",
    ],
    ["no JSON", replaced(4, "{oops"), 4, undefined],
    ["a key given twice", replaced(3, '{"type":"chunk","type":"chunk","index":1,"kind":"user","payload":{"content":"x"}}'), 3, undefined],
    [
      "JSON that is too deep",
      replaced(3, `{"type":"chunk","index":1,"kind":"user","payload":${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
      3,
      undefined,
    ],
    ["a number nobody can keep", replaced(1, (lines[0] ?? "").replace('"x"', "12345678901234567890")), 1, undefined],
    ["an unknown type", changed(3, (value) => Object.assign(value, { type: "note" })), 3, "type"],
    ["something after the trailer", `${textOf()}${lines[1]}\n`, 9, "type"],
    ["a second header of another session", replaced(3, (lines[0] ?? "").replace("5d1c", "other")), 3, "id"],
    [
      "negative usage",
      changed(8, (value) => Object.assign(value, { cumulative_usage: { prompt_tokens: -1 } })),
      8,
      "cumulative_usage.prompt_tokens",
    ],
  ])("%s", async (_, text, line, field) => {
    await using rath = testRath();
    const error: unknown = await rath.import(await file("x.jsonl", text)).catch((thrown: unknown) => thrown);
    expect(RathError.is(error, "bundle.invalid") ? error.details : error).toEqual({
      file: join(folder, "x.jsonl"),
      line,
      ...(field === undefined ? {} : { field }),
    });
    expect(await sessionsOf(rath)).toBe(0);
  });
});
