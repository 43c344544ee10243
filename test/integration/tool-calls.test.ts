/** Calls of tools that outlive the process that made them: approvals, limits and crashes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import { type Script, scripted } from "../../src/model/scripted.ts";
import { replay } from "../../src/runtime/replay.ts";
import type { Run } from "../../src/runtime/run-handle.ts";
import type { Pending, Session, Tool } from "../../src/session/session.ts";
import { type ToolOptions, tool } from "../../src/tool/tool.ts";
import type { Workflow } from "../../src/workflow/workflow.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess, until } from "../support/other-process.ts";

let folder = "";
let file = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-tools-"));
  file = join(folder, "store.db");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const never = (): Promise<never> => new Promise(() => {});
const input = z.object({ id: z.string() });

/** What the world has seen: every start of a tool, with its key. */
let world: { readonly id: string; readonly key: string }[] = [];
beforeEach(() => {
  world = [];
});
const ids = (): string[] => world.map(({ id }) => id);

const act = (more: Partial<ToolOptions<typeof input, unknown>> = {}): Tool =>
  tool({
    name: "act",
    description: "Acts.",
    input,
    run: ({ id }, { key }) => {
      world.push({ id, key });
      return `did ${id}`;
    },
    ...more,
  });
const calls = (...list: readonly string[]): Script => ({ calls: list.map((id) => ({ tool: "act", input: { id } })) });
const agent = (tools: readonly Tool[], ...replies: readonly Script[]) => new Agent({ name: "agent", model: scripted(...replies), tools });

/** Starts a run in one process and leaves it there, parked or in the middle. */
async function left(workflow: Workflow, when: (run: Run) => Promise<unknown>): Promise<string> {
  const rath = otherProcess(file);
  const run = await rath.run(workflow, rath.session("go"));
  await when(run);
  // A Rath that is closed in the very moment a run was parked rejects where nobody hears it (Runs.#park): not here.
  await new Promise((resolve) => setTimeout(resolve, 15));
  await rath.close();
  return run.id;
}
const parked = async (run: Run): Promise<void> => expect((await run.settle()).status).toBe("waiting");
const outcomes = (session: Session) => session.calls.map(({ outcome }) => (outcome.type === "ok" ? outcome.value : outcome.type));
const idOf = (pending: Pending): string => (pending.kind === "approval" ? (pending.input as { id: string }).id : "");

