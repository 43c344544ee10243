/** Sessions in the formats of others, and in Markdown: of every golden session, and of content that wants to break out. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type WriteOptions, write } from "../../src/audit/audit.ts";
import { code, fenced, folded, summaryCode } from "../../src/audit/export/markdown-text.ts";
import { Agent, openrath, type Session, tool } from "../../src/index.ts";
import { scripted } from "../../src/model/scripted.ts";
import { testRath } from "../../src/testing/testing.ts";
import { writeFile } from "../../src/tool/builtin/write-file.ts";
import { Flow } from "../support/flow.ts";

const golden = fileURLToPath(new URL("../golden/", import.meta.url));
const names = (await readdir(golden, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-formats-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function textOf(session: Session, options: WriteOptions): Promise<string> {
  const file = join(folder, "out");
  await write(session, file, options);
  return readFile(file, "utf8");
}

/** OpenAI's chat format, as fine-tuning takes it. */
const chatPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("image_url"), image_url: z.strictObject({ url: z.url() }) }),
]);
const chatRow = z.strictObject({
  messages: z
    .array(
      z.discriminatedUnion("role", [
        z.strictObject({ role: z.literal("system"), content: z.string() }),
        z.strictObject({ role: z.literal("user"), content: z.union([z.string(), z.array(chatPart).min(1)]) }),
        z.strictObject({
          role: z.literal("assistant"),
          content: z.string().nullable(),
          reasoning_content: z.string().optional(),
          tool_calls: z
            .array(
              z.strictObject({
                id: z.string(),
                type: z.literal("function"),
                function: z.strictObject({ name: z.string(), arguments: z.string() }),
              }),
            )
            .min(1)
            .optional(),
        }),
        z.strictObject({ role: z.literal("tool"), tool_call_id: z.string(), content: z.string() }),
      ]),
    )
    .min(1),
  tools: z
    .array(
      z.strictObject({
        type: z.literal("function"),
        function: z.strictObject({ name: z.string(), description: z.string(), parameters: z.looseObject({}) }),
      }),
    )
    .min(1)
    .optional(),
  metadata: z.looseObject({ session: z.string(), head: z.string(), rejected: z.boolean(), won: z.boolean() }),
});
type ChatRow = z.infer<typeof chatRow>;

/** Every call is followed by its results in their order, as providers want it. */
function checkRounds({ messages }: ChatRow): void {
  for (const [index, message] of messages.entries()) {
    const calls = message.role === "assistant" ? (message.tool_calls ?? []) : [];
    const results = messages.slice(index + 1, index + 1 + calls.length);
    if (calls.length > 0)
      expect(results.map((one) => (one.role === "tool" ? one.tool_call_id : one.role))).toEqual(calls.map(({ id }) => id));
  }
}
async function chatOf(
  session: Session,
  options: Omit<Extract<WriteOptions, { format: "chat-jsonl" }>, "format"> = {},
): Promise<readonly ChatRow[]> {
  const text = await textOf(session, { format: "chat-jsonl", ...options });
  return text === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => chatRow.parse(JSON.parse(line)));
}

/** ATIF 1.4, as Harbor checks it. */
const extra = z.looseObject({}).optional();
const atif = z.strictObject({
  schema_version: z.literal("ATIF-v1.4"),
  session_id: z.string(),
  agent: z.strictObject({ name: z.string(), version: z.string(), model_name: z.string().optional(), extra }),
  steps: z.array(
    z.strictObject({
      step_id: z.int().min(1),
      timestamp: z.iso.datetime().optional(),
      source: z.enum(["system", "user", "agent"]),
      model_name: z.string().optional(),
      message: z.string(),
      reasoning_content: z.string().optional(),
      tool_calls: z
        .array(z.strictObject({ tool_call_id: z.string(), function_name: z.string(), arguments: z.record(z.string(), z.unknown()) }))
        .optional(),
      observation: z
        .strictObject({ results: z.array(z.strictObject({ source_call_id: z.string().optional(), content: z.string() })) })
        .optional(),
      metrics: z
        .strictObject({ prompt_tokens: z.int(), completion_tokens: z.int(), cached_tokens: z.int(), cost_usd: z.number() })
        .optional(),
      extra,
    }),
  ),
  final_metrics: z.looseObject({ total_prompt_tokens: z.int(), total_steps: z.int() }),
  extra,
});
function checkSteps({ steps }: z.infer<typeof atif>): void {
  expect(steps.map(({ step_id }) => step_id)).toEqual(steps.map((_, index) => index + 1));
  for (const { source, tool_calls = [], observation, model_name, metrics } of steps) {
    if (source !== "agent") expect([tool_calls, model_name, metrics]).toEqual([[], undefined, undefined]);
    const calls = new Set(tool_calls.map((call) => call.tool_call_id));
    for (const { source_call_id } of observation?.results ?? [])
      if (source_call_id !== undefined) expect(calls.has(source_call_id)).toBe(true);
  }
}

