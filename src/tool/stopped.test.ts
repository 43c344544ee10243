import { describe, expect, test } from "vitest";
import { made, never, rathOn, rejected, sleep } from "../../test/support/one-tool.ts";
import { until } from "../../test/support/other-process.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import type { Repeat, Session, ToolContext } from "../session/session.ts";

describe("work that somebody stops", () => {
  const agentWith = (used: ReturnType<typeof made>, calls = 1) =>
    new Agent({
      model: scripted({ calls: Array.from({ length: calls }, () => ({ tool: "t", input: {} })) }, "not reached"),
      tools: [used],
    });

  /** Starts, aborts once the tool runs, and gives what came of it. */
  async function stopped(repeat: Repeat, run: (context: ToolContext) => unknown, how: "signal" | "cancel" = "signal"): Promise<Session> {
    await using rath = rathOn();
    let running = false;
    const used = made(
      (context) => {
        running = true;
        return run(context);
      },
      { repeat },
    );
    const stop = new AbortController();
    const stream = agentWith(used).stream(rath.session("go"), { signal: stop.signal });
    await until("the tool", () => running);
    if (how === "signal") stop.abort(new Error("enough"));
    else await stream.cancel("enough");
    return await stream.result();
  }

  test.each(["signal", "cancel"] as const)("in a safe tool: it is cancelled at once (%s)", async (how) => {
    const session = await stopped("safe", never, how);
    expect([session.stop, session.status]).toEqual(["cancelled", "cancelled"]);
    expect(session.calls).toMatchObject([{ outcome: { type: "cancelled", reason: "enough" } }]);
  });

  test("in a tool that may not be repeated: it has a moment to finish", async () => {
    const session = await stopped("once", async () => {
      await sleep(20);
      return "finished";
    });
    expect([session.stop, session.calls[0]?.outcome]).toEqual(["cancelled", { type: "ok", value: "finished" }]);
  });

  test("in a tool that may not be repeated and does not finish: nobody knows", async () => {
    const session = await stopped("once", never);
    expect([session.stop, session.calls[0]?.outcome]).toEqual(["cancelled", { type: "unknown" }]);
  });

  test.each<readonly [Repeat, string]>([
    ["once", "unknown"],
    ["keyed", "cancelled"],
  ])("a %s tool that only obeyed its signal is %s, not an error of its own", async (repeat, outcome) => {
    const obey = ({ signal }: ToolContext): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    expect((await stopped(repeat, obey)).calls[0]?.outcome.type).toBe(outcome);
    const abortError = ({ signal }: ToolContext): Promise<never> =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(new DOMException("This operation was aborted", "AbortError"))),
      );
    expect((await stopped(repeat, abortError)).calls[0]?.outcome.type).toBe(outcome);
  });

  test("a tool that says what went wrong while it was stopped is believed", async () => {
    const refuse = ({ signal }: ToolContext): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("the card was declined"))));
    expect((await stopped("once", refuse)).calls[0]?.outcome).toEqual({ type: "error", message: "the card was declined" });
  });

  test("before a tool starts: it does not", async () => {
    await using rath = rathOn();
    const stop = new AbortController();
    let runs = 0;
    const used = made(
      () => {
        runs++;
        stop.abort(new Error("enough"));
        return "first";
      },
      { repeat: "once", resource: () => "same" },
    );
    const session = await agentWith(used, 3).stream(rath.session("go"), { signal: stop.signal }).result();
    expect([runs, session.stop]).toEqual([1, "cancelled"]);
    expect(session.calls.map(({ outcome }) => outcome)).toEqual([
      { type: "ok", value: "first" },
      { type: "cancelled", reason: "enough" },
      { type: "cancelled", reason: "enough" },
    ]);
  });

  test("before anything: no tool, no model", async () => {
    await using rath = rathOn();
    const session = await agentWith(made(() => expect.fail("it ran")))
      .stream(rath.session("go"), { signal: AbortSignal.abort(new Error("no")) })
      .result();
    expect([session.stop, session.calls]).toEqual(["cancelled", []]);
  });

  test("before the instructions were written: the agent stops all the same", async () => {
    await using rath = rathOn();
    const agent = new Agent({ model: scripted("not reached"), instructions: () => "Be brief." });
    const session = await agent.stream(rath.session("go"), { signal: AbortSignal.abort(new Error("no")) }).result();
    expect(session.stop).toBe("cancelled");
  });

  test("two hundred calls at once: all are cancelled, and nobody warns of listeners", async () => {
    await using rath = rathOn();
    const warned: string[] = [];
    const listen = (warning: Error): void => void warned.push(String(warning));
    process.on("warning", listen);
    let running = 0;
    const used = made(({ signal }) => {
      running++;
      signal.addEventListener("abort", () => {});
      return never();
    });
    const stream = agentWith(used, 200).stream(rath.session("go"));
    await until("all of them", () => running === 200);
    await stream.cancel("enough");
    await sleep(1);
    process.off("warning", listen);
    expect(warned).toEqual([]);
    expect(new Set((await stream.result()).calls.map(({ outcome }) => outcome.type))).toEqual(new Set(["cancelled"]));
  });

  test("while a tool waits to be tried again: it is not", async () => {
    await using rath = rathOn();
    let runs = 0;
    const used = made(
      () => {
        runs++;
        throw new Error("fails");
      },
      { retry: { attempts: 10 } },
    );
    const stop = new AbortController();
    const stream = agentWith(used).stream(rath.session("go"), { signal: stop.signal });
    await until("the third attempt", () => runs === 3);
    const start = performance.now();
    stop.abort(new Error("enough"));
    const session = await stream.result();
    expect([runs, session.stop, performance.now() - start < 250]).toEqual([3, "cancelled", true]);
  });

  test("while a person is asked: nobody waits for the answer", async () => {
    await using rath = rathOn();
    const stop = new AbortController();
    const stream = agentWith(made(() => expect.fail("it ran"), { needsApproval: true })).stream(rath.session("go"), {
      signal: stop.signal,
    });
    await until("the approval", async () => (await rath.pending())[0]);
    stop.abort(new Error("enough"));
    const session = await stream.result();
    expect([session.stop, session.calls[0]?.outcome]).toEqual(["cancelled", { type: "cancelled", reason: "enough" }]);
  });

  test("nested work that takes too long stops inside too", async () => {
    await using rath = rathOn();
    let inner: AbortSignal | undefined;
    const outer = made(
      async ({ session }) => {
        const run = ({ signal }: { signal: AbortSignal }): Promise<never> => {
          inner = signal;
          return never();
        };
        return (await session.do("inner", run, { repeat: "safe" })).output;
      },
      { repeat: "nested", timeout: "30ms" },
    );
    expect(await rejected(rath.session().call(outer, {}))).toMatchObject({ message: expect.stringMatching(/timed out/) });
    expect(inner?.aborted).toBe(true);
  });
});