describe("a run that waits for an approval", () => {
  test("goes on in another process once it was decided there; nothing is done twice", async () => {
    const workflow = agent([act({ needsApproval: ({ id }) => id === "b" })], calls("a"), calls("b"), "done");
    const run = await left(workflow, parked);
    expect(ids()).toEqual(["a"]);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const pending = await rath.pending({ run });
    expect(pending).toMatchObject([{ kind: "approval", tool: "act", input: { id: "b" }, run, by: "agent" }]);
    await rath.decide(pending[0]!.id, { by: "human:ann", approve: true });
    const done = await (await rath.resume(run)).result();
    expect([ids(), done.stop, outcomes(done)]).toEqual([["a", "b"], "finished", ["did a", "did b"]]);
    expect(await rath.pending()).toEqual([]);
    expect(String(await replay(done, workflow))).toMatch(/^identical/);
  });

  test("may be decided in a third process, before anybody executes it", async () => {
    const workflow = agent([act({ needsApproval: true })], calls("a"), "done");
    const run = await left(workflow, parked);
    const desk = otherProcess(file);
    const [pending] = await desk.pending({ run });
    await desk.decide(pending!.id, { by: "human:ann", approve: false, reason: "not today" });
    await desk.close();
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const done = await (await rath.resume(run)).result();
    expect([ids(), done.calls[0]?.outcome]).toEqual([[], { type: "denied", reason: "not today" }]);
  });

  test("two of one round, answered in reverse order, each reach their own call", async () => {
    const workflow = agent([act({ needsApproval: true })], calls("a", "b", "c"), "done");
    const run = await left(workflow, parked);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const pending = await rath.pending({ run });
    expect(pending.map(idOf)).toEqual(["a", "b", "c"]);
    for (const one of pending.toReversed())
      await rath.decide(
        one.id,
        idOf(one) === "b" ? { by: "h:1", approve: true, input: { id: "B" } } : { by: "h:1", approve: idOf(one) === "c" },
      );
    const done = await (await rath.resume(run)).result();
    expect([ids().toSorted(), outcomes(done)]).toEqual([
      ["B", "c"],
      ["denied", "did B", "did c"],
    ]);
    expect(done.calls.map((call) => call.input)).toEqual([{ id: "a" }, { id: "B" }, { id: "c" }]);
  });

  test("parks again for what is not decided yet", async () => {
    const workflow = agent([act({ needsApproval: true })], calls("a", "b"), "done");
    const run = await left(workflow, parked);
    for (const last of [false, true]) {
      await using rath = otherProcess(file, { workflows: { agent: workflow } });
      const pending = await rath.pending({ run });
      await rath.decide(pending[0]!.id, { by: "h:1", approve: true });
      const settled = await (await rath.resume(run)).settle();
      expect([settled.status, ids()]).toEqual(last ? ["done", ["a", "b"]] : ["waiting", ["a"]]);
    }
  });

  test("in one of two branches does not hold up the other", async () => {
    const used = act({ needsApproval: ({ id }) => id === "ask" });
    const workflow = new Flow(async (session) => {
      const [slow, quick] = await Promise.all([
        session.fork("slow").call(used, { id: "ask" }),
        session
          .fork("quick")
          .call(used, { id: "1" })
          .then((at) => at.call(used, { id: "2" })),
      ]);
      return session.merge([slow, quick]);
    }, "agent");
    const run = await left(workflow, parked);
    expect(ids()).toEqual(["1", "2"]);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const pending = await rath.pending({ run });
    expect(pending.map(idOf)).toEqual(["ask"]);
    await rath.decide(pending[0]!.id, { by: "h:1", approve: true });
    const done = await (await rath.resume(run)).result();
    expect([ids(), done.calls.length]).toEqual([["1", "2", "ask"], 3]);
  });

  test("parks although another call stands behind it, and both run in order afterwards", async () => {
    for (const resource of ["same", "*"]) {
      world = [];
      const workflow = agent([act({ resource: () => resource, needsApproval: ({ id }) => id === "a" })], calls("a", "b"), "done");
      const run = await left(workflow, async (begun) => {
        const settled = await begun.settle();
        expect(settled.status === "waiting" && settled.pending.map(idOf)).toEqual(["a"]);
      });
      expect(ids()).toEqual([]);
      await using rath = otherProcess(file, { workflows: { agent: workflow } });
      const pending = (await rath.pending({ run })).find((one) => idOf(one) === "a");
      await rath.decide(pending!.id, { by: "h:1", approve: true });
      const done = await (await rath.resume(run)).result();
      expect([ids(), outcomes(done)]).toEqual([
        ["a", "b"],
        ["did a", "did b"],
      ]);
    }
  });

  test("shows only what somebody is asked", async () => {
    const workflow = agent([act({ resource: () => "same", needsApproval: ({ id }) => id === "a" })], calls("a", "b"), "done");
    const run = await left(workflow, parked);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    expect((await rath.pending({ run })).map(idOf)).toEqual(["a"]);
  });

  test("shows only what somebody is asked, not what waits around it", async () => {
    const inner = agent([act({ needsApproval: true })], calls("ask"), "inner done").with({ name: "inner" });
    const outer = { calls: [{ tool: "help", input: { task: "help" } }] };
    const workflow = agent([inner.asTool({ name: "help", description: "Helps." })], outer, "done");
    const run = await left(workflow, parked);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    expect((await rath.pending({ run })).map(idOf)).toEqual(["ask"]);
  });

  test("inside the nested work of an agent goes on inside it", async () => {
    const inner = new Agent({
      name: "inner",
      model: scripted(calls("1"), calls("ask"), "inner done"),
      tools: [act({ needsApproval: ({ id }) => id === "ask" })],
    });
    const workflow = agent(
      [inner.asTool({ name: "help", description: "Helps." })],
      { calls: [{ tool: "help", input: { task: "help" } }] },
      "done",
    );
    const run = await left(workflow, parked);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const pending = (await rath.pending({ run })).find((one) => one.kind === "approval");
    expect(pending).toMatchObject({ by: "agent/inner", input: { id: "ask" } });
    await rath.decide(pending!.id, { by: "h:1", approve: true });
    const done = await (await rath.resume(run)).result();
    expect([ids(), outcomes(done)]).toEqual([["1", "ask"], ["inner done"]]);
  });

  test("that is cancelled is over for everybody", async () => {
    const workflow = agent([act({ needsApproval: true })], calls("a"), "done");
    const run = await left(workflow, parked);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    await (await rath.attach(run)).cancel("enough");
    expect([await (await rath.attach(run)).status(), await rath.pending(), ids()]).toEqual(["cancelled", [], []]);
  });
});