/** The text outside of fenced blocks, code spans and code in HTML, as CommonMark takes them. */
function outsideOfCode(markdown: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  for (const line of markdown.split("\n")) {
    const [, run = ""] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    if (fence === undefined && run !== "" && !line.slice(line.indexOf(run) + run.length).includes("`")) fence = run;
    else if (fence !== undefined) {
      if (run.length >= fence.length && run[0] === fence[0] && line.trim() === run) fence = undefined;
    } else lines.push(line.replace(/(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)/g, "").replace(/<code>[^<]*<\/code>/g, ""));
  }
  expect(fence).toBeUndefined();
  return lines.join("\n");
}

describe.each(names)("the golden session %s", (name) => {
  test("is written in every format", async () => {
    await using rath = openrath({ store: "memory" });
    const session = await rath.import(join(golden, name, "session.jsonl"));
    for (const row of await chatOf(session, { reasoning: true })) checkRounds(row);
    const trajectory = atif.parse(JSON.parse(await textOf(session, { format: "atif", reasoning: true })));
    checkSteps(trajectory);
    const report = await textOf(session, { format: "markdown", longest: 4000 });
    outsideOfCode(report);
    expect(report.length).toBeLessThanOrEqual(4000);
    expect((await textOf(session, { format: "svg" })).startsWith("<svg")).toBe(true);
    expect(await textOf(session, { format: "mermaid" })).toMatch(/^flowchart LR\n/);
    expect(await textOf(session, { format: "dot" })).toMatch(/^digraph lineage \{\n[\s\S]*\}\n$/);
  });
});

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string().optional() }),
  run: ({ at }) => at ?? "nowhere",
});
const clerk = new Agent({
  name: "clerk",
  instructions: "Be brief.",
  tools: [look],
  model: scripted(
    {
      reasoning: "thoughts",
      calls: [
        { tool: "look", input: { at: "b" } },
        { tool: "look", input: "" },
      ],
    },
    { text: "Nothing there." },
    { text: "Still nothing." },
  ),
});

describe("chat JSONL", () => {
  test("has instructions, tools, parallel calls in order, pictures, and no reasoning unless asked", async () => {
    await using rath = testRath();
    const asked = rath.session([
      { type: "text", text: "What is it?" },
      { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2, 3]) },
    ]);
    const session = await clerk.forward(asked);
    const [row] = await chatOf(session);
    expect(row?.messages).toEqual([
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_clerk_0_0", type: "function", function: { name: "look", arguments: '{"at":"b"}' } },
          { id: "call_clerk_0_1", type: "function", function: { name: "look", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "call_clerk_0_0", content: "b" },
      { role: "tool", tool_call_id: "call_clerk_0_1", content: "nowhere" },
      { role: "assistant", content: "Nothing there." },
    ]);
    expect(row?.tools?.map((one) => one.function.name)).toEqual(["look"]);
    const [other] = await chatOf(session, { reasoning: true, images: "placeholder" });
    expect(other?.messages[1]).toEqual({ role: "user", content: "What is it?[image/png, 3 bytes]" });
    expect(other?.messages[2]).toMatchObject({ reasoning_content: "thoughts" });
  });

  test("has a line for each branch that nothing was made of, rejected ones marked, or the session alone", async () => {
    await using rath = testRath();
    const answered = await clerk.forward(rath.session("What is it?"));
    const left = (await clerk.forward(answered.fork("left").say("And left?"))).reject("wrong");
    const right = await clerk.forward(answered.fork("right").say("And right?"));
    const merged = await right.merge(left);
    const rows = await chatOf(merged);
    expect(rows.map(({ metadata }) => [metadata["label"], metadata.rejected, metadata["reason"], metadata.won])).toEqual([
      ["right", false, undefined, true],
    ]);
    const all = await chatOf(right);
    expect(all.map(({ metadata }) => [metadata["label"], metadata.rejected, metadata["reason"]]).sort()).toEqual([
      ["left", true, "wrong"],
      ["right", false, undefined],
    ]);
    expect((await chatOf(right, { branches: "session" })).map(({ metadata }) => metadata["label"])).toEqual(["right"]);
    expect(await chatOf(rath.session("Nobody answers"))).toEqual([]);
  });
});

