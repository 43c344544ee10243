/** Conflicts of a merge that a person or an agent settles, in a durable run that is parked in the middle of the merge. */
import { describe, expect, onTestFinished, test } from "vitest";
import { Agent, type Session, scripted, verify } from "../../src/index.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess } from "../support/other-process.ts";

describe("a merge that conflicts, in a run that is parked in the middle of it", () => {
  /** Two branches write one file and one memory each their way. */
  const merging = (conflicts: "ask" | Agent | Flow) =>
    new Flow(async (session) => {
      const write = (branch: Session, text: string) =>
        branch.do("write", ({ sandbox }) => sandbox.write("a.txt", text), { repeat: "safe" });
      const [ours, theirs] = await Promise.all([write(session.fork("ours"), "ours"), write(session.fork("theirs"), "theirs")]);
      const merged = await ours.merge(theirs, { conflicts });
      return merged.do("read", async ({ sandbox }) => Buffer.from(await sandbox.read("a.txt")).toString(), { repeat: "safe" });
    }, "merging");

  /** Parks in one process, is decided in a second and goes on in a third. */
  async function settledBy(flow: () => Flow, answers: readonly unknown[]): Promise<Session> {
    const store = memoryStore();
    const first = otherProcess(store, { workflows: { merging: flow() } });
    const run = await first.run("merging", first.session("go").to("memory"));
    let settled = await run.settle();
    await first.close();
    for (const said of answers) {
      if (settled.status !== "waiting") throw new Error(`${settled.status}: ${JSON.stringify(settled)}`);
      const [pending] = settled.pending;
      const decider = otherProcess(store);
      await decider.decide(pending?.id as string, { by: "human:ann", answer: said, reason: "I know" });
      await decider.close();
      const heir = otherProcess(store, { workflows: { merging: flow() } });
      onTestFinished(() => heir.close());
      settled = await (await heir.resume(run.id)).settle();
    }
    if (settled.status !== "done") throw new Error(settled.status === "failed" ? settled.error.message : settled.status);
    const { problems } = await verify(settled.session);
    // Each of these processes has a key of its own, which no file shares.
    expect(problems.filter(({ problem }) => !problem.includes("unknown key"))).toEqual([]);
    return settled.session;
  }

  test("is settled by a person", async () => {
    const theirs = await settledBy(() => merging("ask"), [{ choice: "theirs" }]);
    expect(theirs.output).toBe("theirs");
    const own = await settledBy(() => merging("ask"), [{ choice: "content", content: "both" }]);
    expect(own.output).toBe("both");
  });

  test("a person who says that there is a text must give it", async () => {
    const store = memoryStore();
    await using rath = otherProcess(store, { workflows: { merging: merging("ask") } });
    const run = await rath.run("merging", rath.session("go").to("memory"));
    const settled = await run.settle();
    const id = settled.status === "waiting" ? (settled.pending[0]?.id as string) : "";
    await expect(rath.decide(id, { by: "h", answer: { choice: "content" } })).rejects.toMatchObject({ code: "pending.invalid-answer" });
    await rath.decide(id, { by: "h", answer: { choice: "ours" } });
    expect((await run.result()).output).toBe("ours");
  });

  test("is settled by an agent", async () => {
    const judge = () => new Agent({ name: "judge", model: scripted('{"a.txt": {"content": "judged"}}') });
    expect((await settledBy(() => merging(judge()), [])).output).toBe("judged");
  });

  test("is settled by a workflow that asks a person in between", async () => {
    const flow = () =>
      merging(
        new Flow(async (session) => {
          const asked = await session.ask("Which one?");
          return asked.do("choose", () => ({ "a.txt": asked.output }), { repeat: "safe" });
        }, "judge"),
      );
    expect((await settledBy(flow, ["theirs"])).output).toBe("theirs");
  });
});
