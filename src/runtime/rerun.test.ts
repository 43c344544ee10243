import { describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { composeRath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { beginRerun, rerun, withMessage } from "./rerun.ts";

function memory() {
  return composeRath({ store: "memory", implicitForks: "allow" }, {});
}

/** Twenty effects; the sixth and the ninth depend on the fifth. */
function twenty(calls: string[]): Flow {
  return new Flow(async (session) => {
    const outputs: number[] = [];
    let at = session;
    for (let index = 1; index <= 20; index++) {
      const input = index === 6 || index === 9 ? { fifth: outputs[5] } : { index };
      const run = (): number => {
        calls.push(`effect ${index}`);
        return index * 10;
      };
      const effect = await at.do(`effect ${index}`, run, { repeat: "safe", input });
      outputs[index] = effect.output;
      at = effect;
    }
    return at;
  });
}

function idOf(session: Session, name: string): string {
  return [...session.events()].find((event) => event.kind === "do.called" && (event.data as { name: string }).name === name)?.id as string;
}

describe("rerun", () => {
  test("that changes effect 5 of 20, where only 6 and 9 depend on it, reuses exactly 17 results", async () => {
    await using rath = memory();
    const calls: string[] = [];
    const flow = twenty(calls);
    const done = await flow.forward(rath.session("go"));
    calls.length = 0;
    const again = await rerun(done, flow, { change: { event: idOf(done, "effect 5"), output: 555 } });
    expect(again).toMatchObject({ reused: 17, of: 20 });
    expect(calls).toEqual(["effect 6", "effect 9"]);
    expect(again.split?.data).toMatchObject({ name: "effect 5" });
    expect(again.session.id).not.toBe(done.id);
    expect((await rath.open(done.id)).head).toBe(done.head);
  });

  test("that changes a result does what has no input again after it: its history is another one", async () => {
    await using rath = memory();
    const calls: string[] = [];
    const flow = new Flow(async (session) => {
      const first = await session.do("first", () => "a", { repeat: "safe" });
      return first.do("second", () => calls.push("second"), { repeat: "safe" });
    });
    const done = await flow.forward(rath.session("go"));
    const again = await rerun(done, flow, { change: { event: idOf(done, "first"), output: "b" } });
    expect(again).toMatchObject({ reused: 0, of: 2 });
    expect(String(again)).toMatch(/^0 of 2 results reused; the first that was not: do\.called at step \d+$/);
    expect(calls).toHaveLength(2);
  });

  test("of a program whose inputs do not name what they depend on reuses 19: only inputs tell", async () => {
    await using rath = memory();
    const blind = new Flow(async (session) => {
      let at = session;
      for (let index = 1; index <= 20; index++) at = await at.do(`effect ${index}`, () => index * 10, { repeat: "safe", input: { index } });
      return at;
    });
    const done = await blind.forward(rath.session("go"));
    const again = await rerun(done, blind, { change: { event: idOf(done, "effect 5"), output: 555 } });
    expect(again).toMatchObject({ reused: 19, of: 20 });
  });

  test("an unchanged program reuses everything, costs nothing, and answers chance as at the source", async () => {
    await using rath = memory();
    const seen: string[] = [];
    const flow = new Flow(async (session) => {
      const one = await session.do("one", () => 1, { repeat: "safe" });
      seen.push(one.uuid(), String(one.random()), one.now().toISOString());
      return one.do("two", () => one.output, { repeat: "safe" });
    });
    const done = await flow.forward(rath.session("go"));
    const again = await rerun(done, flow);
    expect(again).toMatchObject({ reused: 2, of: 2, split: undefined });
    expect(seen.slice(3)).toEqual(seen.slice(0, 3));
    const reused = [...again.session.events()].filter((event) => event.facts.source !== undefined);
    expect(reused.map((event) => event.facts.source)).toEqual(
      [...done.events()].filter((event) => event.kind === "do.returned").map((event) => event.id),
    );
  });

  test("without an input an effect is equal only with an equal history", async () => {
    await using rath = memory();
    const flow = new Flow(async (session) => (await session.do("one", () => 1, { repeat: "safe" })).do("two", () => 2, { repeat: "safe" }));
    const done = await flow.forward(rath.session("go"));
    const again = await rerun(done, flow, { change: (session) => session.say("something else") });
    expect(again).toMatchObject({ reused: 0, of: 2 });
  });

  test("effects that may not be repeated stop and ask, or run when told to", async () => {
    await using rath = memory();
    let paid = 0;
    const flow = new Flow((session) => session.do("pay", () => ++paid, { input: { to: session.messages.at(-1)?.text } }));
    const done = await flow.forward(rath.session("Ada"));
    const change = (session: Session): Session => session.say("Bob");
    const live = await rerun(done, flow, { change, effects: "live" });
    expect([live.session.output, paid]).toEqual([2, 2]);

    const asking = rerun(done, flow, { change });
    let pending: Awaited<ReturnType<typeof rath.pending>> = [];
    while (pending.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      pending = await rath.pending();
    }
    expect(pending[0]).toMatchObject({ kind: "approval", tool: "pay", input: { to: "Bob" } });
    expect(paid).toBe(2);
    await rath.decide(pending[0]?.id as string, { by: "human:ada", approve: true });
    expect((await asking).session.output).toBe(3);
  });

  test("changes the value the program holds at a step", async () => {
    await using rath = memory();
    const flow = new Flow(async (session) => {
      const one = await session.do("one", () => 1, { repeat: "safe", input: 1 });
      return one.do("two", () => one.messages.length, { repeat: "safe", input: one.messages.length });
    });
    const done = await flow.forward(rath.session("go"));
    const step = [...done.events()].find((event) => event.kind === "do.returned")?.step as number;
    const again = await rerun(done, flow, { from: step, change: (session) => session.say("more") });
    expect(again).toMatchObject({ reused: 1, of: 2 });
    expect(again.session.messages.map((message) => message.text)).toEqual(["go", "more"]);
    expect(again.session.messages.map((message) => message.by)).toEqual(["user", "user"]);
  });

  // Mutant: what is changed is changed in nobody's name.
  test("what is changed is changed by whoever asks, and what follows is done by the workflow", async () => {
    await using rath = memory();
    const flow = new Flow(async (session) => (await session.do("one", () => 1)).say("done"), "flow");
    const done = await (await rath.run(flow, rath.session("go", { principal: "human:bob" }))).result();
    const change = (session: Session): Session => withMessage(session, "go back", true);
    const { session } = await (await beginRerun(done, flow, { change, effects: "live", by: "human:ada" })).ended;
    expect(session.messages.map(({ text, by }) => [text, by])).toEqual([
      ["go back", "human:ada"],
      ["done", done.messages.at(-1)?.by],
    ]);
    const unnamed = await rerun(done, flow, { change, effects: "live" });
    expect(unnamed.session.messages[0]).toMatchObject({ text: "go back", by: "human:bob" });
  });

  test.each([
    ["a text", "Go on.", /^rerun\.change is a string: give \{ event, output \}, /],
    [
      "a field that is not there",
      { message: "Go on." },
      /^rerun\.change\.message is not known: use one of event, output, model, instructions/,
    ],
    ["a misspelt output", { event: "e", ouput: 1 }, /^rerun\.change\.ouput is not known/],
    ["no event", { output: 1 }, /^rerun\.change\.event is undefined: give a string/],
  ])("a change that is %s is refused: nothing would be changed", async (_, change, message) => {
    await using rath = memory();
    const flow = twenty([]);
    const done = await flow.forward(rath.session("go"));
    await expect(rerun(done, flow, { change: change as never })).rejects.toMatchObject({
      code: "value.unsupported",
      message: expect.stringMatching(message),
    });
  });

  test("the name of a workflow is refused: what it does is needed", async () => {
    await using rath = memory();
    const done = await twenty([]).forward(rath.session("go"));
    await expect(rerun(done, "twenty" as never)).rejects.toMatchObject({
      message: expect.stringMatching(/^workflow is "twenty": give the workflow itself/),
    });
  });

  test("an event of another run is refused", async () => {
    await using rath = memory();
    const flow = new Flow((session) => session.do("one", () => 1));
    const done = await flow.forward(rath.session());
    await expect(rerun(done, flow, { change: { event: "0".repeat(64), output: 1 } })).rejects.toMatchObject({ code: "session.not-found" });
  });

  test.each([
    ["change", () => new Flow((session) => session.do("one", () => 1)), () => raise()],
    ["workflow", () => new Flow(() => raise()), undefined],
  ] as const)("a %s that throws at once ends the run, which stays on record as failed", async (_, workflow, change) => {
    const store = memoryStore();
    await using rath = composeRath({ store, implicitForks: "allow" }, {});
    const done = await new Flow((session) => session.do("one", () => 1)).forward(rath.session());
    await expect(rerun(done, workflow(), { change })).rejects.toThrow("not like this");
    const ended: unknown[] = [];
    for await (const { id } of store.sessions({ log: "run" }))
      for await (const { envelope, data } of store.events({ session: id }))
        if (Buffer.from(envelope).includes("run.ended"))
          ended.push(
            JSON.parse(
              Buffer.from(data as Uint8Array)
                .subarray(16)
                .toString(),
            ),
          );
    expect(ended).toMatchObject([{ status: "done" }, { status: "failed", message: "not like this" }]);
  });
});

function raise(): never {
  throw new Error("not like this");
}
