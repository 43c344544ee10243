import { describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { composeRath } from "../openrath.ts";
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store, Write } from "../store/store.ts";
import { Workflow } from "../workflow/workflow.ts";
import { runtimeOf } from "./replay.ts";

const quick = { times: { parkGraceMs: 1, closeMs: 50 } };

function rathOn(store: Store = memoryStore()) {
  return composeRath({ store, implicitForks: "allow" }, quick);
}

/** A store that says what was written and when. */
function watched(store: Store, onAppend: (write: Write) => void): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "append")
        return (write: Write) => {
          onAppend(write);
          return target.append(write);
        };
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function kinds(session: Session): string[] {
  return [...session.events()].map((event) => event.kind);
}

describe("an effect", () => {
  test("records what is asked and what it returned, and hands over the frozen recorded value", async () => {
    await using rath = rathOn();
    const given = { n: 1, list: [1, undefined, -0] };
    const session = await rath.session("go").do("count", () => given, { repeat: "safe", input: { a: 1 } });
    expect(kinds(session)).toEqual(["session.created", "message.added", "do.called", "do.returned"]);
    expect(session.output).toEqual(given);
    expect(session.output).not.toBe(given);
    expect(Object.isFrozen(session.output.list)).toBe(true);
  });

  test("that may not be repeated is on disk before it starts; a safe one is not waited for", async () => {
    const order: string[] = [];
    const store = watched(memoryStore(), (write) =>
      order.push(
        `write ${write.branches.flatMap((branch) => branch.events.map((event) => JSON.parse(Buffer.from(event.envelope).toString()).kind as string)).join(" ")}`,
      ),
    );
    await using rath = composeRath({ store }, quick);
    const safe = await rath.session().do("look", () => order.push("look"), { repeat: "safe" });
    await safe.do("pay", () => order.push("pay"));
    expect(order[0]).toBe("look");
    const before = order.slice(0, order.indexOf("pay")).join(" ");
    expect(before.match(/do\.called/g)).toHaveLength(2);
    expect(before).toContain("do.returned");
  });

  test("failing rejects with an error that carries the session after the failure", async () => {
    await using rath = rathOn();
    const start = rath.session("go");
    const error = await start.do("break", () => Promise.reject(new TypeError("no"))).catch((caught: unknown) => caught);
    expect(RathError.is(error, "effect.failed")).toBe(true);
    const after = (error as RathError).session as Session;
    expect(after.status).toBe("failed");
    expect(() => after.output).toThrow(/ended as "error"/);
    const next = await after.do("mend", () => "ok");
    expect(kinds(next).filter((kind) => kind.endsWith("returned"))).toHaveLength(2);
    expect(next.status).toBe("idle");
  });

  test("a caught failure keeps its cost; without the session in the error it would be lost", async () => {
    await using rath = rathOn();
    const go = async (mutant: boolean): Promise<Session> => {
      const session = rath.session("go");
      try {
        return await session.do("f", () => Promise.reject(new Error("no")));
      } catch (error) {
        return (mutant ? session : ((error as RathError).session as Session)).do("g", () => 1);
      }
    };
    const failures = (session: Session): number => [...session.events()].filter((event) => event.facts.outcome === "error").length;
    expect(failures(await go(false))).toBe(1);
    expect(failures(await go(true))).toBe(0);
  });

  test("a check that throws has failed and does not reject", async () => {
    await using rath = rathOn();
    const session = await rath.session().check("tests", () => Promise.reject(new Error("red")));
    expect(session.checks).toMatchObject([{ name: "tests", passed: false, reason: "red" }]);
    const scored = await session.check("speed", () => ({ passed: true, score: 0.5, reason: "fine" }));
    expect(scored.checks.at(-1)).toMatchObject({ passed: true, score: 0.5, reason: "fine" });
  });

  test("inner effects go to a child session whose head is a further parent of the result", async () => {
    await using rath = rathOn();
    const outer = await rath.session().do("outer", async ({ session }) => (await session.do("inner", () => 2)).output);
    expect(outer.output).toBe(2);
    const returned = [...outer.events()].at(-1);
    expect(returned?.parents).toHaveLength(2);
    expect(new Set([...outer.events()].map((event) => event.session)).size).toBe(2);
  });

  test("refuses verbs on a value from outside, and forks of it belong to the effect", async () => {
    await using rath = rathOn();
    const start = rath.session("go");
    const caught = await start.do("x", async () => start.say("from inside")).catch((error: unknown) => error);
    expect((caught as RathError).message).toContain("comes from outside");
    const forked = await start.do("y", () => start.fork("a").id !== start.id);
    expect(forked.output).toBe(true);
  });

  test("the key is the id of its call, the signal is aborted when the run ends", async () => {
    await using rath = rathOn();
    let aborted: AbortSignal | undefined;
    const flow = new Flow(async (session) => {
      void session.fork("slow").do(
        "slow",
        ({ signal }) => {
          aborted = signal;
          return new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
        { repeat: "safe" },
      );
      return session.fork("fast").do("fast", async ({ key }) => key);
    });
    const done = await flow.forward(rath.session());
    expect(aborted?.aborted).toBe(true);
    expect([...done.events()].some((event) => event.id === done.output)).toBe(true);
  });
});

describe("a batch", () => {
  /** Each returns after the one behind it. */
  const effects = (names: readonly string[]) => {
    const done = names.map(() => deferred());
    return names.map((name, index) => ({
      op: "do" as const,
      called: { name, repeat: "safe" },
      repeat: "safe" as const,
      run: async () => {
        await done[index + 1]?.promise;
        setTimeout(() => done[index]?.resolve(), 5);
        return name;
      },
    }));
  };

  test("has its calls in order, its results as they come, and continues after the last", async () => {
    await using rath = rathOn();
    const start = rath.session();
    const after = await runtimeOf(start).performAll(start, effects(["a", "b", "c"]));
    expect(kinds(after)).toEqual(["session.created", "do.called", "do.called", "do.called", "do.returned", "do.returned", "do.returned"]);
    const events = [...after.events()];
    const called = events.filter((event) => event.kind === "do.called").map((event) => event.id);
    expect(events.filter((event) => event.kind === "do.returned").map((event) => called.indexOf(event.facts.call as string))).toEqual([
      2, 1, 0,
    ]);
    expect(after.pending).toEqual([]);
  });

  test("accepts nothing but its own results while it is open", async () => {
    await using rath = rathOn();
    const start = await rath.session().do("first", () => 1);
    const batch = runtimeOf(start).performAll(start, effects(["a", "b"]));
    const meanwhile = await start.do("other", () => 2);
    const after = await batch;
    expect(meanwhile.lineage).toMatchObject({ kind: "fork", implicit: true });
    expect(after.id).toBe(start.id);
  });
});

describe("questions and timers outside a run", () => {
  test("ask waits for decide and gives the answer; the second answer is refused", async () => {
    await using rath = rathOn();
    const asking = rath.session().ask("Which colour?");
    const pending = await until(async () => (await rath.pending())[0]);
    expect(pending).toMatchObject({ kind: "question", question: "Which colour?" });
    await expect(rath.decide(pending.id, { by: "human:ada", answer: 7 })).rejects.toMatchObject({ code: "pending.invalid-answer" });
    await rath.decide(pending.id, { by: "human:ada", answer: "blue" });
    expect((await asking).output).toBe("blue");
    await expect(rath.decide(pending.id, { by: "human:bob", answer: "red" })).rejects.toMatchObject({ code: "pending.answered" });
    await expect(rath.decide("f".repeat(64), { by: "human:bob", answer: "red" })).rejects.toMatchObject({ code: "pending.not-found" });
  });

  test("a question expires at its time", async () => {
    await using rath = rathOn();
    const asked = rath.session().ask("Now?", { type: "object" }, { expires: "30ms" });
    await expect(asked).rejects.toMatchObject({ code: "effect.expired" });
  });

  test("wait resolves after its time and keeps the output", async () => {
    await using rath = rathOn();
    const before = await rath.session().do("x", () => 5);
    const after = await before.wait("40ms");
    const [called, returned] = [...after.events()].slice(-2).map((event) => Date.parse(event.at));
    // Timers count on another clock than dates and may be a millisecond early by it.
    expect((returned as number) - (called as number)).toBeGreaterThanOrEqual(39);
    expect(after.output).toBe(5);
  });
});

describe("the shape of a workflow", () => {
  test("a class field named forward fails at construction; returning no session is an error", async () => {
    class Field extends Workflow {
      override forward = async (session: Session) => session;
    }
    expect(() => new Field()).toThrow();
    await using rath = rathOn();
    await expect(new Flow(async () => 5 as never).forward(rath.session())).rejects.toMatchObject({ code: "workflow.invalid" });
  });

  test("entering and leaving are events, nested ones extend the path of who acts", async () => {
    await using rath = rathOn();
    const inner = Object.assign(new Flow((session) => session.do("x", () => 1)), { name: "inner" });
    const outer = Object.assign(new Flow((session) => inner.forward(session)), { name: "outer" });
    const done = await outer.forward(rath.session());
    expect([...done.events()].filter((event) => event.kind === "do.called").map((event) => event.by)).toEqual(["outer/inner"]);
    expect(kinds(done).filter((kind) => kind.startsWith("workflow."))).toEqual([
      "workflow.entered",
      "workflow.entered",
      "workflow.left",
      "workflow.left",
    ]);
  });

  test("the result keeps the id that was given, adopting the winning fork", async () => {
    await using rath = rathOn();
    const start = rath.session("go");
    const done = await new Flow(async (session) => {
      const [a, b] = await Promise.all(["a", "b"].map((label) => session.fork(label).do(label, () => label)));
      (b as Session).reject("slower");
      return a as Session;
    }).forward(start);
    expect(done.id).toBe(start.id);
    expect(done.output).toBe("a");
    expect(done.lineage.kind).toBe("merge");
  });
});

async function until<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const value = await read();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
