/** What is open when a run parks or ends: nothing is parked under a program that goes on, and every call gets one result. */
import { describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { kept, otherProcess } from "../../test/support/other-process.ts";
import { race, tool } from "../index.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { testRath } from "../testing/test-rath.ts";
import type { Rath } from "./rath.ts";
import { replay } from "./replay.ts";
import type { OnDivergence } from "./run.ts";

// Mutants: a run is parked while a result is on its way to the program, or is about to be; effects begin while it is being parked.
test("a timer that wins against a question ends the waiting", async () => {
  await using rath = otherProcess(memoryStore(), {}, { parkGraceMs: 20 });
  const reminded = race({
    person: (session: Session) => session.ask("Go on?"),
    late: async (session: Session) => (await session.wait("20ms")).do("decide without them", () => "late", { repeat: "once" }),
  });
  const ends: unknown[] = [];
  for (let times = 0; times < 20; times++) {
    const settled = await (await rath.run(reminded, rath.session("go"))).settle();
    ends.push(settled.status === "done" ? settled.session.output : settled.status);
  }
  expect(ends).toEqual(ends.map(() => "late"));
});

describe("a question that is open on record is closed", () => {
  const before = new Flow(async (session: Session) => {
    let at = session;
    for (let step = 0; step < 20; step++) at = await at.do(`step ${step}`, () => step, { repeat: "safe" });
    return at.ask("Go on?");
  }, "asks");
  const after = new Flow((session: Session) => session.do("other code", () => 1, { repeat: "safe" }), "asks");

  const resumed = async (rath: Rath, id: string, workflow: Flow, onDivergence?: OnDivergence) =>
    rath.resume(id, { workflow, onDivergence });
  const ways: Readonly<Record<string, (rath: Rath, id: string) => Promise<unknown>>> = {
    "the run fails, since its code is another": async (rath, id) => (await resumed(rath, id, after, "fail")).settle(),
    "the run has diverged, and is cancelled": async (rath, id) => {
      const run = await resumed(rath, id, after, "pause");
      await run.settle();
      await run.cancel("no");
    },
    "the run is cancelled as soon as it is taken up": async (rath, id) => (await resumed(rath, id, before)).cancel("no"),
    "the run is cancelled while it is parked": async (rath, id) => (await rath.attach(id)).cancel("no"),
  };

  // Mutants: only what the program has come to again is closed; what closes it is held back until the program has asked for all that was recorded.
  test.each(Object.entries(ways))("when %s", async (_, end) => {
    const store = kept(memoryStore());
    const first = otherProcess(store);
    const session = first.session("go");
    const { id } = await first.run(before, session);
    await (await first.attach(id)).settle();
    const [question] = await first.pending();
    await first.close();
    await using second = otherProcess(store, {}, { stillResumeMs: 100 });
    await end(second, id);
    const branch = await second.open(session.id);
    const asked = [...branch.events()].filter(({ kind }) => kind.startsWith("ask."));
    expect(asked.map(({ kind, facts }) => [kind, facts.outcome])).toEqual([
      ["ask.called", undefined],
      ["ask.returned", "cancelled"],
    ]);
    expect([branch.pending, await second.pending()]).toEqual([[], []]);
    await expect(second.decide(question?.id ?? "", { by: "ada", answer: "yes" })).rejects.toMatchObject({ code: "pending.answered" });
  });
});

// Mutant: an effect that ends in the moment in which its run does gets a second result.
test.each(["run", "forward"])("what returns in the moment in which its %s ends has one result", async (way) => {
  await using rath = testRath();
  for (let hops = 0; hops < 6; hops++) {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const look = tool({
      ...{ name: "look", description: "Looks.", input: { type: "object" }, repeat: "safe", writes: "nothing" },
      run: async () => {
        await gate;
        for (let hop = 0; hop < hops; hop++) await null;
        return "seen";
      },
    });
    const quick = new Flow(async (session: Session) => {
      void session.fork("slow").call(look, {});
      const first = await session.fork("fast").do("fast", () => 1, { repeat: "safe" });
      open();
      return first;
    }, "quick");
    const session = rath.session("go");
    const done = way === "run" ? await (await rath.run(quick, session)).result() : await quick.forward(session);
    for await (const branch of rath.sessions())
      if (branch.lineage.label === "slow")
        expect([...branch.events()].filter(({ kind }) => kind === "tool.returned").length).toBeLessThan(2);
    expect(String(await replay(done, quick))).toMatch(/^identical/);
  }
});