describe("a limit of calls", () => {
  test("decides the same after the run was left", async () => {
    const policy = { calls: 2 };
    const used = act();
    const workflow = new Flow(async (session) => {
      const first = await session.call(used, { id: "1" });
      const asked = await (await first.call(used, { id: "2" })).ask("go on?");
      return asked.call(used, { id: "3" }).catch((error) => error.session as Session);
    }, "agent");
    const first = otherProcess(file, { policy });
    const run = await first.run(workflow, first.session("go"));
    await parked(run);
    await new Promise((resolve) => setTimeout(resolve, 15));
    await first.close();
    await using rath = otherProcess(file, { policy, workflows: { agent: workflow } });
    const [pending] = await rath.pending({ run: run.id });
    await rath.decide(pending!.id, { by: "h:1", answer: "yes" });
    const done = await (await rath.resume(run.id)).result();
    expect([ids(), outcomes(done)]).toEqual([
      ["1", "2"],
      ["did 1", "did 2", "denied"],
    ]);
  });
});

describe("a limit of calls that nested work has used up", () => {
  test("decides the same after the run was left", async () => {
    const policy = { calls: 2 };
    const inner = agent([act()], calls("inside"), "inner done").with({ name: "inner" });
    const help = inner.asTool({ name: "help", description: "Helps." });
    const workflow = new Flow(async (session) => {
      const helped = await session.call(help, { task: "help" });
      return (await helped.ask("go on?")).call(act(), { id: "third" }).catch((error) => error.session as Session);
    }, "agent");
    const first = otherProcess(file, { policy });
    const run = await first.run(workflow, first.session("go"));
    await parked(run);
    await new Promise((resolve) => setTimeout(resolve, 15));
    await first.close();
    await using rath = otherProcess(file, { policy, workflows: { agent: workflow } });
    const [pending] = await rath.pending({ run: run.id });
    await rath.decide(pending!.id, { by: "h:1", answer: "yes" });
    expect(outcomes(await (await rath.resume(run.id)).result())).toEqual(["inner done", "denied"]);
  });
});

