/** Signals over the lives of processes, in bundles, replays and reruns; and the broken runtimes and stores that must be caught. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { write } from "../../src/audit/audit.ts";
import { openrath, type Rath, RathError, type Run, replay, rerun, type Session, verify, why } from "../../src/index.ts";
import { Mailbox } from "../../src/runtime/mailbox.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { keyedRunId, mailboxLogId } from "../../src/session/id.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Life, rathOf } from "../crash/world.ts";
import { Flow } from "../support/flow.ts";

const key = "the run";
const run = keyedRunId(nodePlatform, key);
const letters = ["w", "x", "y", "z"];

/** Two branches that take two signals each, and what they got. */
const collect = new Flow(async (session) => {
  const twice = async (label: string): Promise<readonly Session[]> => {
    const first = await session.fork(label).receive("letter");
    return [first, await first.receive("letter")];
  };
  const [a = [], b = []] = await Promise.all([twice("a"), twice("b")]);
  const both = await (a[1] as Session).merge(b[1] as Session);
  return both.do("collect", () => [...a, ...b].map(({ output }) => output), { repeat: "safe" });
}, "collect");

/** Sends as soon as there is a run, each with its key: whoever sends again after a crash sends nothing twice. */
async function sendAll(rath: Rath, to = run): Promise<void> {
  for (const letter of letters) {
    for (;;) {
      try {
        await rath.send(to, "letter", letter, { key: letter });
        break;
      } catch (error) {
        if (RathError.is(error, "run.ended")) return;
        if (!RathError.is(error, "run.not-found")) throw error;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }
}

function takenIn(session: Session): readonly unknown[] {
  return [...session.events()].flatMap((event) => (event.kind === "receive.returned" ? [event.data.signal] : []));
}

/** Every process here signs with a key of its own. */
async function problemsOf(session: Session): Promise<readonly string[]> {
  return (await verify(session)).problems.map(({ problem }) => problem).filter((problem) => !problem.includes("unknown key"));
}

/** Each signal was taken by exactly one receive, and the record holds. */
async function expectEachOnce(done: Session): Promise<void> {
  expect([...(done.output as string[])].sort()).toEqual(letters);
  expect(new Set(takenIn(done)).size).toBe(4);
  expect(String(await replay(done, collect))).toMatch(/^identical/);
  expect(await problemsOf(done)).toEqual([]);
}

const started = (rath: Rath): Promise<Run> => rath.run(collect, rath.session("go"), { key });

async function until(over: () => boolean): Promise<void> {
  while (!over()) await new Promise((resolve) => setImmediate(resolve));
}

/** The receiver dies around one of its commits, while somebody sends. False when it lived to the end. */
async function killReceiver(store: Store, point: number): Promise<boolean> {
  const life = new Life(point);
  const mortal = rathOf(store, life);
  const sender = rathOf(store, new Life());
  let over = false;
  const ended = (): boolean => {
    over = true;
    return over;
  };
  started(mortal)
    .then((handle) => handle.result())
    .then(ended, ended);
  const sending = sendAll(sender);
  await until(() => life.dead || over);
  void mortal.close(); // stops its timers; nothing it does reaches the store any more
  const heir = rathOf(store, new Life());
  await expectEachOnce(await (await started(heir)).result());
  await sending;
  await Promise.all([heir.close(), sender.close()]);
  return life.dead;
}

describe("each signal is taken exactly once", () => {
  test("wherever the receiver dies", { timeout: 60_000 }, async () => {
    let deaths = 0;
    for (let point = 0; await killReceiver(memoryStore(), point); point++) deaths++;
    expect(deaths).toBeGreaterThan(8);
  });

  test("wherever the sender dies, when it sends again", { timeout: 60_000 }, async () => {
    let deaths = 0;
    for (let point = 0; ; point++) {
      const store = memoryStore();
      const receiver = rathOf(store, new Life());
      const handle = await started(receiver);
      const life = new Life(point);
      const mortal = rathOf(store, life);
      let over = false;
      void sendAll(mortal).then(() => {
        over = true;
      });
      await until(() => life.dead || over);
      void mortal.close();
      const again = rathOf(store, new Life());
      await sendAll(again);
      await expectEachOnce(await handle.result());
      await Promise.all([receiver.close(), again.close()]);
      if (!life.dead) break;
      deaths++;
    }
    expect(deaths).toBe(8);
  });

  test("when processes die again and again", { timeout: 60_000 }, async () => {
    for (let series = 0; series < 10; series++) {
      const store = memoryStore();
      for (let death = 0; death < 3; death++) {
        const life = new Life((series * 7 + death * 5) % 17);
        const mortal = rathOf(store, life);
        let over = false;
        const work = started(mortal).then((handle) => handle.result());
        Promise.all([work, sendAll(mortal)]).then(
          () => {
            over = true;
          },
          () => {
            over = true;
          },
        );
        await until(() => life.dead || over);
        void mortal.close();
      }
      const heir = rathOf(store, new Life());
      const handle = await started(heir);
      await sendAll(heir);
      await expectEachOnce(await handle.result());
      await heir.close();
    }
  });
});

describe("a session that received", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "openrath-signals-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function received(rath: Rath): Promise<Session> {
    const handle = await started(rath);
    await sendAll(rath, handle.id);
    return handle.result();
  }

  test("is exported with the signals it took, imported, replayed and verified elsewhere", async () => {
    await using rath = openrath({ store: "memory" });
    const done = await received(rath);
    const file = join(folder, "done.jsonl");
    await write(done, file);
    await using elsewhere = openrath({ store: "memory" });
    const imported = await elsewhere.import(file);
    expect(imported.head).toBe(done.head);
    expect(String(await replay(imported, collect))).toMatch(/^identical/);
    const copy = join(folder, "copy.jsonl");
    await write(imported, copy);
    expect(await readFile(copy, "utf8")).toBe(await readFile(file, "utf8"));
    expect((await readFile(file, "utf8")).match(/"kind":"signal.sent"/g)).toHaveLength(4);
  });

  test("cannot be imported without them", async () => {
    await using rath = openrath({ store: "memory" });
    const done = await received(rath);
    const file = join(folder, "whole.jsonl");
    await write(done, file);
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    const [last] = lines.filter((line) => line.includes('"kind":"signal.sent"')).slice(-1);
    const without = lines.filter((line) => line !== last).join("\n");
    await expect(rath.import(bytesOf(without))).rejects.toMatchObject({ code: "bundle.invalid" });
  });

  test("that still waits takes what lies in its mailbox along", async () => {
    const store = memoryStore();
    await using rath = rathOf(store, new Life());
    const handle = await started(rath);
    await handle.settle();
    await rath.close();
    await using sender = rathOf(store, new Life()); // executes nothing
    await sender.send(run, "letter", "w");
    const file = join(folder, "waits.jsonl");
    await write(await sender.open(handle.session), file);
    expect((await readFile(file, "utf8")).match(/"kind":"signal.sent"/g)).toHaveLength(1);
    await using elsewhere = rathOf(memoryStore(), new Life(), { workflows: { collect } });
    const imported = await elsewhere.import(file);
    expect(await problemsOf(imported)).toEqual([]);
    const resumed = await elsewhere.resume(run);
    for (const letter of letters.slice(1)) await elsewhere.send(run, "letter", letter);
    await expectEachOnce(await resumed.result());
  });

  test("is run again with the values it received; a receive without an equal one fails and says why", async () => {
    await using rath = openrath({ store: "memory" });
    const done = await received(rath);
    const again = await rerun(done, collect);
    expect(again).toMatchObject({ reused: 5, of: 5, split: undefined });
    expect(again.session.output).toEqual(done.output);
    expect(takenIn(again.session)).toEqual(takenIn(done));
    expect(await problemsOf(again.session)).toEqual([]);
    const [event] = [...done.events()].filter(({ kind }) => kind === "receive.returned");
    await expect(rerun(done, collect, { change: { event: event?.id ?? "", output: "v" } })).rejects.toMatchObject({
      code: "effect.failed",
      message: expect.stringContaining("rath.run()"),
    });
  });

  test("knows why: the signal, who sent it and what it said", async () => {
    await using rath = openrath({ store: "memory" });
    const handle = await rath.run(new Flow((session) => session.receive("paid")), rath.session("Sell"));
    await rath.send(handle.id, "paid", { amount: 12 }, { by: "service:shop" });
    const done = await handle.result();
    const [event] = [...done.events()].filter(({ kind }) => kind === "receive.returned");
    const { hops } = await why(done, { event: event?.id ?? "" });
    expect(hops.map(({ relation, summary }) => `${relation}: ${summary}`)).toContain('sent: service:shop sent paid {"amount":12}');
    expect(String(done)).toContain('receive paid → ok {"amount":12}');
  });
});

