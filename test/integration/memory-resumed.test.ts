/** A run that is left and taken up again: it reads the memory it read before, and what it published is on its record. */
import { describe, expect, test } from "vitest";
import type { MemoryStore } from "../../src/memory/memory.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { replay } from "../../src/runtime/replay.ts";
import { dataText, parseEnvelope } from "../../src/session/codec.ts";
import type { Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store, Write } from "../../src/store/store.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess, until } from "../support/other-process.ts";

/** Somebody else writes one key; the same change twice is one. */
async function change(memory: MemoryStore, to: number): Promise<void> {
  const item = { uri: "memory://project/k", key: "k", content: `v${to}`, scope: "project", version: to, state: "published" } as const;
  const about = { origin: "human", trust: "trusted", because: [], from: [], event: `change ${to}`, session: undefined } as const;
  await memory.write([{ item: { ...item, ...about, by: "human:eve", at: "2026-01-01T00:00:00.000Z" }, based: to - 1 }]);
}

/** A memory that closing a Rath leaves open. */
function keptMemory(more: Partial<MemoryStore> = {}): MemoryStore {
  return { ...volatileMemory(), ...more, [Symbol.asyncDispose]: async () => {} };
}

type Stop = (session: Session) => Promise<Session>;

/** Runs until it comes to a stop, leaves it there and takes it up again elsewhere. */
async function leftAndResumed(
  memory: MemoryStore,
  input: (rath: Rath) => Session | Promise<Session>,
  steps: (session: Session, stop: Stop) => Promise<Session>,
): Promise<Session> {
  const store = memoryStore();
  let stopped = false;
  let left = false;
  const wait = async (): Promise<void> => {
    stopped = true;
    if (!left) await new Promise(() => {});
  };
  const workflows = { flow: new Flow((session) => steps(session, (at) => at.do("stop", wait, { repeat: "safe" }))) };
  const mortal = otherProcess(store, { memory, workflows });
  const { id } = await mortal.run("flow", await input(mortal));
  await until("the stop", () => stopped);
  await mortal.close();
  left = true;
  const heir = otherProcess(store, { memory, workflows });
  const session = await (await heir.resume(id)).result();
  expect(String(await replay(session, workflows.flow))).toMatch(/^identical/);
  await heir.close();
  return session;
}

const contentsOf = (session: Session): readonly string[] => session.memory.reads.map(({ content }) => content);

describe("a run that was left reads what it read before", () => {
  test("where it asked for the latest first", async () => {
    const memory = keptMemory();
    await change(memory, 1);
    const session = await leftAndResumed(
      memory,
      (rath) => rath.session("go"),
      async (begun, stop) => {
        const latest = await begun.recall({ key: "k" }, { memory: "latest" });
        await change(memory, 2);
        const pinned = await latest.recall({ key: "k" });
        await change(memory, 3);
        return (await stop(pinned)).recall({ key: "k" });
      },
    );
    expect(contentsOf(session)).toEqual(["v1", "v2", "v2"]);
  });

  test("where a fork from the past read first", async () => {
    const memory = keptMemory();
    await change(memory, 1);
    let step = 0;
    const session = await leftAndResumed(
      memory,
      async (rath) => {
        const read = await rath.session("go").recall({ key: "k" });
        step = read.step;
        await change(memory, 2);
        return read.do("more", () => 1);
      },
      async (begun, stop) => {
        const past = await begun.at(step).fork("past").recall({ key: "k" });
        const pinned = await begun.recall({ key: "k" });
        await change(memory, 3);
        return (await stop(pinned.note(past.output[0]?.content ?? ""))).recall({ key: "k" });
      },
    );
    expect(contentsOf(session)).toEqual(["v1", "v2", "v2"]);
  });
});

