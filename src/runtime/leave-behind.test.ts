/** A run that somebody let go on with other code: it goes on that way whoever executes it, waits, dies and is replayed. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { until } from "../../test/support/other-process.ts";
import { recorded } from "../../test/support/said.ts";
import { Agent } from "../agent/agent.ts";
import { verify } from "../audit/audit.ts";
import type { ModelLike } from "../model/model.ts";
import { composeRath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { Workflow } from "../workflow/workflow.ts";
import { machine } from "../workspace/machine.ts";
import type { Rath } from "./rath.ts";
import { replay } from "./replay.ts";

let processes = 0;

/** Another process, as far as leases go: the one before is dead. */
function process(store: Store, workflow: Workflow): Rath {
  const worker = `${machine()}:${1_997_000_000 + processes++}:t`;
  const times = { parkGraceMs: 1, stillResumeMs: 100, stillReplayMs: 100 };
  return composeRath({ store, workflows: { order: workflow }, implicitForks: "allow" }, { worker, times });
}

class Order extends Workflow {
  readonly name = "order";
  readonly units: string;
  readonly work: (session: Session, units: string) => Promise<Session>;
  constructor(units: string, work: Order["work"]) {
    super();
    this.units = units;
    this.work = work;
  }
  forward(session: Session): Promise<Session> {
    return this.work(session, this.units);
  }
}

let shipped: string[] = [];

/** Quotes, asks a person and ships. */
const asking: Order["work"] = async (session, units) => {
  const quoted = await session.do("quote", () => units, { repeat: "safe", input: units });
  const asked = await quoted.ask("Ship it?");
  return asked.do("ship", () => shipped.push(`${units} ${String(asked.output)}`), { repeat: "safe", input: units });
};

async function answered(rath: Rath, answer = "yes"): Promise<void> {
  for (const { id } of await rath.pending()) await rath.decide(id, { answer, by: "human:ada" });
}

async function started(store: Store, work: Order["work"] = asking): Promise<string> {
  const rath = process(store, new Order("old", work));
  const run = await rath.run("order", rath.session("x"));
  await run.settle();
  return run.id;
}

describe("a run that goes on with other code", () => {
  for (const how of ["in the same process", "in another process", "in another process that is told so again"] as const)
    test(`waits, is answered and goes on ${how}`, async () => {
      shipped = [];
      const store = memoryStore();
      const id = await started(store);
      const workflow = new Order("new", asking);
      const first = process(store, workflow);
      const run = await first.resume(id, { onDivergence: "fork" });
      expect(await run.settle()).toMatchObject({ status: "waiting", pending: [{ kind: "question" }] });
      const goesOn = how === "in the same process" ? first : process(store, workflow);
      // What was asked with the old code is not asked any more.
      expect(await goesOn.pending()).toHaveLength(1);
      await answered(goesOn);
      const again = goesOn === first ? run : await goesOn.resume(id, how.endsWith("again") ? { onDivergence: "fork" } : {});
      const session = await again.result();
      expect(shipped).toEqual(["new yes"]);
      expect(session.status).not.toBe("waiting");
      expect(session.pending).toEqual([]);
      expect(await replay(session, workflow)).toMatchObject({ identical: true });
      expect((await verify(session)).problems).toEqual([]);
      expect(await replay(session, new Order("old", asking))).toMatchObject({ identical: false });
    });

  test("goes on with it after its process died behind the fork", async () => {
    const store = memoryStore();
    const id = await started(store);
    const dying: Order["work"] = async (session, units) => {
      const quoted = await session.do("quote", () => units, { repeat: "safe", input: units });
      return quoted.do("never", () => new Promise(() => {}), { repeat: "safe" });
    };
    await process(store, new Order("new", dying)).resume(id, { onDivergence: "fork" });
    // The old quote, the new one, and what it dies in.
    await until("what it dies in", async () => (await recorded(store, "do.called")) === 3);
    shipped = [];
    const rath = process(
      store,
      new Order("new", async (session, units) => {
        const quoted = await session.do("quote", () => units, { repeat: "safe", input: units });
        return quoted.do("never", () => shipped.push(units), { repeat: "safe" });
      }),
    );
    const session = await (await rath.resume(id)).result();
    expect(shipped).toEqual(["new"]);
    expect(session.output).toBe(1);
  });

  // Mutants: what is waited for is left behind too; its order is not kept out of the record.
  test("receives what it asked for again and was recorded after something that is left behind", async () => {
    const store = memoryStore();
    const ran: string[] = [];
    const both: Order["work"] = async (session, units) => {
      const slow = session.fork("slow").do("slow", () => sleep(30).then(() => ran.push("slow")), { repeat: "safe" });
      const quick = session.fork("quick").do("quick", () => ran.push(units), { repeat: "safe", input: units });
      const merged = await (await slow).merge(await quick);
      return merged.ask("Done?");
    };
    const id = await started(store, both);
    const workflow = new Order("new", both);
    const run = await process(store, workflow).resume(id, { onDivergence: "fork" });
    expect(await run.settle()).toMatchObject({ status: "waiting", pending: [{ kind: "question" }] });
    expect(ran).toEqual(["old", "slow", "new"]);
    const last = process(store, workflow);
    expect(await last.pending()).toHaveLength(1);
    await answered(last);
    const session = await (await last.resume(id)).result();
    expect(session.output).toBe("yes");
    expect(ran).toHaveLength(3);
    expect(await replay(session, workflow)).toMatchObject({ identical: true });
  });

  test("may be let go on with other code a second time, and results of both ways before are reused", async () => {
    const store = memoryStore();
    const ran: string[] = [];
    const work =
      (steps: readonly string[]): Order["work"] =>
      async (session) => {
        let current = session;
        for (const step of steps) current = await current.do(step, () => ran.push(step), { repeat: "safe", input: step });
        return current.ask("Done?");
      };
    const id = await started(store, work(["a", "b"]));
    for (const steps of [
      ["b", "c"],
      ["c", "a", "b", "d"],
    ]) {
      const run = await process(store, new Order("x", work(steps))).resume(id, { onDivergence: "fork" });
      expect(await run.settle()).toMatchObject({ status: "waiting", pending: [{ kind: "question" }] });
    }
    expect(ran).toEqual(["a", "b", "c", "d"]);
    const last = process(store, new Order("x", work(["c", "a", "b", "d"])));
    await answered(last);
    expect((await (await last.resume(id)).result()).output).toBe("yes");
  });
});

