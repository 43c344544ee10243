/** What waits for somebody, as another process on the same store sees it: all of that, and nothing else. */
import { expect, test } from "vitest";
import { z } from "zod";
import { Agent, scripted, tool } from "../../src/index.ts";
import type { Pending, Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Flow } from "../support/flow.ts";
import { process, until } from "../support/processes.ts";

/** Something that is done for as long as nobody lets it end. */
function held(): { readonly done: Promise<void>; end(): void } {
  let end = (): void => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { done, end: () => end() };
}

const shown = (pending: readonly Pending[]): readonly string[] =>
  pending.map((one) => `${one.kind} ${one.kind === "approval" ? one.tool : one.kind === "unknown" ? one.op : ""}`);

/** Both at once, one of them busy. */
const beside = (busy: (session: Session) => Promise<Session>, other: (session: Session) => Promise<Session>): Flow =>
  new Flow(async (session) => {
    const [first] = await Promise.all([other(session.fork("other")), busy(session.fork("busy"))]);
    return first;
  });

test("a call that stands behind another of its batch is nobody's to approve", async () => {
  const { done, end } = held();
  let running = 0;
  const pay = tool({
    name: "pay",
    description: "Pays",
    input: z.object({ to: z.string() }),
    resource: () => "till",
    repeat: "once",
    run: async ({ to }) => {
      running++;
      await done;
      return `paid ${to}`;
    },
  });
  const calls = ["ada", "bob"].map((to) => ({ tool: "pay", input: { to } }));
  const store = memoryStore();
  const here = process(store);
  const agent = new Agent({ name: "clerk", model: scripted({ calls }, "Done"), tools: [pay] });
  const run = await here.run(agent, here.session("Pay both"));
  await until(() => running === 1, "the first of them runs");
  const elsewhere = process(store);
  expect(shown(await elsewhere.pending())).toEqual([]);
  expect(shown(await here.pending())).toEqual([]);
  end();
  expect((await run.result()).output).toBe("Done");
  expect(running).toBe(2);
});

test("an approval that its call does not speak of is seen while the rest of the run goes on", async () => {
  const { done, end } = held();
  // Whether a JSON Schema takes an input is found out later: what is recorded of the call does not say who must approve it.
  const drop = tool({
    name: "drop",
    description: "Drops a table",
    input: { type: "object", properties: { table: { type: "string" } }, required: ["table"] },
    needsApproval: true,
    repeat: "once",
    run: () => "dropped",
  });
  const flow = beside(
    (session) => session.do("work", () => done),
    (session) => session.call(drop, { table: "orders" }),
  );
  const store = memoryStore();
  const here = process(store);
  const elsewhere = process(store);
  const run = await here.run(flow, here.session("Drop it"));
  await until(async () => (await elsewhere.pending()).length > 0, "somebody is asked");
  const pending = await elsewhere.pending();
  expect(shown(pending)).toEqual(["approval drop"]);
  expect(await here.pending()).toEqual(pending);
  await elsewhere.decide(pending[0]?.id as string, { by: "human:ada", approve: true });
  expect(await elsewhere.pending()).toEqual([]);
  end();
  expect((await run.result()).output).toBe("dropped");
});

test("what became of an effect is asked from elsewhere while the rest of its run goes on", async () => {
  const { done, end } = held();
  const send = tool({
    name: "send",
    description: "Sends",
    input: z.object({}),
    repeat: "once",
    timeout: "20ms",
    run: () => new Promise<string>(() => {}),
  });
  const flow = beside(
    (session) => session.do("work", () => done),
    (session) => session.call(send, {}),
  );
  const store = memoryStore();
  const here = process(store);
  const elsewhere = process(store);
  const run = await here.run(flow, here.session("Send it"));
  await until(async () => (await elsewhere.pending()).length > 0, "somebody is asked");
  const pending = await elsewhere.pending();
  expect(shown(pending)).toEqual(["unknown send"]);
  await elsewhere.decide(pending[0]?.id as string, { by: "human:ada", outcome: { type: "ok", value: "sent" } });
  end();
  expect((await run.result()).output).toBe("sent");
});

test("a question of a run that was left while it went on is seen before anybody takes the run up", async () => {
  const flow = (done: Promise<void>): Flow =>
    beside(
      (session) => session.do("work", () => done, { repeat: "safe" }),
      (session) => session.ask("Really?"),
    );
  const store = memoryStore();
  const here = process(store);
  const run = await here.run(flow(new Promise(() => {})), here.session("Ask"));
  await until(async () => (await here.pending()).length > 0, "it is asked");
  await here.close();
  const elsewhere = process(store);
  expect(await (await elsewhere.attach(run.id)).status()).toBe("queued");
  const pending = await elsewhere.pending();
  expect(shown(pending)).toEqual(["question "]);
  expect(await elsewhere.pending({ run: run.id })).toEqual(pending);
  // The answer is there when somebody goes on with it.
  await elsewhere.decide(pending[0]?.id as string, { by: "human:ada", answer: "yes" });
  expect(await elsewhere.pending()).toEqual([]);
  const again = await elsewhere.resume(run.id, { workflow: flow(Promise.resolve()) });
  expect((await again.result()).output).toBe("yes");
});