describe("Markdown", () => {
  const hostile = "```\n````\n</details><script>alert(1)</script> @everyone #1 [x](javascript:1)\n# Title\n`` ` ``\n~~~\n\u001b[2J\u202e";

  test("whatever is said stays inside its block", async () => {
    await using rath = testRath();
    let session: Session = rath.session(hostile, { title: "`x` @everyone <b>" }).to("memory");
    session = await session.call(writeFile, { path: "```@x.md", content: `${hostile}\n\`\`\`\`\`diff\n` });
    session = await session.fork(`@${"x`".repeat(20)}`).check(hostile, () => ({ passed: false, reason: hostile }));
    session = await (await session.remember({ key: "note", content: hostile })).recall("note");
    await rath.save(session.fork("lost").reject(hostile));
    session = await new Agent({ name: "clerk", model: scripted(hostile) }).forward(session);
    const run = await rath.run(new Flow((at) => at.ask(hostile)), session);
    await run.settle();
    for (const { id } of await rath.pending()) await rath.decide(id, { by: "<i>ada</i>", answer: hostile, reason: hostile });
    session = await run.result();
    const report = await textOf(session, { format: "markdown" });
    const outside = outsideOfCode(report);
    expect(outside).not.toMatch(/@|script|#1|Title|everyone/);
    expect(new Set(outside.match(/<[^>]*>?/g))).toEqual(new Set(["<details>", "</details>", "<summary>", "</summary>"]));
    expect(report).toContain("## Decisions");
    for (const character of ["\u001b", "\u202e"]) expect(report).not.toContain(character);
    expect(outside.match(/<details>/g)?.length).toBe(outside.match(/<\/details>/g)?.length);
    expect(report).toContain("`````diff");
  });

  test("code spans, blocks and summaries hold any text", () => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom("`", "~", "\n", " ", "<", "@", "x") }));
    const law = fc.property(text, (given) => {
      expect(outsideOfCode(`a ${code(given)} b`).replace("(empty)", "")).toBe("a  b");
      expect(outsideOfCode(`a\n\n${fenced(given)}\n\nb`)).toBe("a\n\n\nb");
      expect(folded(summaryCode(given), "x").match(/[<>]/g)).toHaveLength(12);
    });
    fc.assert(law, { numRuns: 200 });
  });

  test("is never longer than asked, however much there is", async () => {
    await using rath = testRath();
    let session: Session = rath.session("long ".repeat(5000));
    for (let index = 0; index < 60; index++) session = session.say(`message ${index} ${"y".repeat(3000)}`);
    for (let index = 0; index < 40; index++)
      session = await session.check(`check ${index} ${"z".repeat(300)}`, () => ({ passed: true, reason: "r".repeat(500) }));
    for (const longest of [4000, 20_000]) {
      const report = await textOf(session, { format: "markdown", longest });
      expect(report.length).toBeLessThanOrEqual(longest);
      expect(report).toContain("left out here");
    }
  });
});

describe("write", () => {
  test.each([
    [{ format: "yaml" }, /no format "yaml"\. There are: bundle/],
    [{ format: "markdown", content: true }, /"markdown" has no option "content"\. It has: longest/],
    [{ format: "bundle", reasoning: true }, /"bundle" has no option "reasoning"\. It has none/],
    [{ format: "__proto__" }, /no format "__proto__"/],
  ])("refuses %j", async (options, message) => {
    await using rath = testRath();
    await expect(write(rath.session("hi"), join(folder, "never"), options as never)).rejects.toThrow(message);
    expect(await readdir(folder)).not.toContain("never");
  });
});
