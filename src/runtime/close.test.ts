import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Flow } from "../../test/support/flow.ts";
import { sharedStore } from "../../test/support/shared-store.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { composeRath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { race } from "../workflow/combinators.ts";
import { Workflow } from "../workflow/workflow.ts";
import type { Rath } from "./rath.ts";
import { runtimeOf } from "./replay.ts";
import { loadRun } from "./run-record.ts";

const call = { calls: [{ tool: "act", input: {} }] };
const acting = (needsApproval: boolean): Agent =>
  new Agent({
    model: scripted(call, call, "done"),
    tools: [tool({ name: "act", description: "x", input: z.object({}), repeat: "safe", needsApproval, run: () => 1 })],
  });
class Asking extends Workflow {
  forward(session: Session) {
    return session.ask("Go on?");
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** What becomes of it, or "hangs". */
async function outcome(work: Promise<unknown>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, 20_000, "hangs");
  });
  const ended = work.then(
    () => "done",
    (error: { readonly code?: string }) => error.code ?? "another error",
  );
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

async function first(found: AsyncIterable<unknown>): Promise<unknown> {
  for await (const one of found) return one;
  return undefined;
}

describe("when a Rath is closed", () => {
  test.each<readonly [string, (rath: Rath) => Promise<unknown>]>([
    ["a question", (rath) => rath.session("go").ask("Go on?")],
    ["a timer", (rath) => rath.session("go").wait("1h")],
    ["a question inside a workflow", (rath) => new Asking().forward(rath.session("go"))],
    ["an approval inside an agent", (rath) => acting(true).forward(rath.session("go"))],
  ])("who waits for %s outside a run is told", async (_, start) => {
    const rath = testRath();
    const work = outcome(start(rath));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await rath.close();
    expect(await work).toBe("rath.closed");
  });

  test("an agent that was called directly ends wherever it is", async () => {
    for (let turns = 0; turns < 30; turns++) {
      const rath = testRath();
      const work = outcome(acting(false).forward(rath.session("go")));
      for (let n = 0; n < turns; n++) await turn();
      await rath.close();
      expect(["done", "rath.closed", "store.closed"], `after ${turns} turns`).toContain(await work);
    }
  });

  // Mutant: only that the Rath was closed is said.
  test("who forgot to wait for an effect is told which", async () => {
    const rath = testRath();
    let go = (): void => {};
    const saved = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow = rath.session("go").do("save", () => saved);
    const asked = rath.session("go").ask("Go on?");
    const told = Promise.allSettled([slow, asked]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await rath.close();
    go();
    expect((await told).map((each) => (each.status === "rejected" ? String(each.reason.message) : "done"))).toEqual([
      'do "save" had not ended when the Rath was closed; is an await missing?',
      'ask "Go on?" had not ended when the Rath was closed; is an await missing?',
    ]);
  });

  test("who forgot to wait for the start of a run is told, too", async () => {
    const rath = testRath();
    const starting = rath.run(new Asking(), rath.session("go"));
    const told = starting.catch((error: Error) => error.message);
    await rath.close();
    expect(await told).toBe('run of "workflow" had not started when the Rath was closed; is an await missing?');
  });

  // Mutant: only that the Rath was closed is said.
  test("who forgot to wait for the result of a run is told of which", async () => {
    const rath = testRath();
    const run = await rath.run(new Asking(), rath.session("go"));
    const told = run.result().catch((error: Error) => error.message);
    await rath.close();
    expect(await told).toBe('run of "workflow" had not ended when the Rath was closed; is an await missing?');
  });

  // Mutant: a run that is about to end is not waited for.
  test("a run that waits for what it stopped is done only where its end is on record", async () => {
    const store = sharedStore();
    let overNow = (): void => {};
    const over = new Promise<void>((resolve) => {
      overNow = resolve;
    });
    const soon = (session: Session): Promise<Session> => session.do("soon", () => 1, { repeat: "safe" });
    const heedless = (session: Session): Promise<Session> => session.do("heedless", () => new Promise(() => {}), { repeat: "once" });
    const raced = new Flow(async (session) => race({ soon, heedless }).forward(session).finally(overNow));
    await using other = testRath({ store, implicitForks: "allow" });
    const rath = testRath({ store, implicitForks: "allow" });
    const run = await rath.run(raced, rath.session("go"));
    await over;
    for (let turns = 0; turns < 20; turns++) await turn();
    await rath.close();
    await new Promise((resolve) => setTimeout(resolve, 1200)); // longer than it waits for "heedless"
    const rows = [];
    for await (const row of store.runs({ id: run.id })) rows.push(row.status);
    const record = await loadRun(runtimeOf(other.session("x")), run.id);
    expect(rows).toEqual([record.ended?.status ?? "queued"]);
  });

  // Mutant: each closes by itself, and one that comes later does not wait.
  test.each([undefined, new Error("the disk is gone")])(
    "whoever closes it too waits for the same, and is told the same: %s",
    async (problem) => {
      const told: string[] = [];
      const store: Store = {
        ...memoryStore(),
        [Symbol.asyncDispose]: async () => {
          told.push("closing");
          await new Promise((resolve) => setTimeout(resolve, 20));
          told.push("closed");
          if (problem !== undefined) throw problem;
        },
      };
      const rath = testRath({ store });
      await rath.save(rath.session("go"));
      const close = (): Promise<unknown> => rath.close().catch((error: unknown) => error);
      const both = Promise.all([close(), close()]);
      for (; told.length === 0; ) await turn();
      const third = close().then((result) => told.push(`third: ${result}`));
      expect(await both).toEqual([problem, problem]);
      await third;
      expect([await close(), ...told]).toEqual([problem, "closing", "closed", `third: ${problem}`]);
    },
  );

  // Mutant: the store is asked, and says that it is closed.
  test.each<readonly [string, (rath: Rath) => Promise<unknown>]>([
    ["sessions", (rath) => first(rath.sessions())],
    ["runs", async (rath) => first(rath.runs())],
    ["run", (rath) => rath.run(new Asking(), testRath().session("go"))],
    ["resume", (rath) => rath.resume("id")],
    ["attach", (rath) => rath.attach("id")],
  ])("%s says so", async (_, ask) => {
    const rath = testRath();
    await rath.close();
    expect(await outcome(ask(rath))).toBe("rath.closed");
  });
});

// Mutant: it is said to have failed, as if its Rath were closed.
test("a run that is taken over while it ends is followed to whoever has it now", { timeout: 30_000 }, async () => {
  const store = sharedStore();
  const ends: (() => void)[] = [];
  let overNow = (): void => {};
  const over = new Promise<void>((resolve) => {
    overNow = resolve;
  });
  const open = (closeMs: number): Rath => {
    const flow = new Flow(async (session) => {
      const at = await session.do("begin", () => 1, { repeat: "safe" });
      for (const name of ["a", "b"])
        void at.fork(name).do(name, () => new Promise<void>((resolve) => ends.push(resolve)), { repeat: "once" });
      while (ends.length < 2) await turn();
      overNow();
      return at;
    });
    return composeRath({ store, workflows: { flow }, implicitForks: "allow" }, { times: { leaseMs: 300, closeMs } });
  };
  await using here = open(20_000);
  const run = await here.run("flow", here.session("go"));
  const settled = run.settle();
  await over;
  await using there = open(50);
  await vi.waitFor(() => there.resume(run.id), { timeout: 15_000 });
  ends[0]?.(); // what comes of it cannot be written any more
  await new Promise((resolve) => setTimeout(resolve, 100));
  ends[1]?.();
  expect((await settled).status).not.toBe("failed");
});
