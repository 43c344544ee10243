/** What was asked of a run is heeded, whichever process it was asked in and whatever the run was doing just then. */
import { expect, test } from "vitest";
import { composeRath } from "../../src/openrath.ts";
import type { RathOptions } from "../../src/rath-options.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { WorkOptions } from "../../src/runtime/worker.ts";
import type { Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { Flow } from "../support/flow.ts";

let processes = 0;

/** Somebody else's: closing a Rath on it leaves it open. `changes` replaces what it does. */
function shared(store: Store, changes: Partial<Store> = {}): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === Symbol.asyncDispose) return async () => {};
      if (Object.hasOwn(changes, name)) return changes[name as keyof Store];
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function process(store: Store, options: RathOptions = {}, times: object = {}): Rath {
  return composeRath(
    { implicitForks: "allow", ...options, store },
    // Of another machine: nobody here can say that it is dead.
    { worker: `elsewhere:${1_997_000_000 + processes++}:t`, times: { parkGraceMs: 1, closeMs: 50, lookMs: 20, ...times } },
  );
}

/** Works until it is disposed. */
function working(rath: Rath, options: WorkOptions = {}): AsyncDisposable & { readonly done: Promise<void> } {
  const stop = new AbortController();
  const done = rath.work({ ...options, signal: stop.signal, drain: "50ms" });
  return {
    done,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await done;
    },
  };
}

const asking = (name = "flow") => new Flow((session) => session.ask("go on?"), name);

test("aborting its signal cancels a run that is parked", async () => {
  await using rath = process(shared(memoryStore()));
  const stop = new AbortController();
  const run = await rath.run(asking(), rath.session("go"), { signal: stop.signal });
  expect((await run.settle()).status).toBe("waiting");
  stop.abort(new Error("enough"));
  await expect(run.result()).rejects.toMatchObject({ code: "run.cancelled" });
});

test("aborting its signal cancels a run that was parked and goes on", async () => {
  await using rath = process(shared(memoryStore()));
  const stop = new AbortController();
  const flow = new Flow(async (session) => (await session.ask("one?")).ask("two?"));
  const run = await rath.run(flow, rath.session("go"), { signal: stop.signal });
  await run.settle();
  const [one] = await rath.pending();
  await rath.decide(one?.id as string, { by: "ada", answer: "yes" });
  await expect.poll(async () => (await rath.pending()).some(({ id }) => id !== one?.id)).toBe(true);
  stop.abort();
  await expect(run.result()).rejects.toMatchObject({ code: "run.cancelled" });
});

test("a parked run whose workflow only its starter knows goes on there, also while that one works for others", async () => {
  await using rath = process(shared(memoryStore()), { workflows: { other: asking("other") } });
  await using _ = working(rath);
  const run = await rath.run(asking("mine"), rath.session("go"));
  expect((await run.settle()).status).toBe("waiting");
  const [pending] = await rath.pending();
  await rath.decide(pending?.id as string, { by: "ada", answer: "yes" });
  expect((await run.result()).output).toBe("yes");
});

test("a cancel that comes before the run is first held is not lost when it parks", async () => {
  const store = memoryStore();
  await using other = process(
    shared(store, {
      claim: async (...claim) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return store.claim(...claim);
      },
    }),
  );
  const woken = async (): Promise<boolean> => {
    for await (const _ of store.runs({ woken: true })) return true;
    return false;
  };
  let asked = false;
  await using rath = process(
    shared(store, {
      claim: async (id, ...rest) => {
        if (asked) return store.claim(id, ...rest);
        asked = true;
        // It is held by the time the other process wants to end it itself.
        const cancelling = (await other.attach(id)).cancel("not wanted");
        while (!(await woken())) await new Promise(setImmediate);
        const lease = await store.claim(id, ...rest);
        await cancelling;
        return lease;
      },
    }),
    {},
    { leaseMs: 60_000 },
  );
  const run = await rath.run(asking(), rath.session("go"));
  await expect(run.result()).rejects.toMatchObject({ code: "run.cancelled" });
});

class Booking extends Workflow {
  readonly name = "booking";
  undone = 0;
  async forward(session: Session): Promise<Session> {
    return (await session.do("book", () => 1, { repeat: "once" })).ask("keep it?");
  }
  async onCancel(session: Session): Promise<Session> {
    return session.do("undo", () => ++this.undone, { repeat: "once" });
  }
}

