import { describe, expect, test } from "vitest";
import { attempts, breaks, noUsage, pricedRath, says as speaks } from "../../test/support/models.ts";
import { sharedStore } from "../../test/support/shared-store.ts";
import { modelFailed } from "../model/failure.ts";
import { type Reply, type Script, scripted } from "../model/scripted.ts";
import { replay } from "../runtime/replay.ts";
import { RathError } from "../session/errors.ts";
import type { ModelRequest } from "../session/message.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { Workflow } from "../workflow/workflow.ts";
import { Agent } from "./agent.ts";
import { type Choice, Selector, type SelectorOptions } from "./selector.ts";

const worker = (description: string, ...replies: readonly Script[]) => new Agent({ description, model: scripted(...replies) });
const choices = () => ({
  fix: worker("Fixes code.", "fixed", "fixed again"),
  docs: worker("Writes docs.", "documented"),
});
/** Fix, then docs, then done. */
const inTurn = (session: Session) => (["fix", "docs", "done"] as const)[session.routes.length] ?? "done";
/** The same, said by a model: each routing is a session of its own, so the script looks at the routes so far. */
const routing = (seen: ModelRequest[] = []) =>
  scripted((request, session): Reply => {
    seen.push(request);
    return { output: { choice: inTurn(session), reason: `route ${session.routes.length}` }, usage: { input: 100, output: 10 } };
  });

async function route<Name extends string>(selector: Selector<Name>, session = testRath().session("Please.")): Promise<Session> {
  const done = await selector.forward(session);
  expect(String(await replay(done, selector))).toMatch(/^identical/);
  return done;
}

