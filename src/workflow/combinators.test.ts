import { describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { attempts, noUsage, pricedRath, says as speaks } from "../../test/support/models.ts";
import { until } from "../../test/support/other-process.ts";
import { sharedStore } from "../../test/support/shared-store.ts";
import { Agent } from "../agent/agent.ts";
import { type Script, scripted } from "../model/scripted.ts";
import { composeRath } from "../openrath.ts";
import { replay } from "../runtime/replay.ts";
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { best, loop, parallel, race, type Flow as Step, sequence } from "./combinators.ts";
import type { Workflow } from "./workflow.ts";

const says = (...replies: readonly Script[]) => new Agent({ model: scripted(...replies) });
const does =
  (name: string, value: unknown = name, ms = 0): Step =>
  (session) =>
    session.do(name, () => new Promise((resolve) => setTimeout(resolve, ms, value)), { repeat: "safe" });
const fails =
  (name: string): Step =>
  (session) =>
    session.do(name, () => Promise.reject(new Error(`${name} broke`)), { repeat: "safe" });

async function run(flow: Workflow, session = testRath({ implicitForks: "error" }).session("go")): Promise<Session> {
  const done = await flow.forward(session);
  expect(String(await replay(done, flow))).toMatch(/^identical/);
  return done;
}

/** What became of each labelled branch of a store: its label, status and why it was rejected. */
async function branches(rath: { sessions(): AsyncIterable<Session> }): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const session of rath.sessions()) {
    const { label } = session.lineage;
    const rejected = [...session.events()].findLast((event) => event.kind === "session.rejected" && event.session === session.id);
    if (label !== undefined) found[label] = rejected?.kind === "session.rejected" ? rejected.data.reason : session.status;
  }
  return found;
}

describe("sequence", () => {
  test("one after the other, agents and functions, in one conversation", async () => {
    const done = await run(sequence(says("plan"), (session) => session.say("Go on."), says("done")));
    expect(done.messages.map(({ text }) => text)).toEqual(["go", "plan", "Go on.", "done"]);
    expect(done.output).toBe("done");
  });

  test("a function that returns no session is named as the mistake it is", async () => {
    for (const given of [undefined, "text", {}, [1]])
      await expect(sequence(() => given as never).forward(testRath().session())).rejects.toMatchObject({
        code: "workflow.invalid",
        message: expect.stringMatching(/instead of a Session/),
      });
    await expect(parallel({ a: () => ({}) as never }, best).forward(testRath().session())).rejects.toMatchObject({
      code: "workflow.invalid",
    });
  });

  test("what is no workflow is refused before anything runs", () => {
    expect(() => sequence("no" as never)).toThrow(/sequence was given no/);
    expect(() => parallel({ a: null as never }, best)).toThrow(/parallel was given null/);
    expect(() => race(undefined as never)).toThrow(/race was given undefined/);
  });

  test("a composition without what it needs is refused before anything runs", () => {
    const code = "workflow.invalid";
    const join = expect.stringMatching(/^parallel needs a second argument that makes one session of its branches/);
    expect(() => parallel({ a: says("a") }, undefined as never)).toThrow(expect.objectContaining({ code, message: join }));
    expect(() => loop(says("a"), { max: 2 } as never)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(/^loop needs until/) }),
    );
    expect(() => loop(says("a"), undefined as never)).toThrow(expect.objectContaining({ code }));
  });
});

describe("parallel", () => {
  test("gives each a fork labelled by its key and joins them in order", async () => {
    let labels: readonly (string | undefined)[] = [];
    const flow = parallel({ slow: does("s", 1, 20), quick: does("q", 2) }, async (both) => {
      labels = both.map((session) => session.lineage.label);
      return (both[0] as Session).merge(both.slice(1));
    });
    const done = await run(flow);
    expect(labels).toEqual(["slow", "quick"]);
    expect([...done.events()].filter((event) => event.kind === "do.returned")).toHaveLength(2);
  });

  test("one that fails makes it fail, with the session after the failure", async () => {
    const error = await parallel({ a: does("a"), b: fails("b") }, best)
      .forward(testRath().session())
      .catch((caught: unknown) => caught);
    expect(RathError.is(error, "effect.failed") && error.session?.lineage.label).toBe("b");
  });

  test("whoever catches that may go on with the branch that failed", async () => {
    const both = parallel({ check: fails("check"), slow: does("slow", 1, 50) }, best);
    const flow = new Flow(async (session) => {
      const failed = (await both.forward(session).catch((error: RathError) => error.session)) as Session;
      return failed.do("mend", () => "mended", { repeat: "safe" });
    });
    expect((await run(flow)).output).toBe("mended");
  });

  test("what the others would still have done is not done once it has failed, also where the program goes on", async () => {
    const sent: string[] = [];
    const mail = (to: string) => (session: Session) =>
      session.do(`mail ${to}`, () => new Promise((resolve) => setTimeout(() => resolve(sent.push(to)), 15)), { input: to });
    const flow = new Flow(async (session) => {
      const tried = session.do("try", ({ session: inner }) => both.forward(inner), { repeat: "nested" });
      const after = (await tried.catch((error: RathError) => error.session)) as Session;
      return after.do("wait for what goes on", () => new Promise((resolve) => setTimeout(resolve, 80)), { repeat: "safe" });
    }, "flow");
    const both = parallel({ check: fails("check"), notify: sequence(mail("ada"), mail("bo"), mail("cy")) }, best);
    const store = sharedStore();
    await using rath = testRath({ store, workflows: { flow } });
    const done = await (await rath.run("flow", rath.session("go"))).result();
    expect(sent.length).toBeLessThanOrEqual(1);
    expect(String(await replay(done, flow))).toMatch(/^identical/);
  });
});