describe("verify finds", () => {
  /** A session whose receives say that they took what they did not. */
  async function forged(choose: (sent: Readonly<Record<"mine" | "otherName" | "otherRun", string>>) => string): Promise<readonly string[]> {
    const { receive } = Mailbox.prototype;
    const store = memoryStore();
    await using rath = rathOf(store, new Life());
    const flow = new Flow(async (session) => (await session.receive("a")).receive("a"));
    const two = await rath.run(flow, rath.session("two"));
    for (const data of [1, 2]) await rath.send(two.id, "a", data);
    const otherRun = String(takenIn(await two.result())[1]);
    const sent = { mine: "", otherName: "", otherRun };
    Mailbox.prototype.receive = async function (this: Mailbox, ...asked) {
      if (sent.mine !== "") return { id: choose(sent), data: 0 };
      const received = await receive.apply(this, asked);
      if (typeof received !== "string") sent.mine = received.id;
      return received;
    };
    try {
      const one = await rath.run(flow, rath.session("one"));
      await rath.send(one.id, "b", 3);
      sent.otherName = await firstIn(store, mailboxLogId(nodePlatform, one.id, "b"));
      await rath.send(one.id, "a", 4);
      return await problemsOf(await one.result());
    } finally {
      Mailbox.prototype.receive = receive;
    }
  }

  test("a signal that was taken twice, that has another name, that was sent to another run, and one that is none", async () => {
    expect(await forged(({ mine }) => mine)).toEqual([expect.stringMatching(/^it took a signal that [0-9a-f]{64} had taken$/)]);
    expect(await forged(({ otherName }) => otherName)).toEqual(['it took the signal "b" and waited for another one']);
    expect(await forged(({ otherRun }) => otherRun)).toEqual([expect.stringMatching(/^it took a signal that was sent to run /)]);
    expect(await forged(() => "0".repeat(64))).toEqual([expect.stringMatching(/^the signal it took is missing/)]);
  });
});

