/** What a program makes and drops is not on record, and is made again under other ids: nothing that is on record may name it. */
import { expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { otherProcess } from "../../test/support/other-process.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { best } from "../workflow/combinators.ts";
import { replay } from "./replay.ts";

/** What a run that asks comes to when it is answered and gone on with in another process, by the same code. */
async function goneOnWith(
  flow: Flow,
): Promise<{ readonly status: string; readonly diverged: string | undefined; readonly replayed: string }> {
  const store = memoryStore();
  const first = otherProcess(store, { workflows: { flow } });
  const run = await first.run("flow", first.session("go"));
  const asked = await run.settle();
  if (asked.status !== "waiting") throw new Error(asked.status);
  await first.close();
  await using later = otherProcess(store, { workflows: { flow } }, { stillReplayMs: 50 });
  await later.decide(asked.pending[0]?.id as string, { by: "human:ada", answer: "yes" });
  const settled = await (await later.resume(run.id)).settle();
  const diverged = settled.status === "waiting" ? settled.diverged?.text : undefined;
  return { status: settled.status, diverged, replayed: String(await replay(settled.session, flow)) };
}

// Mutant: leaving names an entering that is not written, and has another id when it is made again.
test("a workflow that gives back a value from before it was entered is the same when its run goes on", async () => {
  const undo = new Flow(async (session) => session.at(session.step - 2).fork("again"), "undo");
  const flow = new Flow(async (session) => {
    const tried = (await session.do("x", () => 1, { repeat: "safe" })).note("a try");
    return (await undo.forward(tried)).ask("go on?");
  });
  expect(await goneOnWith(flow)).toMatchObject({
    ...{ status: "done", diverged: undefined },
    replayed: expect.stringMatching(/^identical/),
  });
});

// Mutant: the winner is named by its id, which is another one when its fork is made again.
test("best over branches without labels gives the same reason when its run goes on", async () => {
  const flow = new Flow(async (session) => {
    const tries = [session.fork("one").note("a").fork().note("b"), session.fork("two").note("c")] as readonly [Session, Session];
    expect((await best(tries)).head).toBe(tries[0].head);
    return session.ask("go on?");
  });
  expect(await goneOnWith(flow)).toMatchObject({ status: "done", diverged: undefined });
});