describe("a Selector", () => {
  test("chooses by a function until it is done; every choice is on record with its candidates and reason", async () => {
    const done = await route(new Selector({ choices: choices(), choose: inTurn }));
    expect([done.stop, done.output, done.text]).toEqual(["finished", "documented", "documented"]);
    expect(done.messages.map(({ text }) => text)).toEqual(["Please.", "fixed", "documented"]);
    expect(done.routes).toMatchObject(
      ["fix", "docs", "done"].map((choice) => ({ choice, candidates: ["fix", "docs"], reason: "by rule" })),
    );
    const called = [...done.events()].find((event) => event.kind === "route.called");
    expect(called?.data).toEqual({
      by: "function",
      candidates: [
        { name: "fix", description: "Fixes code." },
        { name: "docs", description: "Writes docs." },
      ],
    });
    expect([...done.events()].filter(({ kind }) => kind === "model.called").map(({ by }) => by)).toEqual(["workflow/fix", "workflow/docs"]);
  });

  test("chooses by a model: what it cost counts, and nothing of the question is in the conversation", async () => {
    const seen: ModelRequest[] = [];
    const done = await route(new Selector({ choices: choices(), choose: routing(seen), instructions: "Fix before you write." }));
    expect(done.routes.map(({ choice, reason }) => `${choice}: ${reason}`)).toEqual(["fix: route 0", "docs: route 1", "done: route 2"]);
    expect(done.messages.map(({ role, text }) => `${role}: ${text}`)).toEqual([
      "user: Please.",
      "assistant: fixed",
      "assistant: documented",
    ]);
    expect((await done.request()).messages).toEqual([
      { role: "user", parts: [{ type: "text", text: "Please." }] },
      { role: "assistant", parts: [{ type: "text", text: "fixed" }] },
      { role: "user", parts: [{ type: "text", text: "Continue." }] },
    ]);
    // Three routings of 110 tokens, beside what the agents themselves used.
    expect(done.usage.input - done.usage.own.input).toBe(300);
    expect(done.usage.output - done.usage.own.output).toBe(30);
    expect(seen[0]?.instructions).toMatch(/- fix: Fixes code\.[\s\S]*- done: [\s\S]*Fix before you write\./);
    expect(seen[0]?.output).toMatchObject({ properties: { choice: { enum: ["fix", "docs", "done"] } } });
    expect(seen).toHaveLength(3);
    expect(JSON.stringify(seen[1]?.messages)).toContain("route 0");
    expect(seen[1]?.messages).toHaveLength(1);
  });

  test("a model reads the end of a long conversation, and how much of it is not shown", async () => {
    const seen: ModelRequest[] = [];
    const selector = new Selector({ choices: choices(), choose: routing(seen) });
    let session = testRath().session("The beginning.");
    for (let n = 0; n < 100; n++) session = session.say(`${n} ${"x".repeat(3000)}`);
    await selector.forward(session);
    const asked = JSON.stringify(seen[0]?.messages);
    expect(asked.length).toBeLessThan(70_000);
    const shown = ["The beginning.", "81 xxx", "82 xxx", "99 xxx", String.raw`olderMessagesNotShown\":82`].map((text) =>
      asked.includes(text),
    );
    expect(shown).toEqual([false, true, true, true, true]);
  });

  test("the routing call's money counts towards the run's cost", async () => {
    const model = attempts("router", [speaks('{"choice":"done","reason":""}', { usage: { ...noUsage, input: 10, output: 5 } })], {
      free: false,
    });
    const rath = pricedRath({ router: { input: 1, output: 2 } });
    const done = await new Selector({ choices: choices(), choose: model }).forward(rath.session("Please."));
    expect(done.usage.usd).toBeCloseTo(20e-6, 12);
  });

  test("a choice may say where the receiver works, what it reads and what must hold; all is recorded and enforced", async () => {
    const seen: ModelRequest[] = [];
    const reader = new Agent({
      description: "Reads.",
      model: scripted((request) => {
        seen.push(request);
        return "read";
      }),
    });
    const chosen: Choice<"reader"> = {
      choice: "reader",
      reason: "it must be read",
      context: "Only this matters.",
      memory: "project" as never,
      placement: { sandbox: "local", workspace: "./repo" },
      check: "tests",
    };
    const selector = new Selector({ choices: { reader }, choose: (session) => (session.routes.length === 0 ? chosen : "done") });
    const done = await route(selector);
    expect(done.routes[0]).toMatchObject(chosen);
    expect(done.placement).toMatchObject({ sandbox: "local", workspace: "./repo" });
    expect(seen[0]?.messages).toEqual([{ role: "user", parts: [{ type: "text", text: "Only this matters." }] }]);
    // Nobody checked anything: the session does not go on.
    expect(done.stop).toBe("invalid");
    expect(() => done.output).toThrow(/the check "tests" that the route asks for did not pass/);
    expect(done.routes).toHaveLength(1);
  });

  test("goes on when the check passed on what the receiver returned; an older verdict does not count", async () => {
    class Checked extends Workflow {
      readonly description = "Works and checks.";
      readonly #passes: (session: Session) => boolean | undefined;
      constructor(passes: (session: Session) => boolean | undefined) {
        super();
        this.#passes = passes;
      }
      async forward(session: Session) {
        const verdict = this.#passes(session);
        const done = await session.do("work", () => 1, { repeat: "safe" });
        return verdict === undefined ? done : done.check("tests", () => verdict);
      }
    }
    const passes = (...verdicts: (boolean | undefined)[]) => {
      const good = new Checked((session) => verdicts[session.routes.length - 1]);
      return new Selector({
        choices: { good },
        choose: (session) => (session.routes.length < verdicts.length ? { choice: "good", reason: "", check: "tests" } : "done"),
      });
    };
    const two = await route(passes(true, true));
    expect([two.routes.length, two.stop]).toEqual([3, "finished"]);
    expect((await route(passes(false))).stop).toBe("invalid");
    const stale = await route(passes(true, undefined));
    expect([stale.routes.length, stale.stop]).toEqual([2, "invalid"]);
  });

  test("a function may take its time; what it chose is taken from the record on replay", async () => {
    let asked = 0;
    const choose = async (session: Session) => {
      asked++;
      await new Promise((done) => setTimeout(done, 1));
      return inTurn(session);
    };
    const done = await route(new Selector({ choices: choices(), choose }));
    expect([done.routes.map(({ choice }) => choice), asked]).toEqual([["fix", "docs", "done"], 3]);
  });

  test("ends with limits.rounds, counted in choices", async () => {
    const done = await route(
      new Selector({ choices: { fix: worker("Fixes.", "a", "b", "c") }, choose: () => "fix", limits: { rounds: 2 } }),
    );
    expect([done.stop, done.routes.length, done.text]).toEqual(["rounds", 2, "b"]);
    expect(() => done.output).toThrow(/has no output: "workflow" stopped as "rounds" \(2 routes\)\.$/);
  });

  test("says one route, and an agent one round", async () => {
    const once = new Agent({ name: "clerk", model: scripted({ calls: [{ tool: "none", input: {} }] }), limits: { rounds: 1 } });
    const stopped = await once.forward(testRath().session("Please."));
    expect(() => stopped.output).toThrow(/has no output: "clerk" stopped as "rounds" \(1 round\)\.$/);
    const routed = await route(new Selector({ choices: { fix: worker("Fixes.", "a") }, choose: () => "fix", limits: { rounds: 1 } }));
    expect(() => routed.output).toThrow(/\(1 route\)\.$/);
  });

  test("a choice that is none is refused, and the refusal is on record", async () => {
    const selector = new Selector({ choices: choices(), choose: () => "nobody" as never });
    const error = await selector.forward(testRath().session("Please.")).catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: "effect.failed",
      message: expect.stringMatching(/"nobody" is not one of the choices: fix, docs, done/),
    });
    expect(RathError.is(error) && [...(error.session?.events() ?? [])].at(-1)).toMatchObject({
      kind: "route.returned",
      facts: { outcome: "error" },
    });
  });

  test("a function that throws fails the choice, not the record", async () => {
    const selector = new Selector({
      choices: choices(),
      choose: () => {
        throw new Error("cannot decide");
      },
    });
    await expect(selector.forward(testRath().session())).rejects.toMatchObject({ code: "effect.failed", message: /cannot decide/ });
  });

  test("a routing model that answers nonsense is corrected, and fails when it goes on; its cost is kept", async () => {
    const nonsense = scripted(
      { output: { choice: "nobody" } },
      "not even JSON",
      (_, session): Reply => ({
        output: { choice: session.routes.length === 0 ? "fix" : "done" },
      }),
    );
    const done = await route(new Selector({ choices: choices(), choose: nonsense }));
    expect(done.routes.map(({ choice, reason }) => [choice, reason])).toEqual([
      ["fix", ""],
      ["done", ""],
    ]);
    expect(done.messages).toHaveLength(2);
    const never = new Selector({ choices: choices(), choose: scripted("a", "b", "c", "d") });
    const stopped = await route(never);
    expect(stopped.stop).toBe("invalid");
    expect(stopped.usage.input).toBeGreaterThan(0);
    expect(stopped.messages).toHaveLength(1);
    await expect(never.select(testRath().session("Please."))).rejects.toMatchObject({ code: "effect.failed" });
  });

  test("a routing model that fails says why", async () => {
    const model = attempts("m", [breaks(modelFailed("the key is wrong", { retryable: false }))]);
    const stopped = await new Selector({ choices: choices(), choose: model }).forward(testRath().session());
    expect(stopped.stop).toBe("error");
    expect(() => stopped.output).toThrow(/the key is wrong/);
  });

  test("a routing model that may not be asked, or is stopped, is how the Selector stops", async () => {
    const poor = await route(new Selector({ choices: choices(), choose: scripted("x"), limits: { tokens: 5 } }));
    expect(poor.stop).toBe("budget");
    const slow = new Selector({ choices: choices(), choose: scripted({ text: "x", delay: 2000 }) });
    const stream = slow.stream(testRath().session("Please."));
    setTimeout(() => void stream.cancel("enough"), 20);
    const stopped = await stream.result();
    expect(stopped.stop).toBe("cancelled");
    expect(String(await replay(stopped, slow))).toMatch(/^identical/);
  });

  // Mutant: what a receiver stopped with is asked of the session alone, which forgets it as soon as something is said.
  test.each([
    ["says something more", async (stopped: Session) => stopped.say("noted")],
    [
      "takes in what was done beside it",
      async (stopped: Session) =>
        stopped.merge(
          await stopped
            .at(1)
            .fork("side")
            .do("side", () => 1),
        ),
    ],
  ])("a receiver that %s after an agent stopped has stopped so", async (_, then) => {
    class Half extends Workflow {
      readonly description = "Says half.";
      readonly agent = new Agent({ model: scripted({ text: "half an ans", finish: "length" }) });
      async forward(session: Session): Promise<Session> {
        return then(await this.agent.forward(session));
      }
    }
    const stopped = await route(
      new Selector({ choices: { half: new Half() }, choose: ({ routes }) => (routes.length === 0 ? "half" : "done") }),
    );
    expect(stopped.stop).toBe("length");
    expect(() => stopped.output).toThrow();
  });

  test("select gives one choice and runs nothing", async () => {
    const chosen = await new Selector({ choices: choices(), choose: routing() }).select(testRath().session("Please."));
    expect(chosen.output).toEqual({ choice: "fix", reason: "route 0" });
    expect(chosen.routes).toHaveLength(1);
    expect(chosen.messages).toHaveLength(1);
    expect(chosen.usage.input).toBe(100);
  });

  test("is resumed in the middle of its choices without choosing again", async () => {
    const store = sharedStore();
    const seen: ModelRequest[] = [];
    let fixes = 0;
    const fixing = () => ({ text: "fixed", ...(++fixes === 1 ? { delay: 600_000 } : {}) });
    const team = new Selector({
      choices: { fix: worker("Fixes.", fixing), docs: choices().docs },
      choose: routing(seen),
    });
    const first = testRath({ store, workflows: { team } });
    const run = await first.run("team", first.session("Please."));
    for (let routed = false; !routed; routed = (await first.open(run.session)).routes.length === 1)
      await new Promise((resolve) => setTimeout(resolve, 2));
    await first.close();
    expect(seen).toHaveLength(1);
    await using second = testRath({ store, workflows: { team } });
    const done = await (await second.resume(run.id)).result();
    expect(done.routes.map(({ choice }) => choice)).toEqual(["fix", "docs", "done"]);
    expect(seen).toHaveLength(3);
    expect(done.usage.input - done.usage.own.input).toBe(300);
  });

  test("nests: a Selector is a workflow that can be chosen", async () => {
    const inner = new Selector({
      description: "Does all.",
      choices: choices(),
      choose: (session) => (session.text === "fixed" ? "done" : "fix"),
    });
    const outer = new Selector({ choices: { inner }, choose: (session) => (session.text === "fixed" ? "done" : "inner") });
    const done = await route(outer);
    expect(done.routes.map(({ choice }) => choice)).toEqual(["inner", "fix", "done", "done"]);
    expect([...done.events()].find(({ kind }) => kind === "model.called")?.by).toBe("workflow/inner/fix");
  });
});

describe("a Selector that cannot work is refused when it is made", () => {
  const mute = new Agent({ model: scripted() });
  const bad: readonly [string, SelectorOptions<never>, RegExp][] = [
    ["no choices", { choices: {} as never, choose: (() => "done") as never }, /needs choices/],
    ["a choice without description", { choices: { mute } as never, choose: (() => "done") as never }, /"mute" has no description/],
    ["a choice named done", { choices: { done: worker("x") } as never, choose: (() => "done") as never }, /cannot be named "done"/],
    ["a choice that is no workflow", { choices: { a: { description: "x" } } as never, choose: (() => "done") as never }, /is no workflow/],
    // Mutant: what is no model is asked.
    ["a number that chooses", { choices: { a: worker("x") } as never, choose: 5 as never }, /needs choose/],
    ["nobody who chooses", { choices: { a: worker("x") } as never, choose: undefined as never }, /needs choose/],
  ];
  test.each(bad)("%s", (_, options, message) => {
    expect(() => new Selector(options)).toThrow(message);
  });
});