test("a run that was queued by its name alone is made good too, also when somebody cancels it who does not know its code", async () => {
  const store = memoryStore();
  const booking = new Booking();
  await using client = process(shared(store));
  await using worker = process(shared(store), { workflows: { booking } });
  await using _ = working(worker);
  const run = await client.run("booking", client.session("go"), { queue: true });
  expect((await run.settle()).status).toBe("waiting");
  await run.cancel();
  await expect(run.result()).rejects.toMatchObject({ code: "run.cancelled" });
  await expect.poll(() => booking.undone).toBe(1);
});

test("a run can be cancelled although one that it wanted to start was never stored", async () => {
  const store = memoryStore();
  let refuse = false;
  await using rath = process(
    shared(store, {
      append: async (write) => {
        if (refuse && write.run !== undefined) throw new Error("no room");
        return store.append(write);
      },
    }),
  );
  const child = asking("child");
  const flow = new Flow(async (session) => {
    const started = await session.do("start another", async ({ session: inner }) => {
      refuse = true;
      await expect(rath.run(child, inner)).rejects.toThrow("no room");
      refuse = false;
    });
    return started.ask("go on?");
  });
  const run = await rath.run(flow, rath.session("go"));
  expect((await run.settle()).status).toBe("waiting");
  await run.cancel();
  await expect(run.result()).rejects.toMatchObject({ code: "run.cancelled" });
});

test("a worker outlives what is told of its work to somebody who throws", async () => {
  await using rath = process(shared(memoryStore()), {
    workflows: { flow: new Flow((session) => session.do("x", () => 1)) },
  });
  const fault = (): never => {
    throw new Error("a fault of the caller");
  };
  await using _ = working(rath, { report: fault, onRun: fault });
  const run = await rath.run("flow", rath.session("go"), { queue: true });
  expect((await run.result()).output).toBe(1);
});

/** It records two effects, and asks for the second again only when it is let. */
class Hesitant extends Workflow {
  readonly name = "hesitant";
  asks: (() => Promise<void>) | undefined;
  undone = 0;
  async forward(session: Session): Promise<Session> {
    const one = await session.do("one", () => 1);
    await this.asks?.();
    return (await one.do("two", () => 2)).ask("go on?");
  }
  async onCancel(session: Session): Promise<Session> {
    return session.do("undo", () => ++this.undone);
  }
}

async function diverged(): Promise<{ store: Store; flow: Hesitant; id: string; goOn: () => void }> {
  const store = memoryStore();
  const flow = new Hesitant();
  await using first = process(shared(store), { workflows: { hesitant: flow } });
  const run = await first.run(flow, first.session("go"));
  await run.settle();
  let goOn = (): void => {};
  const going = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  flow.asks = () => going;
  return { store, flow, id: run.id, goOn };
}

test("a run that diverged and goes on by itself is parked, woken and left like any other", async () => {
  const { store, flow, id, goOn } = await diverged();
  const rath = process(shared(store), { workflows: { hesitant: flow } }, { stillResumeMs: 20 });
  const run = await rath.resume(id);
  expect(await run.settle()).toMatchObject({ status: "waiting", diverged: { field: expect.anything() } });
  goOn();
  const asked = async () => (await rath.pending()).find(({ kind }) => kind === "question");
  await expect
    .poll(async () => (await run.status()) === "waiting" && (await run.settle()))
    .toMatchObject({ pending: [{ kind: "question" }] });
  await rath.decide((await asked())?.id as string, { by: "ada", answer: "yes" });
  expect((await run.result()).output).toBe("yes");
  await rath.close();
});

test("a run that diverged, went on by itself and is left when its Rath closes is taken by the next worker", async () => {
  const { store, flow, id, goOn } = await diverged();
  const rath = process(shared(store), { workflows: { hesitant: flow } }, { stillResumeMs: 20, parkGraceMs: 60_000 });
  await (await rath.resume(id)).settle();
  goOn();
  await expect.poll(async () => (await rath.attach(id)).status()).toBe("running");
  await rath.close();
  expect((await store.take({ workflows: ["hesitant"], limit: 1 }, "next", 1000)).map(({ row }) => row.id)).toEqual([id]);
});

test("a run that diverged and is cancelled is made good", async () => {
  const { store, flow, id } = await diverged();
  await using rath = process(shared(store), { workflows: { hesitant: flow } }, { stillResumeMs: 20 });
  const run = await rath.resume(id);
  await run.settle();
  await run.cancel();
  await expect(run.result()).rejects.toMatchObject({ code: "run.cancelled" });
  await expect.poll(() => flow.undone).toBe(1);
});