describe("best", () => {
  const judged = (passed: boolean, score?: number): Step =>
    sequence(does("work"), (session) => session.check("tests", () => ({ passed, ...(score === undefined ? {} : { score }) })));

  test("prefers a passed check, then the score, then the first; losers say why", async () => {
    const rath = testRath({ implicitForks: "error" });
    const flow = parallel({ failed: judged(false, 9), low: judged(true, 1), high: judged(true, 2), later: judged(true, 2) }, best);
    const done = await run(flow, rath.session("go"));
    expect(done.checks).toMatchObject([{ name: "tests", passed: true, score: 2 }]);
    expect(await branches(rath)).toMatchObject({
      failed: '"high" was better; "tests" failed',
      low: '"high" was better',
      high: "idle",
      later: '"high" was better',
    });
  });

  test("prefers an agent that finished, then the cheaper branch", async () => {
    const rath = pricedRath({ dear: { input: 2, output: 2 }, cheap: { input: 1, output: 1 } });
    const priced = (id: string, text: string, more: object = {}): Agent =>
      new Agent({ model: attempts(id, [speaks(text, { usage: { ...noUsage, input: 10, output: 10 }, ...more })], { free: false }) });
    const tries = { cut: priced("cheap", "cut", { finish: "length" }), dear: priced("dear", "dear"), cheap: priced("cheap", "cheap") };
    const done = await run(parallel(tries, best), rath.session("go"));
    expect(done.text).toBe("cheap");
    expect(await branches(rath)).toEqual({ cut: '"cheap" was better', dear: '"cheap" was better', cheap: "idle" });
    expect([done.usage.usd, done.usage.input]).toEqual([20e-6, 10]);
  });

  test("takes another order, highest first, and the first of equals", async () => {
    const tries = { a: does("a", 1), b: does("b", 3), c: does("c", 3) };
    const done = await run(parallel(tries, (all) => best(all, (session) => session.output as number)));
    expect([...done.events()].findLast((event) => event.kind === "do.called")?.data).toMatchObject({ name: "b" });
  });

  test("rejects outside a run too: it is in the store when it returns", async () => {
    const store = sharedStore();
    await using rath = testRath({ store });
    const start = await rath.save(rath.session("go"));
    const [one, two] = await Promise.all(["one", "two"].map((label) => start.fork(label).do(label, () => label)));
    const winner = await best([one as Session, two as Session]);
    expect(winner.head).toBe(one?.head);
    await using other = testRath({ store });
    expect(await branches(other)).toEqual({ one: "idle", two: '"one" was better' });
  });

  // Mutant: an order by what cannot be compared keeps the first, in silence; what is no session fails inside.
  test("what gives no order, and what is no list of sessions, is refused in words", async () => {
    const branch = testRath().session("go");
    const refused: readonly [() => Promise<unknown>, string][] = [
      [() => best([branch], () => Number.NaN), "by of best gave NaN: give a number."],
      [() => best([branch], () => undefined as never), "by of best gave undefined: give a number."],
      [() => best([branch], (async () => 1) as never), "by of best gave a Promise: give a number, it cannot be async."],
      [
        () => best([branch], (() => Promise.reject(new Error("late"))) as never),
        "by of best gave a Promise: give a number, it cannot be async.",
      ],
      [
        () => best([branch], { by: () => 1 } as never),
        "by of best is an object: give a function of a session that gives a number, as in best(branches, by).",
      ],
      [() => best(branch as never), "best needs a list of branches, got an object: write best([a, b])."],
      [() => best([branch, Promise.resolve(branch)] as never), "Expected a Session, got a Promise: is an await missing?"],
      [() => best([new Error("no")] as never), expect.stringMatching(/^Expected a Session, got an Error: give what/)],
      [() => best([undefined] as never), expect.stringMatching(/^Expected a Session, got undefined: give what/)],
    ];
    for (const [ask, message] of refused) await expect(ask()).rejects.toMatchObject({ code: "workflow.invalid", message });
  });

  test("of one branch rejects nobody; of none it fails", async () => {
    const only = await testRath()
      .session()
      .do("x", () => 1);
    expect(await best([only, only])).toBe(only);
    await expect(best([])).rejects.toMatchObject({ code: "workflow.invalid" });
  });
});

