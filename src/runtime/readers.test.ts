import { describe, expect, test } from "vitest";
import { Agent } from "../agent/agent.ts";
import { Compressor } from "../agent/compressor.ts";
import type { AgentMemory } from "../agent/options.ts";
import { scripted } from "../model/scripted.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { testRath } from "../testing/test-rath.ts";
import type { Rath } from "./rath.ts";

const answering = (name: string, memory?: AgentMemory) => new Agent({ name, memory, model: scripted(name, name, name, name) });
const recalling = answering("first", { recall: "before" });

/** A session in which a model has read a memory. */
async function read(rath: Rath): Promise<Session> {
  await rath.session("Things to know.").remember({ key: "tabs", content: "Use tabs.", publish: "now" });
  return recalling.forward(rath.session("Tabs or spaces?"));
}

/** Who read it, for each recall of it. */
async function readers(rath: Rath, ...sessions: readonly Session[]): Promise<readonly (readonly string[])[]> {
  await Promise.all(sessions.map((session) => rath.save(session)));
  const events = new Map(sessions.flatMap((session) => [...session.events()].map((event) => [event.id, event] as const)));
  const found: (readonly string[])[] = [];
  for await (const { readBy } of rath.memory.usedBy("tabs")) found.push(readBy.map((id) => events.get(id)?.by ?? id));
  return found;
}

describe("the model calls that read something recalled are those", () => {
  test("of the branch it was recalled on, and of its forks", async () => {
    await using rath = testRath();
    const session = await read(rath);
    const [left, right] = [await answering("left").forward(session.fork("l")), await answering("right").forward(session.fork("r"))];
    const before = await answering("before").forward(session.at(2).fork("b"));
    expect(await readers(rath, session, left, right, before)).toEqual([["first", "left", "right"]]);
  });

  test("until a compression drops it, the summary included, and again when that is undone", async () => {
    await using rath = testRath();
    const session = (await read(rath)).say("And?");
    const short = await new Compressor({ policy: { summariseAt: 99, keep: 0 }, model: scripted("Tabs.") }).forward(session);
    const after = await answering("after").forward(short);
    const whole = await answering("whole").forward(await new Compressor({ policy: "full" }).forward(after));
    expect(await readers(rath, whole)).toEqual([["first", "compressor/summary", "whole"]]);
  });

  test("that read the result of the tool that recalled it", async () => {
    await using rath = testRath();
    await rath.session("Things to know.").remember({ key: "tabs", content: "Use tabs.", publish: "now" });
    const asks = new Agent({
      name: "asks",
      memory: { recall: "tool" },
      model: scripted({ calls: [{ tool: "recall", input: { query: "tabs" } }] }, "Tabs."),
    });
    const session = await answering("after").forward(await asks.forward(rath.session("Tabs or spaces?")));
    expect(await readers(rath, session)).toEqual([["asks", "after"]]);
    const [, second] = [...session.events()].filter(({ kind, by }) => kind === "model.called" && by === "asks");
    for await (const { readBy } of rath.memory.usedBy("tabs")) expect(readBy[0]).toBe(second?.id);
  });

  test("of an agent inside a tool, not of the one that called it", async () => {
    await using rath = testRath();
    await rath.session("Things to know.").remember({ key: "tabs", content: "Use tabs.", publish: "now" });
    const helper = answering("helper", { recall: "before" }).asTool({ name: "helper", description: "Helps." });
    const outer = new Agent({
      name: "outer",
      tools: [helper],
      model: scripted({ calls: [{ tool: "helper", input: { task: "Tabs or spaces?" } }] }, "Done."),
    });
    expect(await readers(rath, await outer.forward(rath.session("Ask.")))).toEqual([["outer/helper"]]);
  });

  test("of a branch that took it in by a merge", async () => {
    await using rath = testRath();
    await rath.session("Things to know.").remember({ key: "tabs", content: "Use tabs.", publish: "now" });
    const base = rath.session("Tabs or spaces?");
    const other = await recalling.forward(base.fork("other"));
    const silent = await answering("merged").forward(await base.fork("silent").merge(other));
    expect(await readers(rath, silent)).toEqual([["first", "merged"]]);
  });
});

test("a session is read once, however often it recalled something (mutant: once for each use)", async () => {
  const asked = async (recalls: number): Promise<number> => {
    let calls = 0;
    const store = new Proxy(memoryStore(), {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          calls++;
          return (value as (...given: unknown[]) => unknown).apply(target, given);
        };
      },
    });
    await using rath = testRath({ store });
    let session: Session = await rath.session("Things to know.").remember({ key: "tabs", content: "Use tabs.", publish: "now" });
    for (let i = 0; i < recalls; i++) session = await session.recall("tabs");
    await rath.save(session);
    calls = 0;
    let uses = 0;
    for await (const use of rath.memory.usedBy("tabs")) uses += use.injected ? 0 : 1;
    expect(uses).toBe(recalls);
    return calls;
  };
  expect(await asked(20)).toBe(await asked(2));
});