describe("a call of which nobody knows what became", () => {
  const paying =
    (paid: string[], note: string): Order["work"] =>
    async (session) => {
      const noted = await session.do("note", () => note, { repeat: "safe", input: note });
      return noted.do("pay", () => void paid.push(note), { repeat: "once", input: { eur: 12 } });
    };

  async function interrupted(store: Store): Promise<string> {
    let begun = false;
    const pay = (): Promise<never> => {
      begun = true;
      return new Promise(() => {});
    };
    const dead = process(
      store,
      new Order("x", async (session) => {
        const noted = await session.do("note", () => "old", { repeat: "safe", input: "old" });
        return noted.do("pay", pay, { repeat: "once", input: { eur: 12 } });
      }),
    );
    const run = await dead.run("order", dead.session("x"));
    await until("the payment", () => begun);
    return run.id;
  }

  test("stays unknown for other code that makes the same call", async () => {
    const store = memoryStore();
    const id = await interrupted(store);
    const paid: string[] = [];
    const workflow = new Order("x", paying(paid, "new"));
    for (const options of [{ onDivergence: "fork" } as const, {}]) {
      const run = await process(store, workflow).resume(id, options);
      expect(await run.settle()).toMatchObject({ status: "waiting", pending: [{ kind: "unknown" }] });
    }
    const rath = process(store, workflow);
    const pending = await rath.pending();
    expect(pending).toMatchObject([{ kind: "unknown" }]);
    await rath.decide(pending[0]?.id as string, { outcome: { type: "ok", value: "paid before" }, by: "human:ada" });
    const session = await (await rath.resume(id)).result();
    expect({ output: session.output, paid }).toEqual({ output: "paid before", paid: [] });
    expect(session.pending).toEqual([]);
  });

  test("is made again only when a person says so", async () => {
    const store = memoryStore();
    const id = await interrupted(store);
    const paid: string[] = [];
    const rath = process(store, new Order("x", paying(paid, "new")));
    const run = await rath.resume(id, { onDivergence: "fork" });
    await run.settle();
    for (const pending of await rath.pending()) await rath.decide(pending.id, { outcome: "run-again", by: "human:ada" });
    await run.result();
    expect(paid).toEqual(["new"]);
  });
});

// A call may cost 50 and what it reads, about 150 in all. What was left behind has cost 160.
test.each([
  ["at once", 370, 3, 3],
  ["also when it is taken up once more", 450, 4, 4],
])("what was spent on what it left behind counts for its limits, %s", async (_when, tokens, atFirst, inAll) => {
  const store = memoryStore();
  const usage = { input: 40, output: 40, cached: 0, cacheWrite: 0, reasoning: 0 };
  let asked = 0;
  const model: ModelLike = {
    id: "counted",
    stream: async function* () {
      asked++;
      yield { type: "reply", reply: { parts: [{ type: "text", text: "hi" }], finish: "stop", usage } };
    },
  };
  const agent = new Agent({ name: "a", model, settings: { maxOutputTokens: 50 } });
  const asks: Order["work"] = async (session, units) => {
    const twice = await agent.forward((await agent.forward(session.say(`${units} one`))).say(`${units} two`));
    return agent.forward((await twice.ask("Go on?")).say(`${units} three`));
  };
  const first = process(store, new Order("old", asks));
  const run = await first.run("order", first.session("x"), { limits: { tokens } });
  expect((await run.settle()).status).toBe("waiting");
  const other = process(store, new Order("new", asks));
  expect((await (await other.resume(run.id, { onDivergence: "fork" })).settle()).status).toBe("waiting");
  expect(asked).toBe(atFirst);
  const third = process(store, new Order("new", asks));
  await answered(third);
  const { session } = await (await third.resume(run.id)).settle();
  expect([asked, session.stop]).toEqual([inAll, "budget"]);
});
