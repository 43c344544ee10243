/** Decisions that cannot be taken: each is a typed error that says why, and nothing is changed by it. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent, type Rath, type Session, scripted, tool } from "../../src/index.ts";
import type { Decision, Pending } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Life, rathOf } from "../crash/world.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess, until } from "../support/other-process.ts";

/** A digest of everything that is on record: events, logs, runs. */
async function bytesOf(store: Store): Promise<string> {
  const hash = createHash("sha256");
  for await (const row of store.sessions({})) {
    hash.update(JSON.stringify(row));
    for await (const { id, envelope, data } of store.events({ session: row.id }))
      hash
        .update(id)
        .update(envelope)
        .update(data ?? "");
  }
  for await (const row of store.runs({})) hash.update(JSON.stringify({ ...row, woken: undefined }));
  return hash.digest("hex");
}

const pay = tool({ name: "pay", description: "Pays.", input: z.object({ to: z.string() }), needsApproval: true, run: () => "paid" });

/** One run that waits for a question, an approval, a timer and a lost effect; one question that was answered, one that expired. */
class Desk {
  readonly store: Store = memoryStore();
  readonly ids: Partial<Record<Pending["kind"] | "answered" | "expired" | "ended", string>> = {};
  run = "";

  workflow = (life: Life): Flow =>
    new Flow(async (session) => {
      const first = await session.ask("First?");
      const second = await first.ask("In time?", undefined, { expires: "30ms" }).catch((error: { session: Session }) => error.session);
      const ends = await Promise.all([
        second.fork("q").ask("How many?", z.object({ count: z.number() })),
        second.fork("a").call(pay, { to: "ann" }),
        second.fork("t").wait("1h"),
        second.fork("u").do("send", () => {
          life.dead = true;
          return new Promise<string>(() => {});
        }),
      ]);
      return (ends[0] as Session).merge(ends.slice(1));
    });

  async open(): Promise<void> {
    const life = new Life();
    const first = rathOf(this.store, life, { workflows: { flow: this.workflow(life) } });
    const run = await first.run("flow", first.session("go"));
    this.run = run.id;
    const asked = async (question: string): Promise<string> =>
      (await until(question, async () =>
        (await first.pending({ run: run.id })).find((one) => one.kind === "question" && one.question === question),
      ))!.id;
    this.ids.answered = await asked("First?");
    await first.decide(this.ids.answered, { by: "human:ann", answer: "yes" });
    this.ids.expired = await asked("In time?");
    await until("its death", () => life.dead);
    void first.close();
    const heir = rathOf(this.store, new Life(), { workflows: { flow: this.workflow(new Life()) } });
    const settled = await (await heir.resume(this.run)).settle();
    if (settled.status !== "waiting") throw new Error(settled.status);
    for (const { kind, id } of settled.pending) this.ids[kind] = id;
    await heir.close();
  }
}

const desk = new Desk();
let rath: Rath;
beforeAll(async () => {
  await desk.open();
  rath = otherProcess(desk.store);
});
afterAll(() => rath.close());

async function refused(act: () => Promise<unknown>, code: string, message: RegExp = /./): Promise<void> {
  const before = await bytesOf(desk.store);
  const pending = await rath.pending();
  await expect(act()).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  expect(await bytesOf(desk.store)).toBe(before);
  expect(await rath.pending()).toEqual(pending);
}

const circular: { self?: unknown } = {};
circular.self = circular;
const yes = { by: "human:bob", approve: true } as const;
const text = { by: "human:bob", answer: "yes" } as const;
const ok = { by: "human:bob", outcome: { type: "ok", value: 1 } } as const;
const count = { by: "human:bob", answer: { count: 1 } } as const;

test("the digest sees what a decision would change", async () => {
  const other = new Desk();
  await other.open();
  const before = await bytesOf(other.store);
  await using client = otherProcess(other.store);
  await client.decide(other.ids.question as string, count);
  expect(await bytesOf(other.store)).not.toBe(before);
});

describe("a decision on what does not wait is refused", () => {
  test("unknown ids, and ids of events that ask nothing", async () => {
    let session: Session | undefined;
    for await (const one of rath.sessions()) session ??= one;
    const said = [...(session as Session).events()].find(({ kind }) => kind === "message.added")?.id as string;
    for (const id of ["", "nothing", "0".repeat(64), (session as Session).id, desk.run, said])
      await refused(() => rath.decide(id, text), "pending.not-found");
    await refused(() => rath.decision("nothing"), "pending.not-found");
    await refused(() => rath.decide(undefined as never, text), "pending.not-found");
  });

  test("answered before, and expired", async () => {
    await refused(() => rath.decide(desk.ids.answered as string, text), "pending.answered", /has a result already/);
    await refused(() => rath.decide(desk.ids.expired as string, text), "pending.answered", /has a result already/);
  });
});

