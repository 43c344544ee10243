/** What a composition stopped comes to its end beside the program: when that is, decides nothing. */
import { describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { sharedStore } from "../../test/support/shared-store.ts";
import { replay, runtimeOf } from "../runtime/replay.ts";
import { loadRun } from "../runtime/run-record.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { parallel, race, type Flow as Step } from "./combinators.ts";

const soon: Step = (session) => session.do("soon", () => 1, { repeat: "safe" });
const breaks: Step = (session) => session.do("breaks", () => Promise.reject(new Error("broke")), { repeat: "safe" });
const heedless: Step = (session) => session.do("heedless", () => new Promise((resolve) => setTimeout(resolve, 60)), { repeat: "once" });

const compositions: readonly [string, (session: Session) => Promise<unknown>][] = [
  ["a race", (session) => race({ soon, heedless }).forward(session)],
  [
    "a parallel that fails",
    (session) =>
      parallel({ breaks, heedless }, async ([one]) => one as Session)
        .forward(session)
        .catch(() => {}),
  ],
];

describe.each(compositions)("%s one of whose branches heeds no signal", (_, composition) => {
  /** Says which came first, the composition or an effect beside it that ends while the one after the composition is at work. */
  const ordered = (last: () => unknown): Flow =>
    new Flow(async (session) => {
      const came: string[] = [];
      let begin = (): void => {};
      const begun = new Promise<void>((resolve) => {
        begin = resolve;
      });
      const beside = session.fork("beside").do("beside", () => begun, { repeat: "safe" });
      const heard = beside.then(() => came.push("beside"));
      await composition(session.fork("composition"));
      came.push("composition");
      await session.fork("after").do("after", () => new Promise((resolve) => setTimeout(resolve, 10, begin())), { repeat: "safe" });
      await heard;
      return session.do(`came: ${came}`, last, { repeat: "safe" });
    });

  // Mutant: the composition waits some turns for that branch.
  test("replays in the order in which its ends came", async () => {
    await using rath = testRath();
    const flow = ordered(() => 1);
    expect(String(await replay(await flow.forward(rath.session("go")), flow))).toMatch(/^identical/);
  });

  test("goes on in that order in another process", async () => {
    const store = sharedStore();
    let reach = (): void => {};
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    await using first = testRath({ store, workflows: { flow: ordered(() => new Promise(reach)) } });
    const { id } = await first.run("flow", first.session("go"));
    await reached;
    await first.close();
    await using second = testRath({ store, workflows: { flow: ordered(() => 1) } });
    expect(await (await second.resume(id)).settle()).toMatchObject({ status: "done", session: { output: 1 } });
  });
});

// Mutants: nothing that was stopped has a moment before the run ends, or the effect.
test.each(["run", "effect"])("what was stopped says on record what became of it before its %s ends", async (around) => {
  const store = sharedStore();
  await using rath = testRath({ store });
  const raced = race({ soon, slow: (session) => session.do("slow", () => new Promise(() => {}), { repeat: "safe" }) });
  const flow = new Flow((session) =>
    around === "run"
      ? raced.forward(session)
      : session.do("nested", async ({ session: inner }) => (await raced.forward(inner)).output, { repeat: "nested" }),
  );
  const run = await rath.run(flow, rath.session("go"));
  const done = await run.result();
  const kinds = (await loadRun(runtimeOf(done), run.id)).events.map(({ kind }) => kind);
  const end = kinds.lastIndexOf(around === "run" ? "run.ended" : "do.returned");
  expect(kinds.slice(0, end)).toContain("session.rejected");
  expect(String(await replay(done, flow))).toMatch(/^identical/);
});

// Mutant: only what ends within some turns is rejected.
test("one that heeds no signal and may not be repeated is rejected all the same", async () => {
  await using rath = testRath({ implicitForks: "error" });
  await race({ soon, heedless }).forward(rath.session("go"));
  const reasons: string[] = [];
  for await (const session of rath.sessions())
    for (const event of session.events()) if (event.kind === "session.rejected") reasons.push(event.data.reason);
  expect(reasons).toEqual(['"soon" was first']);
});

// Mutant: whoever ends a run midway waits for what was stopped in it, and its program goes on meanwhile.
test("a program that is ended at its deadline begins nothing more, whatever heeds no signal", async () => {
  await using rath = testRath();
  const never: Step = (session) => session.do("never", () => new Promise(() => {}), { repeat: "once" });
  const begun: string[] = [];
  const flow = new Flow(async (session) => {
    const won = await race({ soon, never }).forward(session);
    begun.push("in time");
    await new Promise((resolve) => setTimeout(resolve, 700));
    return won.do("late", () => begun.push("late"), { repeat: "safe" });
  });
  const run = await rath.run(flow, rath.session("go"), { deadline: "500ms" });
  expect(await run.settle()).toMatchObject({ status: "failed", error: { code: "run.deadline" } });
  expect(begun).toEqual(["in time"]);
});
