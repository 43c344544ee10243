/** What people and other programs said, and what was chosen: the parts of a diff that come from outside the session. */
import { expect, test } from "vitest";
import { z } from "zod";
import { Flow } from "../../test/support/flow.ts";
import { Agent } from "../agent/agent.ts";
import { Selector } from "../agent/selector.ts";
import { scripted } from "../model/scripted.ts";
import type { Decision, Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { diff } from "./diff.ts";
import { why } from "./why.ts";

type Said = Decision extends infer D ? (D extends unknown ? Omit<D, "by"> : never) : never;

/** The session a workflow comes to when each thing that waits is told the next of these. */
async function told(flow: Flow | Agent, ...said: readonly (Said | { readonly signal: unknown })[]): Promise<Session> {
  const run = await rath.run(flow, rath.session("go"));
  for (const one of said) {
    const settled = await run.settle();
    const [pending] = settled.status === "waiting" ? settled.pending : [];
    if ("signal" in one) await rath.send(run.id, "ci", one.signal, { by: "service:ci" });
    else await rath.decide(pending?.id ?? "", { by: "human:ada", ...one } as Decision);
  }
  return run.result();
}
const rath = testRath({ implicitForks: "allow" });

/** Its input is checked by a JSON Schema, so that its call does not know yet whether somebody is asked; `risky` does know. */
const ship = tool({
  name: "ship",
  description: "Ships.",
  input: { type: "object", properties: { to: { type: "string" } } },
  repeat: "safe",
  needsApproval: true,
  run: (input) => {
    const { to } = input as { readonly to: string };
    if (to === "nowhere") throw new Error("no such place");
    return `shipped to ${to}`;
  },
});
const shipping = () =>
  new Agent({ name: "clerk", model: scripted({ calls: [{ tool: "ship", input: { to: "home" } }] }, "done"), tools: [ship] });

// Mutants: an approved call that failed counts as another answer; the input that was approved is not compared.
test("the same approval is the same, whatever became of the call; another one is told with what was approved", async () => {
  const [plain, failing, edited, denied] = [
    await told(shipping(), { approve: true }),
    await told(shipping(), { approve: true, input: { to: "nowhere" } }),
    await told(shipping(), { approve: true, input: { to: "sea" } }),
    await told(shipping(), { approve: false, reason: "too far" }),
  ];
  expect((await diff(plain, await told(shipping(), { approve: true }))).identical).toBe(true);
  const changed = await diff(plain, edited);
  expect(changed.answers).toMatchObject([{ a: { kind: "approval", question: "ship" }, b: { kind: "approval", input: { to: "sea" } } }]);
  expect(String(changed)).toMatch(/Answers \(1\)\n~ approval ship\n {4}- approved\n {4}\+ approved with \{"to":"sea"\}/);
  expect(String(await diff(edited, failing))).toMatch(
    /Answers \(1\)\n~ approval ship\n {4}- approved with \{"to":"sea"\}\n {4}\+ approved with \{"to":"nowhere"\}/,
  );
  expect((await diff(plain, denied)).answers).toMatchObject([{ a: { outcome: { type: "ok" } }, b: { outcome: { type: "denied" } } }]);
  expect(String(await diff(plain, denied))).toContain("    - approved\n    + denied too far");
});

test("an approved call that fails on one side differs in its call, not in what was approved", async () => {
  const flaky = (broken: boolean) => {
    const risky = tool({
      name: "risky",
      description: "May fail.",
      input: z.object({}),
      repeat: "safe",
      needsApproval: true,
      run: () => {
        if (broken) throw new Error("broke");
        return "fine";
      },
    });
    return new Agent({ name: "clerk", model: scripted({ calls: [{ tool: "risky", input: {} }] }, "done"), tools: [risky] });
  };
  const found = await diff(await told(flaky(false), { approve: true }), await told(flaky(true), { approve: true }));
  expect(found.answers).toEqual([]);
  expect(found.calls).toMatchObject([{ a: { outcome: { type: "ok" } }, b: { outcome: { type: "error", message: "broke" } } }]);
});

// Mutant: the k-th question of one side is the k-th of the other, whatever it asks.
test("answers belong to their questions, and signals to their names", async () => {
  const asking = (...questions: readonly string[]) =>
    new Flow(async (session) => {
      let at = session;
      for (const question of questions) at = await at.ask(question);
      return at.receive("ci");
    });
  const [a, b] = [
    await told(asking("When?", "Where?"), { answer: "now" }, { answer: "here" }, { signal: { green: true } }),
    await told(asking("Where?"), { answer: "there" }, { signal: { green: false } }),
  ];
  const { answers } = await diff(a, b);
  expect(answers.map(({ a: left, b: right }) => [left?.question, right?.question])).toEqual([
    ["When?", undefined],
    ["Where?", "Where?"],
    ["ci", "ci"],
  ]);
  expect(answers[1]).toMatchObject({ a: { outcome: { value: "here" } }, b: { outcome: { value: "there" } } });
});

test("another choice is told with its reason", async () => {
  const team = (choice: "swim" | "walk", reason: string) =>
    new Selector({
      choices: {
        swim: new Agent({ name: "swim", description: "Swims.", model: scripted("Splash.") }),
        walk: new Agent({ name: "walk", description: "Walks.", model: scripted("Step.") }),
      },
      choose: (session) => (session.text === "" ? { choice, reason } : { choice: "done", reason: "enough" }),
    });
  const base = rath.session("Move");
  const [a, b] = [await team("swim", "it is warm").forward(base.fork("a")), await team("walk", "it is cold").forward(base.fork("b"))];
  const found = await diff(a, b);
  expect(found.routes).toMatchObject([{ a: { choice: "swim", reason: "it is warm" }, b: { choice: "walk", reason: "it is cold" } }]);
  expect(String(found)).toMatch(/Routes \(1\)\n~ .*\n {4}- swim: it is warm\n {4}\+ walk: it is cold/);
});

// Mutant: each side's first difference is looked for by itself.
test("the first difference is in one place: what the other side has much later is none of it", async () => {
  const base = rath.session("go");
  const steps = async (session: Session, ...names: readonly string[]): Promise<Session> => {
    let at = session;
    for (const name of names) at = await at.do(name, () => name, { repeat: "safe" });
    return at;
  };
  const found = await diff(await steps(base.fork("a"), "extra", "one", "two"), await steps(base.fork("b"), "one", "two", "late"));
  expect(found.first.a).toMatchObject({ kind: "do.called", data: { name: "extra" } });
  expect(found.first.b).toBeUndefined();
  expect(String(found)).toMatch(/First difference\n- step \d+ \(\w+\) do extra\n\+ nothing/);
});

test("bytes and numbers that JSON has no words for are told as what they are", async () => {
  const base = rath.session("go");
  const gave = (label: string, value: unknown): Promise<Session> => base.fork(label).do("read", () => value, { repeat: "safe" });
  const found = await diff(await gave("a", new Uint8Array([1, 2, 3])), await gave("b", Number.NaN));
  expect(String(found)).toContain('    - → ok {"$":"bytes","base64":"AQID"}\n    + → ok {"$":"number","text":"NaN"}');
  expect((await diff(await gave("c", Number.NaN), await gave("d", null))).calls).toHaveLength(1);
  const given = await base.do("given", () => 1, { repeat: "safe", input: new Uint8Array([1, 2, 3]) });
  expect(String(await why(given, { event: given.head }))).not.toContain('{"0":1');
});

// Mutant: what was asked for is shown as what was done.
test("why says with which input a call was approved", async () => {
  const session = await told(shipping(), { approve: true, input: { to: "sea" } });
  const { hops } = await why(session, { answer: "done" });
  const result = hops.find(({ relation, event }) => relation === "was-in-context" && event.kind === "tool.returned");
  expect(result?.summary).toBe('ship {"to":"sea"}: "shipped to sea"');
});