describe("race", () => {
  test("the first that comes through wins; the others are stopped at once and rejected", async () => {
    const rath = testRath({ implicitForks: "error" });
    const start = performance.now();
    const done = await run(
      race({ slow: does("slow", 1, 30_000), quick: says({ text: "quick", delay: 5 }), slower: says({ text: "x", delay: 30_000 }) }),
      rath.session("go"),
    );
    expect(performance.now() - start).toBeLessThan(6000);
    expect([done.text, done.stop]).toEqual(["quick", "finished"]);
    expect(await branches(rath)).toEqual({ slow: '"quick" was first', quick: "idle", slower: '"quick" was first' });
  });

  // Mutant: nobody can win, and what it rejects with is undefined.
  test("of none is refused when it is made", () => {
    const message = "race was given no branches: give it at least one, by name.";
    for (const none of [{}, []]) expect(() => race(none as never)).toThrow(expect.objectContaining({ code: "workflow.invalid", message }));
  });

  test("one that fails is skipped, and says so", async () => {
    const rath = testRath();
    const done = await run(
      race({ broken: fails("broken"), cut: says({ text: "no", finish: "refused" }), good: does("good", 7, 20) }),
      rath.session("go"),
    );
    expect([...done.events()].findLast((event) => event.kind === "do.returned")?.data).toEqual({ value: 7 });
    expect(await branches(rath)).toMatchObject({ broken: '"good" was first', cut: '"good" was first', good: "idle" });
  });

  test("all failing is a failure that carries the last one's session", async () => {
    const flow = race({ a: fails("a"), b: says({ text: "no", finish: "refused" }) });
    const error = await flow.forward(testRath().session("go")).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "effect.failed", message: '"b" stopped as "refused"' });
    expect(RathError.is(error) && error.session?.stop).toBe("refused");
  });

  test("one that waits for a person does not keep the winner", async () => {
    const rath = testRath();
    const flow = race({ person: (session) => session.ask("Well?"), clock: does("clock", "tick", 10) });
    const start = performance.now();
    const done = await flow.forward(rath.session("go"));
    expect([done.output, performance.now() - start < 10_000]).toEqual(["tick", true]);
  });

  test("nor does a durable run wait for that person, then or when it is resumed", async () => {
    let afters = 0;
    // The second time its process is left in it.
    const after: Step = (session) => session.do("after", () => (++afters === 2 ? new Promise(() => {}) : "done"), { repeat: "safe" });
    const flow = sequence(race({ person: (session) => session.ask("Well?"), clock: does("clock", "tick", 10) }), after);
    const store = sharedStore();
    await using first = testRath({ store, workflows: { flow } });
    const started = await first.run("flow", first.session("go"));
    expect((await started.settle()).status).toBe("done");
    const again = await first.run("flow", first.session("go"));
    await until("what comes after", () => afters === 2);
    await first.close();
    await using second = testRath({ store, workflows: { flow } });
    expect(await (await second.resume(again.id)).settle()).toMatchObject({ status: "done", session: { output: "done" } });
  });

  test("a wait is a time limit: what takes longer loses, what is done in time goes on without it", async () => {
    const rath = testRath();
    const within = (ms: number, limit: "20ms" | "1h"): Workflow =>
      sequence(race({ work: says({ text: "x", delay: ms }), clock: (session) => session.wait(limit) }), does("after", 7, 60));
    for (const [flow, loser] of [
      [within(5000, "20ms"), "work"],
      [within(20, "1h"), "clock"],
    ] as const) {
      const settled = await (await rath.run(flow, rath.session("go"))).settle();
      expect(settled).toMatchObject({ status: "done", session: { output: 7 } });
      expect([...settled.session.events()].some((event) => event.kind === "model.returned" && event.facts.outcome === "ok")).toBe(
        loser === "clock",
      );
      expect(String(await replay(settled.session, flow))).toMatch(/^identical/);
    }
  });

  test("a function that never ends does not keep the winner either", async () => {
    const flow = race({ never: () => new Promise<never>(() => {}), good: does("good") });
    expect((await flow.forward(testRath().session("go"))).output).toBe("good");
  });

  test("in a durable run the losers are rejected as well, and what follows goes on from the winner", async () => {
    const rath = testRath();
    const flow = sequence(race({ slow: says({ text: "slow", delay: 5000 }), quick: says("quick") }), says("after"));
    const done = await (await rath.run(flow, rath.session("go"))).result();
    expect(done.messages.map(({ text }) => text)).toEqual(["go", "quick", "after"]);
    expect(await branches(rath)).toMatchObject({ slow: '"quick" was first' });
    expect(String(await replay(done, flow))).toMatch(/^identical/);
  });
});