describe("a process that is gone in the middle of a call", () => {
  /** Never comes back the first time, so that the process is left in the middle of it. */
  const hanging = (more: Partial<ToolOptions<typeof input, unknown>>): Tool =>
    act({
      ...more,
      run: ({ id }, { key }) => {
        world.push({ id, key });
        return id.startsWith("hang") && ids().filter((one) => one === id).length === 1 ? never() : `did ${id}`;
      },
    });
  const hung = async (): Promise<void> => void (await until("the call", () => ids().some((id) => id.startsWith("hang"))));

  test.each(["safe", "keyed"] as const)("%s: it runs again by itself, with the same key", async (repeat) => {
    const workflow = agent([hanging({ repeat })], calls("before"), calls("hang"), "done");
    const run = await left(workflow, hung);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const done = await (await rath.resume(run)).result();
    expect([ids(), outcomes(done)]).toEqual([
      ["before", "hang", "hang"],
      ["did before", "did hang"],
    ]);
    expect(world[1]?.key).toBe(world[2]?.key);
  });

  test("once: it is unknown, never runs again by itself, and a person says what happened", async () => {
    const workflow = agent([hanging({ repeat: "once" })], calls("hang"), "done");
    const run = await left(workflow, hung);
    for (let times = 0; times < 2; times++) {
      const rath = otherProcess(file, { workflows: { agent: workflow } });
      expect((await (await rath.resume(run)).settle()).status).toBe("waiting");
      await rath.close();
    }
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const [pending] = await rath.pending({ run });
    expect([ids(), pending]).toMatchObject([["hang"], { kind: "unknown", op: "act", input: { id: "hang" } }]);
    await rath.decide(pending!.id, { by: "h:1", outcome: { type: "ok", value: "it worked" } });
    const done = await (await rath.resume(run)).result();
    expect([ids(), outcomes(done), done.text]).toEqual([["hang"], ["it worked"], "done"]);
  });

  test("once: it runs again when a person says so, once", async () => {
    const workflow = agent([hanging({ repeat: "once" })], calls("hang"), "done");
    const run = await left(workflow, hung);
    const second = otherProcess(file, { workflows: { agent: workflow } });
    await (await second.resume(run)).settle();
    const [pending] = await second.pending({ run });
    await second.decide(pending!.id, { by: "h:1", outcome: "run-again" });
    const done = await (await second.attach(run)).result();
    expect([ids(), outcomes(done)]).toEqual([["hang", "hang"], ["did hang"]]);
    expect(String(await replay(done, workflow))).toMatch(/^identical/);
    await second.close();
  });

  test("once, gone again while it ran again: it is asked about anew", async () => {
    const twice = act({
      run: ({ id }, { key }) => {
        world.push({ id, key });
        return world.length < 3 ? never() : `did ${id}`;
      },
    });
    const workflow = agent([twice], calls("hang"), "done");
    const run = await left(workflow, hung);
    for (let times = 1; times <= 2; times++) {
      const rath = otherProcess(file, { workflows: { agent: workflow } });
      await (await rath.resume(run)).settle();
      const [pending] = await rath.pending({ run });
      expect(pending?.kind).toBe("unknown");
      await rath.decide(pending!.id, { by: "h:1", outcome: "run-again" });
      await until("the next attempt", () => world.length === times + 1);
      if (times === 2) expect(outcomes(await (await rath.attach(run)).result())).toEqual(["did hang"]);
      await rath.close();
    }
    expect(new Set(world.map(({ key }) => key)).size).toBe(1);
  });

  test.each([
    ["it happened", { happened: true, output: "probed" } as const, ["hang"], ["probed"]],
    ["it did not", { happened: false } as const, ["hang", "hang"], ["did hang"]],
  ])("once with a probe: %s, and nobody is asked", async (_, found, seen, expected) => {
    const keys: string[] = [];
    const probe = async (key: string) => {
      keys.push(key);
      return found;
    };
    const workflow = agent([hanging({ repeat: "once", probe })], calls("hang"), "done");
    const run = await left(workflow, hung);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const done = await (await rath.resume(run)).result();
    expect([ids(), outcomes(done), keys]).toEqual([seen, expected, [world[0]?.key]]);
  });

  test("in a round of which some have results: only the others run, and results keep call order", async () => {
    const workflow = agent([hanging({ repeat: "safe" })], calls("a", "hang 1", "b", "hang 2", "c"), "done");
    const run = await left(workflow, async (begun) => {
      await until("both", () => ids().filter((id) => id.startsWith("hang")).length === 2);
      await until("three results", async () => {
        const rath = otherProcess(file);
        const session = await rath.open(begun.session);
        await rath.close();
        return session.calls.length === 3;
      });
    });
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const done = await (await rath.resume(run)).result();
    expect(ids()).toEqual(["a", "hang 1", "b", "hang 2", "c", "hang 1", "hang 2"]);
    expect(outcomes(done)).toEqual(["did a", "did hang 1", "did b", "did hang 2", "did c"]);
    expect((await done.request()).messages.at(-1)).toMatchObject({
      results: ["a", "hang 1", "b", "hang 2", "c"].map((id) => ({ value: `did ${id}` })),
    });
    expect(String(await replay(done, workflow))).toMatch(/^identical/);
  });

  test("in nested work: it is entered again, and what was finished inside is not repeated", async () => {
    const inner = new Agent({
      name: "inner",
      model: scripted(calls("1"), calls("hang"), "inner done"),
      tools: [hanging({ repeat: "keyed" })],
    });
    const workflow = agent(
      [inner.asTool({ name: "help", description: "Helps." })],
      { calls: [{ tool: "help", input: { task: "help" } }] },
      "done",
    );
    const run = await left(workflow, hung);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const done = await (await rath.resume(run)).result();
    expect([ids(), outcomes(done), world[1]?.key === world[2]?.key]).toEqual([["1", "hang", "hang"], ["inner done"], true]);
    const nested = await rath.open(done.calls[0]?.session as string);
    expect(outcomes(nested)).toEqual(["did 1", "did hang"]);
  });

  test("in nested work that may not be repeated: the one inside is unknown, the one outside waits for it", async () => {
    const inner = new Agent({ name: "inner", model: scripted(calls("hang"), "inner done"), tools: [hanging({ repeat: "once" })] });
    const workflow = agent(
      [inner.asTool({ name: "help", description: "Helps." })],
      { calls: [{ tool: "help", input: { task: "help" } }] },
      "done",
    );
    const run = await left(workflow, hung);
    await using rath = otherProcess(file, { workflows: { agent: workflow } });
    const settled = await (await rath.resume(run)).settle();
    const pending = settled.status === "waiting" ? settled.pending : [];
    expect(pending).toMatchObject([{ kind: "unknown", op: "act", by: "agent/inner" }]);
    await rath.decide(pending[0]!.id, { by: "h:1", outcome: { type: "ok", value: "it worked" } });
    const done = await (await rath.attach(run)).result();
    expect([ids(), outcomes(done)]).toEqual([["hang"], ["inner done"]]);
  });

  test("with its inner work recorded: the next attempt has a session of its own", async () => {
    const sessions: string[] = [];
    const used = act({
      repeat: "once",
      run: async ({ id }, { session, key }) => {
        const at = await session.do("inner", () => sessions.length, { repeat: "safe" });
        sessions.push(at.id);
        await at.do("flushed", () => 0);
        world.push({ id, key });
        return sessions.length === 1 ? never() : at.output;
      },
    });
    const workflow = agent([used], calls("hang"), "done");
    const run = await left(workflow, hung);
    await using rath = otherProcess(file, { workflows: { agent: workflow }, implicitForks: "error" });
    await (await rath.resume(run)).settle();
    const [pending] = await rath.pending({ run });
    await rath.decide(pending!.id, { by: "h:1", outcome: "run-again" });
    const done = await (await rath.attach(run)).result();
    expect([outcomes(done), new Set(sessions).size, done.calls[0]?.session]).toEqual([[1], 2, sessions[1]]);
  });

  test.each(["safe", "keyed", "once"] as const)(
    "after a person had changed the input (%s): what runs again is what was approved",
    async (repeat) => {
      const workflow = agent([hanging({ repeat, needsApproval: true })], calls("asked"), "done");
      const run = await left(workflow, parked);
      const second = otherProcess(file, { workflows: { agent: workflow } });
      const [approval] = await second.pending({ run });
      await second.decide(approval!.id, { by: "h:1", approve: true, input: { id: "hang approved" } });
      await second.resume(run);
      await hung();
      await second.close();
      await using third = otherProcess(file, { workflows: { agent: workflow } });
      const resumed = await third.resume(run);
      if (repeat === "once") {
        await resumed.settle();
        const [unknown] = await third.pending({ run });
        await third.decide(unknown!.id, { by: "h:1", outcome: "run-again" });
      }
      const done = await resumed.result();
      expect([ids(), outcomes(done)]).toEqual([["hang approved", "hang approved"], ["did hang approved"]]);
      expect(done.calls[0]?.input).toEqual({ id: "hang approved" });
      expect(String(await replay(done, workflow))).toMatch(/^identical/);
    },
  );

  test("that is cancelled instead: what may not be repeated is unknown, the rest is cancelled", async () => {
    const workflow = agent([hanging({ repeat: "once" })], calls("hang"), "done");
    const rath = otherProcess(file);
    const run = await rath.run(workflow, rath.session("go"));
    await hung();
    await run.cancel("enough");
    const session = await rath.open(run.session);
    expect([await run.status(), outcomes(session)]).toEqual(["cancelled", ["unknown"]]);
    await rath.close();
  });
});
