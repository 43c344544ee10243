/** What happens when somebody else continues a session while this process holds or writes something of it. */
import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { process, stopped } from "../../test/support/processes.ts";
import { RathError } from "../session/errors.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store, Write } from "../store/store.ts";
import { replay } from "./replay.ts";

afterEach(stopped);

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** As another process would: not as part of what is under way here. */
const outside = AsyncLocalStorage.snapshot();

test("what somebody else was faster with is saved as a fork, and the value that comes back lies there", async () => {
  const store = memoryStore();
  const [a, b] = [process(store), process(store)];
  const { id } = await a.save(a.session("begin"));
  const said = (await b.open(id)).say("slower");
  await a.save((await a.open(id)).say("faster"));
  const saved = await b.save(said);
  expect([saved.id === id, saved.messages.map(({ text }) => text)]).toEqual([false, ["begin", "slower"]]);
  expect((await process(store).open(saved.id)).head).toBe(saved.head);
});

/** Calls `before` once, ahead of the first write of a run to this session after it was armed; `after` once it has landed. */
function meddling(store: Store, how: { readonly before?: () => Promise<void>; readonly after?: () => Promise<void> }) {
  let session: string | undefined;
  const append = async (write: Write) => {
    const meant = session !== undefined && write.lease !== undefined && write.branches.some((branch) => branch.session === session);
    if (meant) session = undefined;
    if (meant) await how.before?.();
    const written = await store.append(write);
    if (meant) await how.after?.();
    return written;
  };
  return {
    store: { ...store, append },
    arm(id: string) {
      session = id;
    },
  };
}

test("a commit whose acknowledgement was lost is not made again, also where somebody else went on after it", async () => {
  const plain = memoryStore();
  const other = process(plain);
  let id = "";
  const { store, arm } = meddling(plain, {
    after: async () => {
      await outside(async () => other.save((await other.open(id)).say("meanwhile")));
      throw new RathError("store.unavailable", "connection reset", { retryable: true });
    },
  });
  let calls = 0;
  const flow = new Flow(async (session) => {
    arm(session.id);
    const first = await session.do("one", () => ++calls, { repeat: "safe" });
    await pause(60);
    return first.do("two", () => 2, { repeat: "safe" });
  }, "flow");
  const rath = process(store, { workflows: { flow } });
  ({ id } = await rath.save(rath.session("begin")));
  const run = await rath.run("flow", await rath.open(id));
  const { status, session } = await run.settle();
  expect([status, calls]).toEqual(["done", 1]);
  const orders: number[] = [];
  for await (const { order } of plain.events({ run: run.id })) orders.push(order);
  expect(orders).toEqual([...new Set(orders)]);
  expect(String(await replay(session, flow))).toMatch(/^identical/);
});

test("a run is done when its end is on record, also where its branch moved while it said so", async () => {
  const plain = memoryStore();
  const other = process(plain);
  let id = "";
  const { store, arm } = meddling(plain, {
    before: async () => {
      await outside(async () => other.save((await other.open(id)).say("meanwhile")));
      await pause(100);
    },
  });
  const seen: string[] = [];
  const watched: Store = {
    ...store,
    append: async (write) => {
      const written = await store.append(write);
      if (write.lease === undefined) return written;
      const { run: runId } = write.lease;
      let ended = false;
      for await (const { envelope } of plain.events({ session: runId })) ended ||= Buffer.from(envelope).includes('"run.ended"');
      for await (const { status } of plain.runs({ id: runId })) seen.push(`${status} ${ended}`);
      return written;
    },
  };
  const flow = new Flow(async (session) => {
    const first = await session.do("one", () => 1, { repeat: "safe" });
    await pause(40);
    arm(session.id);
    const second = await first.do("two", () => 2, { repeat: "safe" });
    // It is being written when the run ends.
    await pause(20);
    return second;
  }, "flow");
  const rath = process(watched, { workflows: { flow } });
  ({ id } = await rath.save(rath.session("begin")));
  const run = await rath.run("flow", await rath.open(id));
  expect((await run.settle()).status).toBe("done");
  expect(seen.at(-1)).toBe("done true");
  expect(seen).not.toContain("done false");
});
