import { expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { kept, otherProcess } from "../../test/support/other-process.ts";
import { mailboxLogId } from "../session/id.ts";
import { memoryStore } from "../store/memory.ts";
import type { EventQuery, Store } from "../store/store.ts";
import { nodePlatform } from "./platform.ts";
import { SentKeys } from "./sent-keys.ts";

/** A run to which signals were sent under each name, and a store that counts what is read of it. */
async function sent(names: readonly string[], sentKeys: readonly string[] = ["a", "b"]) {
  const inner = memoryStore();
  await using rath = otherProcess(inner);
  const run = await rath.run(new Flow((session) => session.receive("never")), rath.session("go"));
  for (const name of names) for (const key of sentKeys) await rath.send(run.id, name, 1, { key });
  let read = 0;
  async function* events(query: EventQuery): ReturnType<Store["events"]> {
    for await (const event of inner.events(query)) {
      read++;
      yield event;
    }
  }
  const store: Store = { ...kept(inner), ...inner, events };
  const cost = async (keys: SentKeys, name: string): Promise<number> => {
    read = 0;
    const found = await keys.of(store, mailboxLogId(nodePlatform, run.id, name));
    expect([...found.keys]).toEqual(["a", "b"]);
    return read;
  };
  return { cost, store, mailbox: mailboxLogId(nodePlatform, run.id, names[0] as string) };
}

test("what was read of a mailbox is not read again, but for its newest signal", async () => {
  const { cost } = await sent(["one"]);
  const keys = new SentKeys({ platform: nodePlatform });
  expect([await cost(keys, "one"), await cost(keys, "one")]).toEqual([2, 1]);
});

test("of too many, the mailboxes that were not used for the longest time are forgotten; the one in use is kept", async () => {
  const { cost } = await sent(["one", "two", "three"]);
  const keys = new SentKeys({ platform: nodePlatform }, 6);
  const costs: number[] = [];
  for (const name of ["one", "two", "one", "three", "one", "two"]) costs.push(await cost(keys, name));
  expect(costs).toEqual([2, 2, 1, 2, 1, 2]);
  const few = new SentKeys({ platform: nodePlatform }, 1);
  expect([await cost(few, "one"), await cost(few, "one")]).toEqual([2, 1]);
});

test.each([[["c"]], [["c", "d", "e"]]])("a mailbox that is another one by now is read from its beginning: %o", async (others) => {
  const [first, second] = [await sent(["one"]), await sent(["one"], others)];
  const keys = new SentKeys({ platform: nodePlatform });
  await first.cost(keys, "one");
  const inItsPlace: Store = { ...second.store, events: (query) => second.store.events({ ...query, session: second.mailbox }) };
  const found = await keys.of(inItsPlace, first.mailbox);
  expect([...found.keys]).toEqual(others);
});
