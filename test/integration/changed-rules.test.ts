/** Rules that are others when a run is resumed: what was asked of a person, and what that person said, is taken from the record. */
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Run } from "../../src/runtime/run-handle.ts";
import type { Decision, Duration, Pending, Repeat, Schema, Tool } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { mcp } from "../../src/tool/mcp.ts";
import type { Policy } from "../../src/tool/policy.ts";
import { tool } from "../../src/tool/tool.ts";
import { Flow } from "../support/flow.ts";
import { fixture, toolOf } from "../support/mcp/calls.ts";
import { otherProcess, until } from "../support/other-process.ts";

const asking: Policy = { needsApproval: () => true };
const allowing: Policy = {};
const denying: Policy = { deny: ["pay"] };
const lost: Policy = {
  needsApproval: () => {
    throw new Error("no idea");
  },
};

type Payment = { readonly to: string; readonly amount: number };
const asked: Payment = { to: "ann", amount: 1000 };
const smaller: Payment = { to: "ann", amount: 10 };
const yes = { by: "ann", approve: true } as const;
const no = { by: "ann", approve: false, reason: "too much" } as const;

/** Neither says in its call whether a person is asked: its input is checked later, or may be. */
const schemas = {
  "a JSON Schema": {
    type: "object",
    properties: { to: { type: "string" }, amount: { type: "number" } },
    required: ["to", "amount"],
  },
  "a schema that takes its time": z.object({ to: z.string().refine(async () => true), amount: z.number() }),
} as const;

/** In the first process nobody comes to know whether an input fits it. */
const late = z
  .object({ to: z.string(), amount: z.number() })
  .refine(() => (isLate ? new Promise<boolean>(() => {}) : Promise.resolve(true)));
let isLate = false;

/** One run in one process after the other, each with its own rules. */
class Deployed {
  readonly store = memoryStore();
  /** What was begun to be paid, and what was paid. */
  readonly begun: number[] = [];
  readonly paid: number[] = [];
  /** Nothing that is begun comes to an end. */
  hangs = false;
  readonly #flow: Flow;
  #run = "";