describe("a yes or no that nobody asked for is refused", () => {
  // Mutant: it is taken, and nobody hears it.
  test.each<readonly [string, (rath: Rath, agent: Agent) => Promise<unknown>]>([
    ["in a run", async (here, agent) => (await here.run(agent, here.session("go"))).result()],
    ["outside a run", (here, agent) => agent.forward(here.session("go"))],
  ])("%s, where a call waits for its turn", async (_, work) => {
    const store = memoryStore();
    await using here = otherProcess(store);
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const write = tool({ name: "write", description: "Writes.", input: z.object({}), resource: () => "book", run: () => ended });
    const calls = [1, 2].map(() => ({ tool: "write", input: {} }));
    const working = work(here, new Agent({ model: scripted({ calls }, "done"), tools: [write] }));
    const queued = await until("the second call", async () => {
      const found: string[] = [];
      for await (const { id: session } of store.sessions({ log: "session" }))
        for await (const { id, envelope } of store.events({ session })) if (Buffer.from(envelope).includes('"tool.called"')) found.push(id);
      return found[1];
    });
    await expect(here.decide(queued, yes)).rejects.toMatchObject({ code: "pending.not-found", message: expect.stringContaining(queued) });
    await expect(here.decision(queued)).resolves.not.toHaveProperty("approve");
    end();
    await working;
  });
});

describe("a decision of another kind than what waits is refused", () => {
  const cases: readonly (readonly ["question" | "approval" | "unknown" | "timer", string, unknown])[] = [
    ["question", "an approval", yes],
    ["question", "an outcome", ok],
    ["question", "an answer that does not fit", text],
    ["question", "an answer with an approval", { ...count, approve: true }],
    ["question", "an unknown field", { ...count, anwser: 1 }],
    ["question", "no answer", { by: "human:bob" }],
    ["question", "nothing", undefined],
    ["question", "null", null],
    ["question", "a text", "yes"],
    ["question", "a reason that is no text", { ...count, reason: 7 }],
    ["approval", "an answer", text],
    ["approval", "an outcome", ok],
    ["approval", "a yes in words", { by: "human:bob", approve: "yes" }],
    ["approval", "an input that does not fit", { ...yes, input: { to: 7 } }],
    ["approval", "an input that is none", { ...yes, input: null }],
    ["unknown", "an approval", yes],
    ["unknown", "an answer", text],
    ["unknown", "no outcome", { by: "human:bob", outcome: null }],
    ["unknown", "an unknown word", { by: "human:bob", outcome: "again" }],
    ["unknown", "an outcome without type", { by: "human:bob", outcome: { value: 1 } }],
    ["unknown", "unknown as an outcome", { by: "human:bob", outcome: { type: "unknown" } }],
    ["unknown", "a name from the prototype", { by: "human:bob", outcome: { type: "constructor" } }],
    ["unknown", "an error without words", { by: "human:bob", outcome: { type: "error" } }],
    ["unknown", "a refusal without a reason", { by: "human:bob", outcome: { type: "denied", reason: 7 } }],
    ["unknown", "a field that no result has", { by: "human:bob", outcome: { type: "error", message: "x", value: 1 } }],
    ["timer", "an answer", text],
    ["timer", "an approval", yes],
    ["timer", "an outcome", ok],
  ];
  test.each(cases)("%s: %s", async (kind, _, decision) => {
    await refused(() => rath.decide(desk.ids[kind] as string, decision as Decision), "pending.invalid-answer", /does not fit/);
  });
});

describe("who decides must be said", () => {
  test.each<readonly [string, unknown]>([
    ["nobody", undefined],
    ["an empty name", ""],
    ["blanks", "  "],
    ["a number", 7],
    ["an object", { name: "bob" }],
    ["a name longer than 500 characters", "b".repeat(501)],
  ])("%s", async (_, by) => {
    for (const [kind, decision] of [["question", count] as const, ["approval", yes] as const, ["unknown", ok] as const])
      await refused(() => rath.decide(desk.ids[kind] as string, { ...decision, by: by as string }), "pending.invalid-answer");
  });

  test("a name that is no text in Unicode", async () => {
    await refused(() => rath.decide(desk.ids.question as string, { ...count, by: "\ud800" }), "value.unsupported");
  });
});

describe("what cannot be stored is refused", () => {
  test.each<readonly [string, unknown]>([
    ["a function", () => 1],
    ["a big integer", 10n],
    ["a symbol", Symbol("x")],
    ["itself", circular],
    ["a map", new Map([[1, 2]])],
  ])("%s", async (_, value) => {
    await refused(() => rath.decide(desk.ids.unknown as string, { by: "h", outcome: { type: "ok", value } }), "value.unsupported");
  });
});

describe("a run that cannot be taken up", () => {
  test("whose workflow is not known here is left as it is", async () => {
    await refused(() => rath.resume(desk.run), "run.unknown-workflow", /flow/);
  });

  test("that does not exist", async () => {
    await refused(() => rath.resume("nothing"), "run.not-found");
    await refused(() => rath.attach("nothing"), "run.not-found");
  });
});
