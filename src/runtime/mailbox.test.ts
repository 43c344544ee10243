import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Flow } from "../../test/support/flow.ts";
import { composeRath } from "../openrath.ts";
import type { RathOptions } from "../rath-options.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { EventQuery, Store, StoredEvent } from "../store/store.ts";
import { race } from "../workflow/combinators.ts";
import { machine } from "../workspace/machine.ts";
import type { Rath } from "./rath.ts";

let processes = 0;

/** A Rath of a process of its own on a store that others use too. */
function rathOn(store: Store, options: RathOptions = {}, times: object = {}): Rath {
  const shared = new Proxy(store, {
    get: (target, name) => {
      if (name === Symbol.asyncDispose) return async () => {};
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return composeRath(
    { implicitForks: "allow", ...options, store: shared },
    { worker: `${machine()}:${1_998_000_000 + processes++}:t`, times: { parkGraceMs: 1, closeMs: 50, stillResumeMs: 200, ...times } },
  );
}

/** Receives so many signals of one name, one after the other. */
function receiving(count: number, name = "order"): Flow {
  return new Flow(async (session) => {
    const got: unknown[] = [];
    let at: Session = session;
    for (let n = 0; n < count; n++) {
      at = await at.receive(name);
      got.push(at.output);
    }
    return at.do("all", () => got);
  });
}

async function waiting(rath: Rath, run: string, count = 1): Promise<void> {
  while ((await rath.pending({ run })).length < count) await new Promise((resolve) => setImmediate(resolve));
}

async function mailboxes(store: Store): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const { id } of store.sessions({ log: "answer" })) for await (const event of store.events({ session: id })) events.push(event);
  return events;
}

describe("signals", () => {
  test("are received in the order in which they were sent, before, while and after the run is parked", async () => {
    const store = memoryStore();
    await using rath = rathOn(store);
    const run = await rath.run(
      new Flow(async (session) => {
        const begun = await session.do("begin", () => new Promise((resolve) => setTimeout(resolve, 20)), { repeat: "safe" });
        const first = await begun.receive("order");
        const second = await first.receive("order");
        const third = await second.receive("order");
        return third.do("all", () => [first.output, second.output, third.output]);
      }),
      rath.session("go"),
    );
    await rath.send(run.id, "order", { n: 1 }); // before anybody asks
    await waiting(rath, run.id);
    await rath.send(run.id, "order", { n: 2 });
    while ((await run.settle()).status !== "waiting") await new Promise((resolve) => setImmediate(resolve));
    await rath.send(run.id, "order", { n: 3 });
    expect((await run.result()).output).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test("of many senders at once are neither lost nor taken twice", async () => {
    const store = memoryStore();
    await using rath = rathOn(store);
    await using other = rathOn(store);
    const run = await rath.run(receiving(40), rath.session("go"));
    await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? rath : other).send(run.id, "order", n)));
    const got = (await run.result()).output as number[];
    expect([...got].sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    // Of one sender they stay in the order of its calls.
    expect(got.filter((n) => n % 2 === 0)).toEqual(Array.from({ length: 20 }, (_, n) => 2 * n));
  });

  test("go to parallel branches in the order of their calls, each to one", async () => {
    await using rath = rathOn(memoryStore(), {}, { parkGraceMs: 10_000 });
    const run = await rath.run(
      new Flow(async (session) => {
        const calls = ["a", "b", "c"].map((label) => session.fork(label).receive("order"));
        const [a, b, c] = await Promise.all(calls);
        return (c as Session).do("all", () => [a?.output, b?.output, c?.output]);
      }),
      rath.session("go"),
    );
    await waiting(rath, run.id, 3);
    for (const data of ["first", "second", "third"]) await rath.send(run.id, "order", data);
    expect((await run.result()).output).toEqual(["first", "second", "third"]);
  });

  test("of several names do not meet", async () => {
    await using rath = rathOn(memoryStore());
    const run = await rath.run(new Flow(async (session) => (await session.receive("b")).receive("a")), rath.session("go"));
    await rath.send(run.id, "a", 1);
    await rath.send(run.id, "b", 2);
    const done = await run.result();
    expect(done.output).toBe(1);
    const taken = [...done.events()].flatMap((event) => (event.kind === "receive.returned" ? [event.data.value] : []));
    expect(taken).toEqual([2, 1]);
  });

  test("with keys cost no more the more there are, also when another process sends too", async () => {
    const store = memoryStore();
    let read = 0;
    const counted = {
      ...store,
      events: async function* (query: EventQuery) {
        for await (const event of store.events(query)) {
          read++;
          yield event;
        }
      },
    };
    await using rath = rathOn(counted);
    await using other = rathOn(store);
    const run = await rath.run(receiving(1, "never"), rath.session("Go"));
    await run.settle();
    const send = async (from: number): Promise<number> => {
      read = 0;
      for (let n = from; n < from + 50; n++) {
        await rath.send(run.id, "order", n, { key: `own ${n}` });
        await other.send(run.id, "order", n, { key: `other ${n}` });
        await rath.send(run.id, "order", n, { key: `other ${n}` });
      }
      return read;
    };
    const first = await send(0);
    expect(await send(50)).toBeLessThan(first + 10);
    expect(await mailboxes(store)).toHaveLength(200);
  });

  test("with the same key are one, also when they come at once from two processes", async () => {
    const store = memoryStore();
    await using rath = rathOn(store);
    await using other = rathOn(store);
    const run = await rath.run(receiving(2), rath.session("go"));
    await Promise.all([rath, other, rath, other].map((sender) => sender.send(run.id, "order", "once", { key: "k" })));
    await rath.send(run.id, "order", "other data, same signal", { key: "k" });
    await rath.send(run.id, "order", "twice", { key: "l", by: "service:shop" });
    expect((await run.result()).output).toEqual(["once", "twice"]);
    expect((await mailboxes(store)).length).toBe(2);
  });

  test("are heard within a second, from another process and from the same one", async () => {
    const store = memoryStore();
    await using rath = rathOn(store, {}, { parkGraceMs: 10_000 });
    await using other = rathOn(store);
    const times: number[] = [];
    const run = await rath.run(
      new Flow(async (session) => {
        const first = await session.receive("order");
        times.push(Date.now());
        const second = await first.receive("order");
        times.push(Date.now());
        return second.do("all", () => [first.output, second.output]);
      }),
      rath.session("go"),
    );
    await waiting(rath, run.id);
    const sent = [Date.now()];
    await other.send(run.id, "order", "from afar");
    while (times.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    await waiting(rath, run.id);
    sent.push(Date.now());
    await rath.send(run.id, "order", "from here");
    expect((await run.result()).output).toEqual(["from afar", "from here"]);
    const [afar = 0, here = 0] = times.map((time, index) => time - (sent[index] ?? 0));
    expect(afar).toBeLessThan(1000 + 500); // a busy machine may be late
    expect(here).toBeLessThan(1000 + 500);
  });

  test("are heard at once in the same process, which does not look for them", async () => {
    await using rath = rathOn(memoryStore(), {}, { parkGraceMs: 60_000, lookMs: 60_000, leaseMs: 60_000 });
    const run = await rath.run(receiving(1), rath.session("go"));
    await waiting(rath, run.id);
    const sent = performance.now();
    await rath.send(run.id, "order", "from here");
    expect((await run.result()).output).toEqual(["from here"]);
    expect(performance.now() - sent).toBeLessThan(10_000);
  });

  test("wake a parked run of a process that only looks", async () => {
    const store = memoryStore();
    await using rath = rathOn(store);
    await using other = rathOn(store);
    const run = await rath.run(receiving(1), rath.session("go"));
    expect(await run.settle()).toMatchObject({ status: "waiting", pending: [{ kind: "signal", signal: "order", run: run.id }] });
    await other.send(run.id, "order", "good morning");
    expect((await run.result()).output).toEqual(["good morning"]);
  });

  test("say to the store that the run has news", async () => {
    const store = memoryStore();
    await using rath = rathOn(store);
    await using other = rathOn(store);
    const run = await rath.run(receiving(1), rath.session("go"));
    await run.settle();
    await other.send(run.id, "order");
    const woken: string[] = [];
    for await (const { id } of store.runs({ woken: true })) woken.push(id);
    expect(woken).toEqual([run.id]);
  });

  test("are not missed when the lease is renewed before anybody looks", async () => {
    const store = memoryStore();
    await using rath = rathOn(store, {}, { parkGraceMs: 60_000, lookMs: 60_000, leaseMs: 150 });
    await using other = rathOn(store);
    const run = await rath.run(receiving(1), rath.session("go"));
    await waiting(rath, run.id);
    await other.send(run.id, "order", "soon"); // the next renewal takes note of it
    expect((await run.result()).output).toEqual(["soon"]);
  });

  test("may have no data", async () => {
    await using rath = rathOn(memoryStore());
    const run = await rath.run(new Flow((session) => session.receive("go")), rath.session("wait"));
    await rath.send(run.id, "go");
    expect((await run.result()).output).toBeUndefined();
  });

  test("are taken by nobody when the receive was stopped before", async () => {
    await using rath = rathOn(memoryStore(), {}, { parkGraceMs: 10_000 });
    const run = await rath.run(
      new Flow(async (session) => {
        const late = await session.receive("order", undefined, { expires: "20ms" }).catch((error: { session: Session }) => error.session);
        return (await late.do("then", () => "late", { repeat: "safe" })).receive("order");
      }),
      rath.session("go"),
    );
    await waiting(rath, run.id);
    // The first one has an end of its time, the second one has none.
    for (;;) {
      const [pending] = await rath.pending({ run: run.id });
      if (pending !== undefined && !("expires" in pending && pending.expires !== undefined)) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await rath.send(run.id, "order", "for the second");
    const done = await run.result();
    expect(done.output).toBe("for the second");
    expect([...done.events()].flatMap((event) => (event.kind === "receive.returned" ? [event.facts.outcome] : []))).toEqual([
      "expired",
      "ok",
    ]);
  });
});

test("a signal goes past whoever lost a race and was stopped", async () => {
  await using rath = rathOn(memoryStore());
  const first = race({
    a: (session: Session) => session.receive("a"),
    b: (session: Session) => session.receive("b"),
  });
  const run = await rath.run(new Flow(async (session) => (await first.forward(session)).receive("b")), rath.session("go"));
  await waiting(rath, run.id, 2);
  const racing = new Set((await rath.pending({ run: run.id })).map(({ id }) => id));
  await rath.send(run.id, "a", "won");
  while (!(await rath.pending({ run: run.id })).some(({ id }) => !racing.has(id))) await new Promise((resolve) => setImmediate(resolve));
  await rath.send(run.id, "b", "for the next one");
  expect((await run.result()).output).toBe("for the next one");
});

describe("a receive", () => {
  test("gives what its schema makes of the data", async () => {
    await using rath = rathOn(memoryStore());
    const run = await rath.run(
      new Flow((session) => session.receive("paid", z.object({ amount: z.number(), currency: z.string().default("EUR") }))),
      rath.session("go"),
    );
    await rath.send(run.id, "paid", { amount: 3 });
    expect((await run.result()).output).toEqual({ amount: 3, currency: "EUR" });
  });

  test.each([
    ["zod", z.object({ amount: z.number() })],
    ["JSON Schema", { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] } as const],
  ])("whose signal does not fit %s fails, takes it, and goes on from the error", async (_, schema) => {
    await using rath = rathOn(memoryStore());
    const errors: unknown[] = [];
    const run = await rath.run(
      new Flow(async (session) => {
        const failed = await session.receive("paid", schema).catch((error: { code: string; message: string; session: Session }) => {
          errors.push([error.code, error.message]);
          return error.session;
        });
        return failed.receive("paid", schema);
      }),
      rath.session("go"),
    );
    await rath.send(run.id, "paid", { amount: "much" });
    await rath.send(run.id, "paid", { amount: 5 });
    const done = await run.result();
    expect(done.output).toEqual({ amount: 5 });
    expect(errors).toEqual([["effect.failed", expect.stringMatching(/^"paid" failed: The signal does not fit: amount: /)]]);
    const taken = [...done.events()].flatMap((event) => (event.kind === "receive.returned" ? [event.data.signal] : []));
    expect(new Set(taken).size).toBe(2);
  });

  test("that expires rejects, parked or not", async () => {
    await using rath = rathOn(memoryStore());
    const run = await rath.run(new Flow((session) => session.receive("never", undefined, { expires: "30ms" })), rath.session("go"));
    const settled = await run.settle();
    expect(settled).toMatchObject({ status: "failed", error: { code: "effect.expired", message: '"never" was expired' } });
  });

  test("cannot be decided: the message names rath.send", async () => {
    await using rath = rathOn(memoryStore());
    const run = await rath.run(receiving(1), rath.session("go"));
    await run.settle();
    const [pending] = await rath.pending({ run: run.id });
    await expect(rath.decide(pending?.id ?? "", { by: "human:a", answer: 1 })).rejects.toMatchObject({
      code: "pending.invalid-answer",
      message: expect.stringContaining('rath.send(run, "order", data)'),
    });
  });

  test("outside a durable run is refused and leaves nothing", async () => {
    await using rath = rathOn(memoryStore());
    const [session, bare] = [rath.session("go"), rath.session("go")];
    const refused = { code: "run.not-found", message: expect.stringContaining("rath.run()") };
    await expect(session.receive("order")).rejects.toMatchObject(refused);
    await expect(receiving(1).forward(bare)).rejects.toMatchObject(refused);
    expect((await session.do("x", () => 1)).step).toBe(session.step + 2);
  });

  test.each([
    ["", undefined, /signal has 0 characters: give a name of 1 to 200/],
    ["x".repeat(201), undefined, /signal has 201 characters/],
    [7, undefined, /signal is 7: give a string/],
    ["\ud800", undefined, /lone surrogate/],
    ["order", { expires: "soon" }, /soon/],
    ["order", { expire: "1s" }, /expire/],
  ])("named %j with options %j is refused", async (name, options, message) => {
    await using rath = rathOn(memoryStore());
    const run = await rath.run(new Flow((session) => session.receive(name as string, undefined, options as never)), rath.session("go"));
    await expect(run.result()).rejects.toMatchObject({ code: "value.unsupported", message: expect.stringMatching(message) });
  });
});

describe("send", () => {
  test("to a run that is unknown or has ended is refused and changes nothing", async () => {
    const store = memoryStore();
    await using rath = rathOn(store);
    await expect(rath.send("nobody", "order")).rejects.toMatchObject({ code: "run.not-found" });
    await expect(rath.send("", "order")).rejects.toMatchObject({ code: "run.not-found" });
    await expect(rath.send(undefined as never, "order")).rejects.toMatchObject({ code: "value.unsupported" });
    const run = await rath.run(new Flow(async (session) => session), rath.session("go"));
    await run.result();
    await expect(rath.send(run.id, "order", 1)).rejects.toMatchObject({ code: "run.ended", details: { status: "done" } });
    expect(await mailboxes(store)).toEqual([]);
  });

  test("refuses names, keys and data that cannot be kept", async () => {
    const store = memoryStore();
    await using rath = rathOn(store);
    const run = await rath.run(receiving(1), rath.session("go"));
    const unsupported = { code: "value.unsupported" };
    for (const name of ["", "x".repeat(201), 7, null, "\udc00"])
      await expect(rath.send(run.id, name as string)).rejects.toMatchObject(unsupported);
    for (const data of [() => 1, BigInt(1), new Map(), { deep: [Symbol("s")] }])
      await expect(rath.send(run.id, "order", data)).rejects.toMatchObject(unsupported);
    for (const options of [{ key: "" }, { key: "x".repeat(201) }, { key: 7 }, { by: 7 }, { keys: "k" }])
      await expect(rath.send(run.id, "order", 1, options as never)).rejects.toMatchObject(unsupported);
    expect(await mailboxes(store)).toEqual([]);
  });

  test("keeps secrets out of data, name, sender and key, and finds the signal all the same", async () => {
    const store = memoryStore();
    await using rath = rathOn(store, { secrets: ["open sesame"] });
    const run = await rath.run(receiving(2, "door open sesame"), rath.session("go"));
    for (let n = 0; n < 2; n++)
      await rath.send(run.id, "door open sesame", { word: "open sesame" }, { by: "open sesame", key: "open sesame" });
    await rath.send(run.id, "door open sesame", "large: ".padEnd(9000, "x"));
    expect((await run.result()).output).toEqual([{ word: "[redacted]" }, "large: ".padEnd(9000, "x")]);
    const bytes = (await mailboxes(store)).map(({ envelope, data }) =>
      Buffer.concat([envelope, data ?? Buffer.alloc(0)]).toString("latin1"),
    );
    expect(bytes).toHaveLength(2);
    expect(bytes.join()).not.toContain("open sesame");
  });

  test("is done once though its write fails after it was made", async () => {
    const store = memoryStore();
    await using rath = rathOn(store);
    const run = await rath.run(receiving(2), rath.session("go"));
    let cut = true;
    await using shaky = rathOn({
      ...bound(store),
      append: async (write) => {
        const written = await store.append(write);
        if (cut) {
          cut = false;
          throw new Error("connection lost");
        }
        return written;
      },
    });
    await shaky.send(run.id, "order", 1);
    await shaky.send(run.id, "order", 2);
    expect((await run.result()).output).toEqual([1, 2]);
  });
});

function bound(store: Store): Store {
  return Object.fromEntries(
    Object.entries(store).map(([name, member]) => [name, typeof member === "function" ? member.bind(store) : member]),
  ) as unknown as Store;
}