  constructor(repeat: Repeat, input: Schema = schemas["a JSON Schema"], more: { readonly approvalExpires?: Duration } = {}) {
    const pay = tool({ name: "pay", description: "Pays.", repeat, input, run: (given) => this.#pay(given as Payment), ...more });
    this.#flow = new Flow((session) => session.call(pay as Tool, asked));
  }

  async #pay({ amount }: Payment): Promise<string> {
    this.begun.push(amount);
    if (this.hangs) await new Promise(() => {});
    this.paid.push(amount);
    return `paid ${amount}`;
  }

  /** The next process with the run. */
  async under(policy: Policy): Promise<{ readonly rath: Rath; readonly run: Run }> {
    const rath = otherProcess(this.store, { workflows: { flow: this.#flow }, policy });
    onTestFinished(() => rath.close());
    const run = await (this.#run === "" ? rath.run("flow", rath.session("go")) : rath.resume(this.#run));
    this.#run = run.id;
    return { rath, run };
  }

  /** It begins to pay in a process with these rules, which then ends. */
  async dies(policy: Policy, decision?: Decision): Promise<void> {
    const before = this.begun.length;
    this.hangs = true;
    const { rath } = await this.under(policy);
    if (decision !== undefined) await rath.decide((await waiting(rath)).id, decision);
    await until("the payment", () => this.begun.length > before);
    await rath.close();
    this.hangs = false;
  }

  /** It asks a person in a process with these rules, which then ends. */
  asks(policy: Policy = asking): Promise<Pending> {
    return this.#waitsFor("approval", policy);
  }

  /** It asks a person what became of it in a process with these rules, which then ends. */
  loses(policy: Policy): Promise<Pending> {
    return this.#waitsFor("unknown", policy);
  }

  async #waitsFor(kind: Pending["kind"], policy: Policy): Promise<Pending> {
    const { rath, run } = await this.under(policy);
    const { status } = await run.settle();
    const pending = await waiting(rath);
    await rath.close();
    expect([status, pending.kind]).toEqual(["waiting", kind]);
    return pending;
  }

  /** The call is on record in a process with these rules, which ends before it knows whether to ask. */
  async called(policy: Policy): Promise<{ readonly id: string }> {
    isLate = true;
    const { rath, run } = await this.under(policy);
    const called = await until("the call", async () => {
      for await (const event of this.store.events({ run: run.id })) if (Buffer.from(event.envelope).includes('"tool.called"')) return event;
      return undefined;
    });
    await rath.close();
    isLate = false;
    return called;
  }

  /** Somebody decides where nobody executes it. */
  async decides({ id }: { readonly id: string }, decision: Decision): Promise<void> {
    await using desk = otherProcess(this.store);
    await desk.decide(id, decision);
  }
}

const waiting = (rath: Rath): Promise<Pending> => until("what waits", async () => (await rath.pending())[0]);

async function came(run: Run): Promise<unknown> {
  const settled = await run.settle();
  if (settled.status === "done") return settled.session.output;
  return settled.status === "failed" ? settled.error.code : settled.status;
}

describe.each(Object.entries(schemas))("with %s, where nobody would be asked any more", (_, input) => {
  test("what was denied does not run", async () => {
    const it = new Deployed("keyed", input);
    await it.decides(await it.asks(), no);
    const { run } = await it.under(allowing);
    expect([await came(run), it.begun]).toEqual(["effect.denied", []]);
  });

  test("what was approved with another input, and not begun, runs with that", async () => {
    const it = new Deployed("once", input);
    await it.decides(await it.asks(), { ...yes, input: smaller });
    const { run } = await it.under(allowing);
    expect([await came(run), it.begun]).toEqual(["paid 10", [10]]);
  });

  test.each(["keyed", "safe"] as const)("what was begun with another input goes on with that, as it is %s", async (repeat) => {
    const it = new Deployed(repeat, input);
    await it.dies(asking, { ...yes, input: smaller });
    const { run } = await it.under(allowing);
    expect([await came(run), it.begun]).toEqual(["paid 10", [10, 10]]);
  });

  test("what is unknown runs again with what was approved, however often it is lost", async () => {
    const it = new Deployed("once", input);
    await it.dies(asking, { ...yes, input: smaller });
    await it.dies(allowing, { by: "ann", outcome: "run-again" });
    const { run, rath } = await it.under(allowing);
    await rath.decide((await waiting(rath)).id, { by: "ann", outcome: "run-again" });
    expect([await came(run), it.begun, it.paid]).toEqual(["paid 10", [10, 10, 10], [10]]);
  });
});

describe("where nobody would be asked any more", () => {
  test("what somebody was asked waits for the answer", async () => {
    const it = new Deployed("keyed");
    const first = await it.asks();
    expect(await it.asks(allowing)).toEqual(first);
    await it.decides(first, { ...yes, input: smaller });
    const { run } = await it.under(allowing);
    expect([await came(run), it.begun]).toEqual(["paid 10", [10]]);
  });

  test("what nobody answered in time stays expired", async () => {
    const it = new Deployed("keyed", undefined, { approvalExpires: "2s" });
    const { id, expires } = (await it.asks()) as Extract<Pending, { kind: "approval" }>;
    await until("its time", () => new Date().toISOString() > (expires as string));
    const { run, rath } = await it.under(allowing);
    expect([await came(run), it.begun, await rath.decision(id)]).toEqual([
      "effect.expired",
      [],
      expect.objectContaining({ expired: true }),
    ]);
  });

  // Mutant: it is taken, ignored by whoever executes the run, and heard by whoever resumes it.
  test.each([yes, no])("who decides before being asked is refused: %o", async (decision) => {
    const it = new Deployed("once", late);
    await expect(it.decides(await it.called(asking), decision)).rejects.toMatchObject({
      code: "pending.not-found",
      message: expect.stringMatching(/^Nobody is asked to approve /),
    });
    const { run } = await it.under(allowing);
    expect([await came(run), it.begun]).toEqual(["paid 1000", [1000]]);
  });

  test("a tool of an MCP server that was denied is not called, and one that was approved is called with what was approved", async () => {
    await using server = await mcp(fixture());
    const weather = toolOf(server, "weather");
    const flow = new Flow((session) => session.call(weather, { city: "Rome" }));
    for (const [decision, expected] of [
      [no, "effect.denied"],
      [{ ...yes, input: { city: "Oslo" } }, expect.stringContaining("Oslo")],
    ] as const) {
      const store = memoryStore();
      const first = otherProcess(store, { workflows: { flow }, policy: asking });
      const { id } = await first.run("flow", first.session("go"));
      const pending = await waiting(first);
      await first.close();
      await using desk = otherProcess(store);
      await desk.decide(pending.id, decision);
      await using second = otherProcess(store, { workflows: { flow }, policy: allowing });
      expect(await came(await second.resume(id))).toEqual(expected);
    }
  });
});

describe("where a person would be asked by now", () => {
  test("what was begun unasked goes on", async () => {
    const it = new Deployed("keyed");
    await it.dies(allowing);
    const { run } = await it.under(asking);
    expect([await came(run), it.begun]).toEqual(["paid 1000", [1000, 1000]]);
  });

  test("what was begun unasked and is lost is asked about as lost, again and again", async () => {
    const it = new Deployed("once");
    await it.dies(allowing);
    await it.dies(asking, { by: "ann", outcome: "run-again" });
    const { run, rath } = await it.under(asking);
    expect([await came(run), (await waiting(rath)).kind, it.begun]).toEqual(["waiting", "unknown", [1000, 1000]]);
  });

  test("what was called and not begun is asked", async () => {
    const it = new Deployed("keyed", late);
    await it.called(allowing);
    await it.decides(await it.asks(), { ...yes, input: smaller });
    const { run } = await it.under(asking);
    expect([await came(run), it.begun]).toEqual(["paid 10", [10]]);
  });
});

describe("where it is refused by now", () => {
  test.each([{}, { input: smaller }])("what was approved does not run (%o)", async (more) => {
    const it = new Deployed("keyed");
    await it.decides(await it.asks(), { ...yes, ...more });
    const { run } = await it.under(denying);
    expect([await came(run), it.begun]).toEqual(["effect.denied", []]);
  });

  test("what was asked is not asked any more", async () => {
    const it = new Deployed("keyed");
    await it.asks();
    const { run } = await it.under(denying);
    expect([await came(run), it.begun]).toEqual(["effect.denied", []]);
  });

  // Mutant: it is denied by the rules of today, as if it had never begun.
  test.each(["once", "keyed", "nested"] as const)("what was begun may have happened, and a person says so, as it is %s", async (repeat) => {
    const it = new Deployed(repeat);
    await it.dies(allowing);
    const pending = await it.loses(denying);
    await it.decides(pending, { by: "ann", outcome: { type: "ok", value: "paid, says the bank" } });
    const { run } = await it.under(denying);
    expect([await came(run), it.begun]).toEqual(["paid, says the bank", [1000]]);
  });

  test("what was begun with what was approved is not begun again, whatever a person says", async () => {
    const it = new Deployed("keyed");
    await it.dies(asking, { ...yes, input: smaller });
    await it.decides(await it.loses(denying), { by: "ann", outcome: "run-again" });
    const { run } = await it.under(denying);
    expect([await came(run), it.begun]).toEqual(["effect.denied", [10]]);
  });

  // Mutant: what a person said is not looked for where it may be repeated.
  test("what a person said of it is heard where it would be done again", async () => {
    const it = new Deployed("keyed");
    await it.dies(allowing);
    const pending = await it.loses(denying);
    expect(await it.loses(allowing)).toEqual(pending);
    await it.decides(pending, { by: "ann", outcome: { type: "ok", value: "paid, says the bank" } });
    const { run } = await it.under(allowing);
    expect([await came(run), it.begun]).toEqual(["paid, says the bank", [1000]]);
  });

  test("what was begun and did no harm is refused", async () => {
    const it = new Deployed("safe");
    await it.dies(allowing);
    const { run } = await it.under(denying);
    expect([await came(run), it.begun]).toEqual(["effect.denied", [1000]]);
  });

  test("by rules that cannot say, what was approved does not run", async () => {
    const it = new Deployed("keyed", schemas["a schema that takes its time"]);
    await it.decides(await it.asks(), yes);
    const { run } = await it.under(lost);
    expect([await came(run), it.begun]).toEqual(["effect.denied", []]);
  });
});
