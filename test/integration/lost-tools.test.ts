import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import { scripted } from "../../src/model/scripted.ts";
import { RathError } from "../../src/session/errors.ts";
import type { Repeat } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { mcp } from "../../src/tool/mcp.ts";
import { tool } from "../../src/tool/tool.ts";

const lost = (repeat: Repeat) =>
  tool({
    name: "act",
    description: "Acts, and the connection is lost.",
    input: z.object({}),
    repeat,
    run: () => Promise.reject(new RathError("effect.unknown", "the connection was lost")),
  });

describe("a tool that says that nobody knows what became of it", () => {
  test("waits for a person when it may not be repeated", async () => {
    await using rath = testRath();
    const agent = new Agent({ model: scripted({ calls: [{ tool: "act", input: {} }] }, "done"), tools: [lost("once")] });
    const run = await rath.run(agent, rath.session("go"));
    const settled = await run.settle();
    expect(settled).toMatchObject({ status: "waiting", pending: [{ kind: "unknown", op: "act" }] });
    await rath.decide(settled.status === "waiting" ? (settled.pending[0]?.id ?? "") : "", {
      by: "human:ada",
      outcome: { type: "ok", value: 7 },
    });
    expect((await run.result()).calls).toMatchObject([{ outcome: { type: "ok", value: 7 } }]);
  });

  test("is an error that the model reads when it may", async () => {
    const agent = new Agent({ model: scripted({ calls: [{ tool: "act", input: {} }] }, "done"), tools: [lost("safe")] });
    const session = await agent.forward(testRath().session("go"));
    expect(session.calls).toMatchObject([{ outcome: { type: "error", message: "the connection was lost" } }]);
  });

  test("as a server does that dies in the middle of a call", async () => {
    const server = new URL("../support/mcp/server.mjs", import.meta.url).pathname;
    await using open = await mcp({ command: process.execPath, args: [server] });
    const agent = new Agent({ model: scripted({ calls: [{ tool: "crash", input: {} }] }, "done"), tools: open.tools });
    await using rath = testRath();
    const settled = await (await rath.run(agent, rath.session("go"))).settle();
    expect(settled).toMatchObject({ status: "waiting", pending: [{ kind: "unknown", op: "crash" }] });
  });
});