describe("the tests above catch", () => {
  /** What a law says when it is broken, or undefined; a law that hangs is broken too. */
  async function broken(law: () => Promise<unknown>, patienceMs = 1500): Promise<string | undefined> {
    const hangs = new Promise<string>((resolve) => setTimeout(() => resolve("hangs"), patienceMs).unref());
    return Promise.race([
      law().then(
        () => undefined,
        (error: unknown) => String(error),
      ),
      hangs,
    ]);
  }

  /** Two processes send at once, a third receives. */
  async function manySenders(store: Store): Promise<void> {
    const [receiver, ...senders] = [1, 2, 3].map(() => rathOf(store, new Life())) as [Rath, Rath, Rath];
    const handle = await started(receiver);
    await Promise.all(letters.map((letter, index) => senders[index % 2]?.send(run, "letter", letter)));
    await expectEachOnce(await handle.result());
    await Promise.all([receiver, ...senders].map((rath) => rath.close()));
  }

  /** Somebody else sends to a run that is parked here. */
  async function fromElsewhere(store: Store): Promise<void> {
    const [receiver, sender] = [rathOf(store, new Life()), rathOf(store, new Life())];
    const handle = await started(receiver);
    await handle.settle();
    await sendAll(sender);
    await expectEachOnce(await handle.result());
    await Promise.all([receiver.close(), sender.close()]);
  }

  test("nothing in what is right", async () => {
    expect(await broken(() => manySenders(memoryStore()), 20_000)).toBeUndefined();
    expect(await broken(() => fromElsewhere(memoryStore()), 20_000)).toBeUndefined();
  });

  test("a mailbox that is appended to without comparing its head", async () => {
    const store = memoryStore();
    const blind: Store = {
      ...store,
      append: async (write) => {
        const written = await store.append(write);
        const [branch] = write.branches;
        if (written.ok || written.reason !== "head" || branch === undefined || write.wake === undefined) return written;
        return store.append({ ...write, branches: [{ ...branch, expectedHead: written.head }] });
      },
    };
    expect(await broken(() => manySenders(blind))).toBeDefined();
  });

  test("a send that wakes nobody", async () => {
    const store = memoryStore();
    const deaf: Store = { ...store, append: ({ wake: _, ...write }) => store.append(write) };
    expect(await broken(() => fromElsewhere(deaf))).toBe("hangs");
  });

  test("a receive that does not look at what was taken before", async () => {
    const { receive } = Mailbox.prototype;
    const blinded = new WeakMap<object, object>();
    Mailbox.prototype.receive = function (this: Mailbox, execution, ...rest) {
      const without = blinded.get(execution) ?? { id: execution.id, closed: false };
      blinded.set(execution, without);
      return receive.call(this, without as typeof execution, ...rest);
    };
    try {
      const everywhere = async (): Promise<void> => {
        for (let point = 0; await killReceiver(memoryStore(), point); point++);
      };
      expect(await broken(everywhere, 20_000)).toBeDefined();
    } finally {
      Mailbox.prototype.receive = receive;
    }
  });
});

async function firstIn(store: Store, log: string): Promise<string> {
  for await (const { id } of store.events({ session: log })) return id;
  return "";
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(`${text}\n`);
}
