import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import type { Session, StandardSchema } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { Workflow } from "../workflow/workflow.ts";
import { replay } from "./replay.ts";

/** Runs calls of one round and gives for each the ids of those it ran beside. */
async function beside(calls: readonly { readonly id: string; readonly resource?: string; readonly refused?: boolean }[]) {
  const running = new Set<string>();
  const seen = new Map<string, Set<string>>();
  const act = (name: string, resource: boolean) =>
    tool({
      name,
      description: "x",
      input: z.object({ id: z.string(), resource: z.string().optional(), refused: z.boolean().optional() }),
      repeat: "safe",
      resource: resource ? (input) => input.resource ?? "" : undefined,
      run: async ({ id }) => {
        seen.set(id, new Set(running));
        for (const other of running) seen.get(other)?.add(id);
        running.add(id);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running.delete(id);
      },
    });
  const asked = calls.map((input) => ({ tool: input.resource === undefined ? "free" : "bound", input }));
  const agent = new Agent({
    model: scripted({ calls: asked }, "done"),
    tools: [act("free", false), act("bound", true)],
    hooks: { beforeTool: ({ input }) => ((input as { readonly refused?: boolean }).refused === true ? { refuse: "no" } : undefined) },
  });
  await agent.forward(testRath().session("go"));
  return Object.fromEntries([...seen].map(([id, others]) => [id, [...others].sort().join("")]));
}

describe("calls of one round", () => {
  test("with one resource run one after the other, others beside them", async () => {
    const calls = [
      { id: "a", resource: "x" },
      { id: "b", resource: "x" },
      { id: "c", resource: "y" },
      { id: "d" },
      { id: "e", resource: "x" },
    ];
    const ran = await beside(calls);
    for (const id of ["a", "b", "e"]) expect(ran[id]).not.toMatch(/[abe]/);
    expect(ran["c"]).toContain("a");
    expect(ran["d"]).toContain("c");
  });

  test('run beside nothing that has the resource "*"', async () => {
    const calls = [
      { id: "a", resource: "x" },
      { id: "b" },
      { id: "c", resource: "*" },
      { id: "d", resource: "x" },
      { id: "e" },
      { id: "f", resource: "*" },
    ];
    const ran = await beside(calls);
    expect([ran["c"], ran["f"], ran["a"], ran["d"]]).toEqual(["", "", "b", "e"]);
  });

  test("wait for those before one that was refused", async () => {
    const ran = await beside([
      { id: "a", resource: "x" },
      { id: "b", resource: "x", refused: true },
      { id: "c", resource: "x" },
    ]);
    expect(ran).toEqual({ a: "", c: "" });
  });

  test("may be very many", async () => {
    const act = tool({ name: "act", description: "x", input: z.object({}), repeat: "safe", resource: () => "one", run: () => 1 });
    const calls = Array.from({ length: 1500 }, () => ({ tool: "act", input: {} }));
    const begin = performance.now();
    const session = await new Agent({ model: scripted({ calls }, "done"), tools: [act] }).forward(testRath().session("go"));
    expect(session.calls).toHaveLength(1500);
    expect(performance.now() - begin).toBeLessThan(8000);
  });
});

// An effect that is judged first comes to the delivery a few microtasks later than one that is not.
test("results that come in one turn are handed over as they were recorded", async () => {
  const late: StandardSchema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: async (value: unknown) => ({ value }),
      jsonSchema: { input: () => ({ type: "object" }) },
    },
  } as never;
  for (let lag = 0; lag < 8; lag++) {
    const end: Record<string, () => void> = {};
    const ended = (name: string) => new Promise<void>((resolve) => Object.assign(end, { [name]: resolve }));
    const judged = tool({ name: "judged", description: "x", input: late, repeat: "safe", run: () => ended("a") });
    class Racing extends Workflow {
      async forward(session: Session) {
        const a = session
          .fork("a")
          .call(judged, {})
          .then(() => "a");
        const b = session
          .fork("b")
          .do("b", () => ended("b"), { repeat: "safe" })
          .then(() => "b");
        const winner = await Promise.race([a, b]);
        await Promise.all([a, b]);
        return session.do(`won by ${winner}`, () => winner, { repeat: "safe" });
      }
    }
    const flow = new Racing();
    const running = flow.forward(testRath().session("go"));
    await expect.poll(() => Object.keys(end)).toHaveLength(2);
    end["a"]?.();
    for (let i = 0; i < lag; i++) await undefined;
    end["b"]?.();
    expect(String(await replay(await running, flow)), `lag ${lag}`).toMatch(/^identical/);
  }
});
