/** Questions and approvals that nobody answers in time: running, parked, or across a restart. */
import { describe, expect, test } from "vitest";
import { Agent, type RathError, replay, scripted } from "../../src/index.ts";
import type { Pending } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess, until } from "../support/other-process.ts";
import { payer } from "../support/payer.ts";

type Approval = Extract<Pending, { kind: "approval" }>;
type Question = Extract<Pending, { kind: "question" }>;

describe("what is not answered in time", () => {
  const asks = (expires: "40ms" | "1500ms") => new Flow((session) => session.ask("Now?", undefined, { expires }));

  test("expires while the run runs, and cannot be answered any more", async () => {
    await using rath = otherProcess(memoryStore());
    const run = await rath.run(asks("40ms"), rath.session("go"));
    const pending = await until("the question", async () => (await rath.pending({ run: run.id }))[0] as Question | undefined);
    expect(Date.parse(pending.expires as string) - Date.parse(pending.since)).toBe(40);
    await expect(run.result()).rejects.toMatchObject({ code: "effect.expired" });
    await expect(rath.decide(pending.id, { by: "h", answer: "late" })).rejects.toMatchObject({ code: "pending.answered" });
    expect(await rath.decision(pending.id)).toMatchObject({ by: "runtime", expired: true });
  });

  test("expires while the run is parked, which goes on by itself", async () => {
    await using rath = otherProcess(memoryStore());
    const run = await rath.run(asks("1500ms"), rath.session("go"));
    expect(await run.settle()).toMatchObject({ status: "waiting" });
    await expect(run.result()).rejects.toMatchObject({ code: "effect.expired" });
  });

  test("expires across a restart, and nobody can answer in between once its time is over", async () => {
    const store = memoryStore();
    const first = otherProcess(store);
    const run = await first.run(asks("1500ms"), first.session("go"));
    const settled = await run.settle();
    const id = settled.status === "waiting" ? (settled.pending[0]?.id as string) : "";
    await first.close();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await using other = otherProcess(store);
    const late = other.decide(id, { by: "h", answer: "late" });
    await expect(late).rejects.toMatchObject({ code: "pending.answered", message: expect.stringContaining("expired at") });
    await using heir = otherProcess(store, { workflows: { flow: asks("1500ms") } });
    const resumed = await heir.resume(run.id);
    await expect(resumed.result()).rejects.toMatchObject({ code: "effect.expired" });
  });

  test("of an answer and the end of its time exactly one counts, whoever was told so", async () => {
    for (let round = 0; round < 15; round++) {
      const store = memoryStore();
      await using rath = otherProcess(store);
      await using other = otherProcess(store);
      const run = await rath.run(asks("40ms"), rath.session("go"));
      const pending = await until("the question", async () => (await rath.pending({ run: run.id }))[0]);
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
    const run = await rath.run("clerk", rath.session("go"));
    const pending = await until("the approval", async () => (await rath.pending({ run: run.id }))[0] as Approval | undefined);
    expect(Date.parse(pending.expires as string) - Date.parse(pending.since)).toBe(50);
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
