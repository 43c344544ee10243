/** A run's record is what its program made: what others had not saved is stored with it, and is not asked for when it is executed again. */
import { afterEach, describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { cut, doomed, never, process, stopped, until, working } from "../../test/support/processes.ts";
import { begun, recorded } from "../../test/support/said.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { memoryStore } from "../store/memory.ts";
import type { Rath } from "./rath.ts";
import { replay, runtimeOf } from "./replay.ts";
import { runBehind } from "./run-record.ts";

afterEach(stopped);

const end = async (rath: Rath, flow: Flow, input: Session, how: string): Promise<Session> =>
  how === "forward" ? flow.forward(input) : (await rath.run(flow, input)).result();

/** The steps that came out otherwise when a run is executed again by another process. */
async function otherwise(rath: Rath, done: Session, flow: Flow): Promise<readonly string[]> {
  const { steps, identical } = await replay((await rath.open(done.id)).at(done.head), flow);
  const found = steps.filter(({ result }) => result !== "same" && result !== "nested").map(({ kind, result }) => `${kind} ${result}`);
  return identical ? found : ["not identical", ...found];
}

async function begin() {
  const store = memoryStore();
  const rath = process(store);
  return { store, rath, base: await rath.save(rath.session("begin")) };
}

const hows = ["forward", "run"];

describe("a replay is identical", () => {
  const drafts: Readonly<Record<string, (base: Session) => Session>> = {
    "something said": (base) => base.say("draft"),
    "a fork": (base) => base.fork("try").say("draft"),
    "a detached session": (base) => base.detach().say("draft"),
  };

  test.each(Object.keys(drafts).flatMap((name) => hows.map((how) => [name, how] as const)))(
    "when the input was detached from %s that nobody had saved, by %s (mutant: whatever is no ancestor by parents is the program's)",
    async (name, how) => {
      const { store, rath, base } = await begin();
      const flow = new Flow(async (at) => (await at.do("one", () => 1)).say("end"));
      const done = await end(rath, flow, (drafts[name] as (base: Session) => Session)(base).detach().say("go"), how);
      expect(await otherwise(process(store), done, flow)).toEqual([]);
    },
  );

  test.each(Object.keys(drafts).flatMap((name) => hows.map((how) => [name, how] as const)))(
    "when %s that nobody had saved was merged, by %s (mutant: whatever follows the input is the program's)",
    async (name, how) => {
      const { rath, base } = await begin();
      const other = (drafts[name] as (base: Session) => Session)(base);
      const flow = new Flow(async (at) => (await at.say("mine").merge(other)).do("one", () => 1));
      expect(await otherwise(rath, await end(rath, flow, base, how), flow)).toEqual([]);
    },
  );

  test.each(hows)(
    "when what was merged had become a fork, since somebody else had continued it, by %s (mutant: a fork with the run's scope is the program's)",
    async (how) => {
      const { here, id, more } = await begun();
      const other = (await here.open(id)).say("held");
      await more("elsewhere");
      const flow = new Flow(async (at) => (await at.say("mine").merge(other)).do("one", () => 1));
      const done = await end(here, flow, here.session("go"), how);
      expect(await otherwise(here, done, flow)).toEqual([]);
    },
  );

  test.each(hows)(
    "when what was said after another run on the same session was merged, by %s (mutant: any entering of a workflow is the run's)",
    async (how) => {
      const { rath, base } = await begin();
      const first = await new Flow((at) => at.do("first", () => 1), "first").forward(base.fork("a"));
      const other = first.say("draft");
      const flow = new Flow(async (at) => (await at.say("mine").merge(other)).do("one", () => 1));
      expect(await otherwise(rath, await end(rath, flow, base, how), flow)).toEqual([]);
    },
  );

  const pasts: Readonly<Record<string, (past: Session) => Session>> = {
    it: (past) => past,
    "a fork of it": (past) => past.fork("past"),
    "a detached session of it": (past) => past.detach(),
    "the second one detached from it": (past) => [past.detach(), past.detach()].at(-1) as Session,
  };

  test.each(Object.keys(pasts).flatMap((name) => ["a program", "an effect"].map((where) => [where, name] as const)))(
    "when %s went on from before its input with %s, and it is resumed without doing that again (mutant: what does not go back to the entering is others')",
    async (where, name) => {
      const { store, rath, base } = await begin();
      const done: string[] = [];
      const past = (session: Session): Promise<Session> =>
        (pasts[name] as (past: Session) => Session)(session.at(1)).do("past", () => done.push("past"));
      let isAlive = true;
      const waits = async (): Promise<void> => {
        done.push("waits");
        if (isAlive) await never();
      };
      const flow = new Flow(async (at) => {
        if (where === "a program") {
          await past(at);
          return at.do("waits", waits, { repeat: "safe" });
        }
        return at.do(
          "outer",
          async ({ session }) => (await past(session)).step + (await session.do("waits", waits, { repeat: "safe" })).step,
          {
            repeat: "nested",
          },
        );
      });
      const life = cut(store);
      doomed(life.store, { workflows: { flow } });
      const run = await rath.run("flow", base, { queue: true });
      await until(async () => done.includes("waits") && (await recorded(store, "do.returned")) > 0, "it waits, and its past is on record");
      life.cut();
      isAlive = false;
      const heir = process(store, { workflows: { flow } });
      working(heir);
      const ended = await (await heir.attach(run.id)).result();
      expect(done).toEqual(["past", "waits", "waits"]);
      expect(await otherwise(heir, ended, flow)).toEqual([]);
    },
  );

  test("when others forked what the program handed out, and it merged that (mutant: a fork by another run is the program's)", async () => {
    const { rath, base } = await begin();
    let handOut = (_: Session): void => {};
    const handed = new Promise<Session>((resolve) => {
      handOut = resolve;
    });
    let give = (_: Session): void => {};
    const given = new Promise<Session>((resolve) => {
      give = resolve;
    });
    const flow = new Flow(async (at) => {
      const one = await at.do("one", () => 1);
      handOut(one);
      return one.say("mine").merge(await given);
    });
    const run = await rath.run(flow, base);
    give((await handed).fork("other").say("draft"));
    expect(await otherwise(rath, await run.result(), flow)).toEqual([]);
  });

  test("when it merged what another run had only entered (mutant: what was stored under the run's id is where it was entered)", async () => {
    const { rath, base } = await begin();
    let handOut = (_: Session): void => {};
    const handed = new Promise<Session>((resolve) => {
      handOut = resolve;
    });
    let goOn = (): void => {};
    const later = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const other = new Flow(async (at) => {
      handOut(at.say("draft"));
      await later;
      return at;
    }, "other");
    const others = other.forward(base.fork("a"));
    const given = await handed;
    const flow = new Flow(async (at) => (await at.say("mine").merge(given)).do("one", () => 1));
    const done = await (await rath.run(flow, base)).result();
    goOn();
    await others;
    expect(await otherwise(rath, done, flow)).toEqual([]);
  });
});

describe("the record of a run", () => {
  const busy = new Flow(async (at) => {
    const line = await at
      .detach()
      .say("a new line")
      .do("in a line", () => 1);
    const side = await at.fork("side").do("on a side", () => 2);
    const nested = await at.do("outer", async ({ session }) => {
      await session.fork("inner").do("inside", () => 3);
      return 4;
    });
    return nested.merge([line, side]);
  });

  test.each(hows)(
    "holds the forks, detached lines and inner work of its program, by %s (mutant: detached lines are left out)",
    async (how) => {
      const { store, rath, base } = await begin();
      const done = await end(rath, busy, base.say("go"), how);
      const { program } = await runBehind(runtimeOf(done), placeOf(done).node);
      expect(program.filter(({ kind }) => kind === "do.called")).toHaveLength(4);
      expect(program.filter(({ kind }) => kind === "session.detached")).toHaveLength(1);
      expect(await otherwise(process(store), done, busy)).toEqual([]);
    },
  );

  test.each(hows)(
    "holds the fork that it began on, where its input had been continued elsewhere, by %s (mutant: it begins where it was entered)",
    async (how) => {
      const { here, there, id, more } = await begun();
      const input = await here.open(id);
      await more("elsewhere");
      const done = await end(here, busy, input, how);
      expect(await otherwise(there, done, busy)).toEqual([]);
    },
  );

  test("is known by its id where it was erased that it was entered (mutant: only what the entering says counts)", async () => {
    const { store, rath, base } = await begin();
    const done = await busy.forward(base);
    const { program } = await runBehind(runtimeOf(done), placeOf(done).node);
    const entered = program.find(({ kind }) => kind === "workflow.entered")?.id ?? "";
    await rath.erase({ events: [entered] }, { by: "human:ada", reason: "asked to" });
    const erased = replay((await process(store).open(done.id)).at(done.head), busy);
    await expect(erased).rejects.toMatchObject({ code: "event.erased", details: { event: entered } });
  });
});

test("a run goes on in another process though its input was detached from what nobody had saved (mutant: that is waited for)", async () => {
  const { store, rath, base } = await begin();
  let calls = 0;
  const flow = (then: () => Promise<unknown>): Flow =>
    new Flow(async (at) => {
      const one = await at.do("one", () => ++calls);
      await then();
      return one.say("end");
    });
  const life = cut(store);
  const run = await rath.run("flow", base.fork("try").say("draft").detach().say("go"), { queue: true });
  doomed(life.store, { workflows: { flow: flow(never) } });
  await until(async () => (await recorded(store, "do.returned")) === 1, "the effect ran");
  life.cut();
  working(process(store, { workflows: { flow: flow(async () => {}) } }));
  expect(await run.settle()).toMatchObject({ status: "done" });
  expect(calls).toBe(1);
});
