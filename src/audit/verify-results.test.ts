/** A call has one result: a record in which one has two is found. */
import { expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { envelopeOf, Forgery } from "../../test/support/forgery.ts";
import { composeRath } from "../openrath.ts";
import { memoryStore } from "../store/memory.ts";
import type { StoredEvent } from "../store/store.ts";
import { verify } from "./verify.ts";

// Mutant: results are only asked whether they have a call.
test("a second result of a call is found", async () => {
  const store = memoryStore();
  const rath = composeRath({ store }, {});
  const flow = new Flow(async (session) => (await session.do("first", () => 1)).do("second", () => 2));
  const done = await (await rath.run(flow, rath.session("go"))).result();
  expect((await verify(done)).problems).toEqual([]);
  const forgery = await Forgery.of(store);
  const [call] = forgery.ofKind("do.called") as [StoredEvent];
  const [, second] = forgery.ofKind("do.returned") as [StoredEvent, StoredEvent];
  const facts = Object.entries({ ...envelopeOf(second).facts, call: call.id }).sort(([a], [b]) => (a < b ? -1 : 1));
  forgery.rewrite(second, { facts: Object.fromEntries(facts) });
  const forged = memoryStore();
  await forgery.into(forged);
  await using other = composeRath({ store: forged }, {});
  const { problems } = await verify(await other.open(done.id));
  expect(problems.map(({ problem }) => problem)).toContain(`it is a second result of the call ${call.id}`);
});
