/** The fault tests must be able to fail: each broken runtime here is caught by the law it breaks. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Delivery } from "../../src/runtime/delivery.ts";
import { Execution } from "../../src/runtime/execution.ts";
import { Recorded } from "../../src/runtime/recorded.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import type { Scope } from "../../src/session/id.ts";
import type { Node } from "../../src/session/log.ts";
import type { Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { Flow } from "../support/flow.ts";
import { until } from "../support/other-process.ts";
import { killEverywhere } from "./kill.ts";
import { programs } from "./program.ts";
import { Life, rathOf } from "./world.ts";

/** Replaces a method for the time of a test. */
async function mutated<T extends object, K extends keyof T, R>(
  prototype: T,
  name: K,
  broken: (original: T[K]) => T[K],
  run: () => Promise<R>,
): Promise<R> {
  const original = prototype[name];
  prototype[name] = broken(original);
  try {
    return await run();
  } finally {
    prototype[name] = original;
  }
}

/** True if some generated program breaks the law. */
async function isCaught(races: boolean): Promise<boolean> {
  const result = await fc.check(
    fc.asyncProperty(programs({ races }), async (program) => {
      await killEverywhere(program, races, 1500);
    }),
    { numRuns: 300, endOnFailure: true },
  );
  return result.failed;
}

describe("a runtime that", { timeout: 120_000 }, () => {
  test("delivers without order is caught", async () => {
    expect(
      await mutated(
        Delivery.prototype,
        "handOver",
        () => async () => {},
        () => isCaught(true),
      ),
    ).toBe(true);
  });

  test("opens the gate too early runs what a changed program asks for: the gate does not", async () => {
    expect(await anotherWay()).toEqual([]);
    expect(await mutated(Execution.prototype, "gate", () => () => undefined, anotherWay)).toEqual(["another"]);
  });

  test("starts once effects before their call is on disk is caught", async () => {
    const broken = (original: Runtime["perform"]): Runtime["perform"] =>
      function (this: Runtime, session, effect) {
        return original.call(this, session, { ...effect, repeat: "safe" });
      };
    expect(await mutated(Runtime.prototype, "perform", broken, () => isCaught(false))).toBe(true);
  });

  test("does not count skipped inner work as done is caught", async () => {
    expect(
      await mutated(
        Recorded.prototype,
        "skipInside",
        () => () => {},
        () => isCaught(false),
      ),
    ).toBe(true);
  });
});

/** Dies after one effect; the program that resumes asks for another one. What that one did. */
async function anotherWay(): Promise<string[]> {
  const store = memoryStore();
  const ran: string[] = [];
  const mortal = rathOf(store, new Life());
  let begun = false;
  const two = (): Promise<never> => {
    begun = true;
    return new Promise(() => {});
  };
  const started = await mortal.run(new Flow(async (session) => (await session.do("one", () => 1)).do("two", two)), mortal.session("go"), {
    key: "k",
  });
  await until("the second effect", () => begun);
  void mortal.close();
  const other = new Flow((session) => session.do("another", () => ran.push("another")));
  const heir = rathOf(store, new Life(), { workflows: { flow: other } });
  await (await heir.resume(started.id)).settle();
  await heir.close();
  return ran.map(() => "another");
}

/** Forks of one value inside an effect, then a fork of it outside with the same label. */
class Forking extends Workflow {
  readonly name = "forking";
  readonly #life: Life;
  readonly #world: string[];
  constructor(life: Life, world: string[]) {
    super();
    this.#life = life;
    this.#world = world;
  }
  async forward(session: Session): Promise<Session> {
    const start = await session.do("start", () => 1, { repeat: "safe" });
    const forkTwice = (): number => {
      start.fork("a");
      start.fork("a");
      return 1;
    };
    const inside = await start.fork("in").do("inner", forkTwice, { repeat: "once" });
    const outside = await start.fork("a").do("outer", async () => {
      this.#world.push("outer");
      await this.#life.point();
      return inside.output;
    });
    return outside.do("last", () => 2);
  }
}

async function forksOutside(): Promise<{ readonly calls: number; readonly status: string }> {
  const store = memoryStore();
  const world: string[] = [];
  const first = new Life();
  const mortal = rathOf(store, first);
  // Dies after "outer" returned and was written: at the next commit.
  const run = await mortal.run(new Forking(first, world), mortal.session("go"), { key: "k" });
  await run.settle();
  const points = first.points;
  let calls = 0;
  let status = "";
  for (let point = 0; point < points; point++) {
    const fresh = memoryStore();
    const seen: string[] = [];
    const life = new Life(point);
    const dying = rathOf(fresh, life);
    await life.sees(dying.run(new Forking(life, seen), dying.session("go"), { key: "k" }).then((started) => started.settle()));
    void dying.close();
    const heir = rathOf(fresh, new Life());
    const again = await heir.run(new Forking(new Life(), seen), heir.session("go"), { key: "k" });
    let settled = await again.settle();
    for (let tries = 0; settled.status === "waiting" && settled.diverged === undefined && tries < 5; tries++) {
      for (const pending of settled.pending) {
        const happened = pending.kind === "unknown" && pending.op === "outer" && seen.length > 0;
        await heir.decide(pending.id, { by: "t", outcome: happened ? { type: "ok", value: 1 } : "run-again" });
      }
      settled = await again.settle();
    }
    calls = Math.max(calls, seen.length);
    if (settled.status !== "done") status = settled.status;
    await heir.close();
  }
  return { calls, status };
}

describe("forks inside a finished effect", { timeout: 60_000 }, () => {
  test("do not shift the names of forks outside it", async () => {
    expect(await forksOutside()).toEqual({ calls: 1, status: "" });
  });

  test("would, if ordinals had no scope", async () => {
    const broken = (original: Execution["ordinal"]): Execution["ordinal"] =>
      function (this: Execution, head: Node, _scope: Scope, name: string) {
        return original.call(this, head, { run: "any" }, name);
      };
    const { status } = await mutated(Execution.prototype, "ordinal", broken, forksOutside);
    expect(status).not.toBe("");
  });
});
