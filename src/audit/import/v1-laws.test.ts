import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RathError, verify } from "../../index.ts";
import { testRath } from "../../testing/testing.ts";
import { strictJson } from "./strict-json.ts";

async function* bytesOf(text: string): AsyncGenerator<Uint8Array, void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
}

const content = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("", "__proto__", "{}", "[1,-0]", "\u001b[2J", "\u202e"),
);
const id = fc.constantFrom("c1", "c2", "c3", "");
const name = fc.constantFrom("read", "__proto__", "constructor", "a b");
const chunk = fc.oneof(
  fc.record({ kind: fc.constantFrom("system", "user"), payload: fc.record({ content }) }),
  fc.record({
    kind: fc.constant("assistant"),
    payload: fc.record({
      content: fc.option(content),
      tool_calls: fc.array(fc.record({ id, type: fc.constant("function"), function: fc.record({ name, arguments: content }) }), {
        maxLength: 4,
      }),
    }),
  }),
  fc.record({ kind: fc.constant("tool_result"), payload: fc.record({ tool_call_id: id, name, content }) }),
);
const conversation = fc.array(chunk, { maxLength: 12 });

function linesOf(chunks: readonly object[], closed: boolean): object[] {
  return [
    { type: "header", schema_version: 1, id: "x", lineage_extras: [["__proto__", { "": 1 }]] },
    ...chunks.map((one, index) => ({ type: "chunk", index, ...one })),
    ...(closed ? [{ type: "trailer", final_chunk_count: chunks.length, cumulative_usage: null }] : []),
  ];
}
const textOf = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

describe("importing session files of version 1", () => {
  test("every file that is right becomes a session that verifies and says the same", async () => {
    const law = fc.asyncProperty(conversation, fc.boolean(), async (chunks, closed) => {
      await using rath = testRath();
      const session = await rath.import(bytesOf(textOf(linesOf(chunks, closed))));
      const said = chunks.map(({ kind, payload }) => [
        kind === "tool_result" ? "tool" : kind,
        kind === "tool_result" ? undefined : (payload.content ?? ""),
      ]);
      expect(session.messages.map(({ role, text }) => [role, role === "tool" ? undefined : text])).toEqual(said);
      expect((await verify(session)).problems).toEqual([]);
      expect(session.status).toBe(closed ? "idle" : "failed");
      // Providers refuse a result without its call, and a call without its result.
      const asked = chunks.some(({ kind }) => kind === "assistant");
      const messages = asked ? (await session.request()).messages : [];
      for (const [index, message] of messages.entries()) {
        if (message.role !== "tool") continue;
        const before = messages[index - 1];
        const calls = before?.role === "assistant" ? before.parts.flatMap((part) => (part.type === "call" ? [part.id] : [])) : [];
        expect(message.results.map(({ call }) => call)).toEqual(calls);
      }
    });
    await fc.assert(law, { numRuns: 60 });
  });

  const broken = fc.record({
    chunks: conversation,
    closed: fc.boolean(),
    line: fc.nat(14),
    path: fc.array(fc.nat(5), { maxLength: 4 }),
    value: fc.oneof(fc.jsonValue(), fc.constantFrom(-1, 1.5, null, "", [], {}, 1e300)),
    cut: fc.option(fc.nat(3000)),
    noise: fc.option(fc.tuple(fc.nat(3000), fc.string({ unit: "binary", maxLength: 5 }))),
  });
  test("whatever a file holds, all of it is imported or nothing, and what is wrong has a line", async () => {
    const law = fc.asyncProperty(broken, async (given) => {
      const lines = linesOf(given.chunks, given.closed);
      put(lines, [given.line % lines.length, ...given.path], given.value);
      let text = textOf(lines);
      if (given.noise !== null) text = `${text.slice(0, given.noise[0])}${given.noise[1]}${text.slice(given.noise[0])}`;
      if (given.cut !== null) text = text.slice(0, given.cut);
      await using rath = testRath();
      const result: unknown = await rath.import(bytesOf(text)).catch((error: unknown) => error);
      const sessions: unknown[] = [];
      for await (const row of rath.sessions()) sessions.push(row);
      if (!(result instanceof Error)) {
        expect(sessions).toHaveLength(1);
        return;
      }
      expect(RathError.is(result, "bundle.invalid") ? undefined : result).toBeUndefined();
      expect((result as RathError).details["line"]).toBeGreaterThan(0);
      expect(sessions).toEqual([]);
    });
    await fc.assert(law, { numRuns: 150 });
  });

  test("ten thousand chunks", async () => {
    await using rath = testRath();
    const chunks = Array.from({ length: 10_000 }, (_, index) =>
      index % 2 === 0
        ? { kind: "user", payload: { content: `q${index}` } }
        : { kind: "assistant", payload: { content: `a${index}`, tool_calls: null } },
    );
    const session = await rath.import(bytesOf(textOf(linesOf(chunks, true))));
    expect(session.messages).toHaveLength(10_000);
    expect(session.step).toBe(15_001);
  });

  test("a line that never ends is refused", async () => {
    await using rath = testRath();
    const endless = (async function* () {
      yield Buffer.from('{"type":"header","schema_version":1,"id":"x"}\n{"type":"chunk","index":0,"kind":"user","payload":{"content":"');
      const piece = Buffer.alloc(1 << 20, "x");
      for (;;) yield piece;
    })();
    await expect(rath.import(endless)).rejects.toMatchObject({ code: "bundle.invalid", details: { line: 2 } });
  });
});

describe("strict JSON", () => {
  test("what is written by JSON.stringify is read as it is", () => {
    const law = fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      const read = strictJson(text);
      if ("value" in read) expect(read.value).toEqual(JSON.parse(text));
      else expect(read.problem).toMatch(/cannot be kept/);
    });
    fc.assert(law);
  });
  test.each([
    '{"a":1,"a":2}',
    '{"a":{"b":1,"\\u0062":2}}',
    "-0",
    "[9007199254740993]",
    "{",
    '"',
    "",
    "nul",
    `${"[".repeat(300)}${"]".repeat(300)}`,
  ])("refuses %s", (text) => {
    expect("problem" in strictJson(text)).toBe(true);
  });
  test.each(['{"a":{"a":1},"b":["a","a"]}', "1e400", '"a\\":\\"a"', "[0,0.5,-1]"])("takes %s", (text) => {
    expect(strictJson(text)).toEqual({ value: JSON.parse(text) });
  });
});

/** Puts a value somewhere into a tree, by the positions of keys. */
function put(root: readonly unknown[], path: readonly number[], value: unknown): void {
  let at: unknown = root;
  for (const [depth, position] of path.entries()) {
    if (typeof at !== "object" || at === null) return;
    const keys = Object.keys(at);
    const key = keys[position % Math.max(1, keys.length)];
    if (key === undefined) return;
    const inner: unknown = (at as Record<string, unknown>)[key];
    if (depth === path.length - 1 || typeof inner !== "object" || inner === null) {
      (at as Record<string, unknown>)[key] = value;
      return;
    }
    at = inner;
  }
}