describe("what a run published before it was interrupted", () => {
  test("is on its record, beside what others were faster with", async () => {
    const memory = keptMemory();
    const store = memoryStore();
    const steps = async (session: Session): Promise<Session> => {
      const read = await session.recall({ key: "k" });
      await change(memory, 1);
      const first = await read.remember({ key: "k", content: "mine" });
      return first.remember({ key: "own", content: "c" });
    };
    const workflows = { flow: new Flow(steps) };
    const rough = { ...store, append: (write: Write) => (write.run?.status === "done" ? powerCut() : store.append(write)) };
    const mortal = otherProcess(rough, { memory, workflows });
    const run = await mortal.run("flow", mortal.session("go"));
    await run.result().catch(() => {});
    expect(await memory.revision()).toBe(2);
    await mortal.close();
    await using heir = otherProcess(store, { memory, workflows });
    await (await heir.resume(run.id)).result();
    expect(await memory.revision()).toBe(2);
    expect(await publishedBy(store, run.id)).toMatchObject([
      {
        revision: 2,
        items: [{ uri: "memory://project/own", version: 1 }],
        refused: [{ uri: "memory://project/k", based: 0, current: 1 }],
      },
    ]);
  });

  test("at once is on record as it was published", async () => {
    let dying = true;
    const inner = volatileMemory();
    const memory = keptMemory({
      ...inner,
      write: async (writes) => {
        const written = await inner.write(writes);
        if (dying) await new Promise(() => {});
        return written;
      },
    });
    const store = memoryStore();
    const item = { key: "k", content: "c", publish: "now", expires: "1h" } as const;
    const workflows = { flow: new Flow((session) => session.remember(item)) };
    const mortal = otherProcess(store, { memory, workflows });
    const run = await mortal.run("flow", mortal.session("go"));
    await until("it is published", async () => (await memory.revision()) === 1);
    await mortal.close();
    dying = false;
    await using heir = otherProcess(store, { memory, workflows });
    const session = await (await heir.resume(run.id)).result();
    const [there] = await heir.memory.history("k");
    expect(session.memory.writes).toMatchObject([{ version: there?.version, expires: there?.expires, event: there?.event }]);
    expect(await memory.revision()).toBe(1);
  });
});

test("a process that was taken over at its end publishes nothing for a run that was cancelled since", async () => {
  const [memory, store] = [keptMemory(), memoryStore()];
  const workflows = { flow: new Flow((session) => session.remember({ key: "k", content: "c" })) };
  let frozen = false;
  let wake = (): void => {};
  const asleep = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const kindsOf = ({ branches }: Write): readonly string[] =>
    branches.flatMap(({ events }) => events.map(({ envelope }) => parseEnvelope(Buffer.from(envelope).toString()).kind));
  const slow: Store = {
    ...store,
    append: async (write) => {
      const written = await store.append(write);
      if (!kindsOf(write).includes("remember.returned")) return written;
      frozen = true;
      await asleep;
      return written;
    },
    renew: (lease, ms) => (frozen ? asleep.then(() => store.renew(lease, ms)) : store.renew(lease, ms)),
  };
  const zombie = otherProcess(slow, { memory, workflows }, { leaseMs: 60 });
  const run = await zombie.run("flow", zombie.session("go"));
  await until("the freeze", () => frozen);
  await using other = otherProcess(store, { memory, workflows });
  await until("the takeover", () =>
    other
      .attach(run.id)
      .then((taken) => taken.cancel("no"))
      .then(
        () => true,
        () => false,
      ),
  );
  wake();
  await run.settle();
  expect((await (await other.attach(run.id)).settle()).status).toBe("cancelled");
  expect(await memory.revision()).toBe(0);
  await zombie.close().catch(() => {});
});

function powerCut(): never {
  throw new Error("power cut");
}

/** What a run says that it published. */
async function publishedBy(store: Store, run: string): Promise<readonly unknown[]> {
  const said: unknown[] = [];
  for await (const event of store.events({ session: run })) {
    const { kind } = parseEnvelope(Buffer.from(event.envelope).toString());
    if (kind === "memory.published") said.push(JSON.parse(dataText(nodePlatform, event.data as Uint8Array)));
  }
  return said;
}