describe("loop", () => {
  test("ends when its condition holds, and after max turns", async () => {
    const step: Step = async (session) =>
      session.do("n", () => [...session.events()].filter(({ kind }) => kind === "do.returned").length + 1);
    const three = await run(loop(step, { until: (session) => (session.output as number) >= 3, max: 10 }));
    expect(three.output).toBe(3);
    expect((await run(loop(step, { until: () => false, max: 2 }))).output).toBe(2);
  });

  // Mutant: a promise, which is no yes, ends it after one turn, and nothing never does.
  test.each<readonly [string, () => unknown, string]>([
    ["a promise", async () => false, "a Promise: give a boolean, it cannot be async."],
    ["a promise that fails", () => Promise.reject(new Error("late")), "a Promise: give a boolean, it cannot be async."],
    ["nothing", () => undefined, "undefined: give a boolean."],
    ["a word", () => "done", '"done": give a boolean.'],
  ])("a condition that gives %s is refused, with the session so far", async (_, until, told) => {
    const error = await loop(does("x"), { until: until as never, max: 3 })
      .forward(testRath().session())
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "workflow.invalid", message: `until of loop gave ${told}`, session: { output: "x" } });
  });

  test("needs a whole number of turns", () => {
    for (const max of [0, -1, 1.5, Number.NaN, undefined as never])
      expect(() => loop(does("x"), { until: () => true, max })).toThrow(/whole number of turns/);
  });
});

describe("compositions in compositions", () => {
  const flow = (): Workflow =>
    sequence(
      says("plan"),
      parallel(
        {
          small: sequence((session) => session.say("small"), says("s1"), says("s2")),
          raced: race({ x: does("x", 1, 300), y: does("y", 2) }),
          looped: loop(says("l1", "l2", "l3"), { until: (session) => session.text === "l2", max: 5 }),
        },
        (all) => best(all, (session) => (session.lineage.label === "looped" ? 1 : 0)),
      ),
      new Flow(async (session) => {
        const broken = parallel({ check: fails("check"), slow: sequence(does("s1", 1, 300), says("never")), asks: says("b1", "b2") }, best);
        const failed = await broken.forward(session.fork("tried")).catch((error: RathError) => error.session as Session);
        return session.note(failed.lineage.label ?? "");
      }, "tries"),
      says("end"),
    );

  test("replay the same", async () => {
    const rath = testRath({ implicitForks: "error" });
    const done = await run(flow(), rath.session("go"));
    expect(done.messages.map(({ text }) => text)).toEqual(["go", "plan", "l1", "l2", "end"]);
    expect(await branches(rath)).toMatchObject({ small: '"looped" was better', x: '"y" was first', y: '"looped" was better' });
  });

  test("go on after their Rath was closed anywhere, with nothing asked twice", async () => {
    const uninterrupted = await (async () => {
      const rath = testRath();
      return (await (await rath.run(flow(), rath.session("go"))).result()).messages.map(({ text }) => text);
    })();
    for (let stage = 0; stage < 30; stage++) {
      const store = sharedStore();
      const times = { stillResumeMs: 1500 };
      const first = composeRath({ store, implicitForks: "allow", workflows: { flow: flow() } }, { times, worker: "a" });
      const started = await first.run("flow", first.session("go"));
      for (let turn = 0; turn < stage * 8; turn++) await new Promise((resolve) => setImmediate(resolve));
      await first.close();
      const second = composeRath({ store, implicitForks: "allow", workflows: { flow: flow() } }, { times, worker: "b" });
      const done = await (await second.resume(started.id)).result();
      expect([stage, done.messages.map(({ text }) => text)]).toEqual([stage, uninterrupted]);
      const asked = new Map<string, number>();
      for (const event of done.events()) if (event.kind === "model.called") asked.set(event.by, (asked.get(event.by) ?? 0) + 1);
      expect([...asked.values()].every((count) => count <= 2)).toBe(true);
      await second.close();
    }
  });

  test("a loop over a workflow counts turns of the inner one by its own path", async () => {
    const inner = new Flow((session) => session.do("x", () => 1), "inner");
    const done = await run(loop(inner, { until: () => false, max: 2 }));
    expect(new Set([...done.events()].filter(({ kind }) => kind === "do.called").map(({ by }) => by))).toEqual(new Set(["loop/inner"]));
  });
});
