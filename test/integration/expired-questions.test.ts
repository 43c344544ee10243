/** Questions and approvals that nobody answers in time: running, parked, or across a restart. */
import { describe, expect, test } from "vitest";
import { Agent, type RathError, replay, scripted } from "../../src/index.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Run } from "../../src/runtime/run-handle.ts";
import type { Pending } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess, until } from "../support/other-process.ts";
import { payer } from "../support/payer.ts";
import { standingClock } from "../support/standing-clock.ts";

type Approval = Extract<Pending, { kind: "approval" }>;
type Question = Extract<Pending, { kind: "question" }>;

/** A run, and what waits in it for a short time. Where that is over before anybody could look, there is another run. */
async function seen(rath: Rath, start: () => Promise<Run>): Promise<{ readonly run: Run; readonly pending: Pending }> {
  for (let tries = 0; tries < 100; tries++) {
    const run = await start();
    const pending = await until("the question", async () => {
      const [found] = await rath.pending({ run: run.id });
      return found ?? (["done", "failed"].includes(await run.status()) ? "over" : undefined);
    });
    if (pending !== "over") return { run, pending };
  }
  throw new Error("nothing was ever seen to wait");
}

describe("what is not answered in time", () => {
  const asks = (expires: "40ms" | "1s") => new Flow((session) => session.ask("Now?", undefined, { expires }));

  test("expires while the run runs, and cannot be answered any more", async () => {
    await using rath = otherProcess(memoryStore());
    const { run, pending } = await seen(rath, () => rath.run(asks("40ms"), rath.session("go")));
    expect(Date.parse((pending as Question).expires as string) - Date.parse(pending.since)).toBe(40);
    await expect(run.result()).rejects.toMatchObject({ code: "effect.expired" });
    await expect(rath.decide(pending.id, { by: "h", answer: "late" })).rejects.toMatchObject({ code: "pending.answered" });
    expect(await rath.decision(pending.id)).toMatchObject({ by: "runtime", expired: true });
  });

  test("expires while the run is parked, which goes on by itself", async () => {
    const clock = standingClock();
    await using rath = otherProcess(memoryStore(), {}, {}, clock);
    const run = await rath.run(asks("1s"), rath.session("go"));
    expect(await run.settle()).toMatchObject({ status: "waiting" });
    clock.go();
    await expect(run.result()).rejects.toMatchObject({ code: "effect.expired" });
  });

  test("expires across a restart, and nobody can answer in between once its time is over", async () => {
    const store = memoryStore();
    const first = otherProcess(store, {}, {}, standingClock());
    const run = await first.run(asks("1s"), first.session("go"));
    const settled = await run.settle();
    const { id, expires } = (settled.status === "waiting" ? settled.pending[0] : undefined) as Question;
    await first.close();
    while (Date.now() <= Date.parse(expires as string)) await new Promise((resolve) => setTimeout(resolve, 20));
    await using other = otherProcess(store);
    const late = other.decide(id, { by: "h", answer: "late" });
    await expect(late).rejects.toMatchObject({ code: "pending.answered", message: expect.stringContaining("expired at") });
    await using heir = otherProcess(store, { workflows: { flow: asks("1s") } });
    const resumed = await heir.resume(run.id);
    await expect(resumed.result()).rejects.toMatchObject({ code: "effect.expired" });
  });

  test("of an answer and the end of its time exactly one counts, whoever was told so", async () => {
    for (let round = 0; round < 15; round++) {
      const store = memoryStore();
      await using rath = otherProcess(store);
      await using other = otherProcess(store);
      const { run, pending } = await seen(rath, () => rath.run(asks("40ms"), rath.session("go")));
      const left = Date.parse(pending.since) + 40 - Date.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, left - 2 + (round % 5) * 0.5)));
      const taken = await other.decide(pending.id, { by: "h", answer: "yes" }).then(
        () => true,
        () => false,
      );
      const output = await run.result().then(
        (session) => session.output,
        (error: RathError) => error.code,
      );
      expect(output).toBe(taken ? "yes" : "effect.expired");
    }
  });

  test("an approval: the call is not made, and the model is told; of tool and policy the shorter time counts", async () => {
    const paid: string[] = [];
    const clerk = new Agent({
      name: "clerk",
      model: scripted({ calls: [{ tool: "pay", input: { to: "ann" } }] }, "done"),
      tools: [payer(paid, { approvalExpires: "1h" })],
    });
    await using rath = otherProcess(memoryStore(), { policy: { approvalExpires: "50ms" }, workflows: { clerk } });
    const { run, pending } = await seen(rath, () => rath.run("clerk", rath.session("go")));
    expect(Date.parse((pending as Approval).expires as string) - Date.parse(pending.since)).toBe(50);
    const session = await run.result();
    expect([paid, session.calls[0]?.outcome, session.stop]).toEqual([[], { type: "expired" }, "finished"]);
    await expect(rath.decide(pending.id, { by: "h", approve: true })).rejects.toMatchObject({ code: "pending.answered" });
    expect(String(await replay(session, clerk))).toMatch(/^identical/);
  });

  test("a time that is none is refused where it is given", () => {
    expect(() => payer([], { approvalExpires: "soon" })).toThrow(expect.objectContaining({ code: "value.unsupported" }));
    expect(() => otherProcess(memoryStore(), { policy: { approvalExpires: "soon" as "1h" } })).toThrow(
      expect.objectContaining({ code: "value.unsupported" }),
    );
  });
});
