import { expect, onTestFinished, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { otherProcess, until } from "../../test/support/other-process.ts";
import { type Rath, tool } from "../index.ts";
import { memoryStore } from "../store/memory.ts";
import { testRath } from "../testing/test-rath.ts";
import { decisions } from "./decisions.ts";

/** Pays when somebody says yes; the process it runs in may end before it can say that it did. */
function paying(paid: () => Promise<string> | string): Flow {
  const pay = tool({ name: "pay", description: "Pays.", input: { type: "object" }, needsApproval: true, run: paid });
  return new Flow(async (session) => session.call(pay, {}), "paying");
}

async function waiting(rath: Rath, kind: string): Promise<string> {
  return until(`something ${kind}`, async () => (await rath.pending()).find((pending) => pending.kind === kind)?.id);
}

// Mutants: marks that a call was started are not asked about; a call that was refused is left out.
test("says who let a call happen and who said what became of it, though the process died in between", async () => {
  const store = memoryStore();
  let began = false;
  const hangs = paying(() => {
    began = true;
    return new Promise(() => {});
  });
  const first = otherProcess(store, { workflows: { paying: hangs } });
  onTestFinished(() => first.close());
  const run = await first.run("paying", first.session("Pay."));
  await first.decide(await waiting(first, "approval"), { by: "human:ada", approve: true, reason: "it is due" });
  await until("the payment", () => began);

  const second = otherProcess(store, { workflows: { paying: paying(() => "paid twice") } });
  onTestFinished(() => second.close());
  const resumed = await second.resume(run.id);
  await second.decide(await waiting(second, "unknown"), { by: "human:bob", outcome: { type: "ok", value: "paid" }, reason: "I saw it" });
  const session = await resumed.result();
  expect(session.output).toBe("paid");
  expect(
    (await decisions(session)).map(({ pending, by, approve, outcome, reason }) => [pending.kind, by, approve ?? outcome, reason]),
  ).toEqual([
    ["approval", "human:ada", true, "it is due"],
    ["unknown", "human:bob", { type: "ok", value: "paid" }, "I saw it"],
  ]);
});

test("says who refused, and nothing of what nobody was asked about or has not answered", async () => {
  await using rath = testRath();
  const run = await rath.run(new Flow(async (session) => (await session.do("look", () => 1)).ask("Why?")), rath.session("Go."));
  const settled = await run.settle();
  expect(await decisions(settled.session)).toEqual([]);
  await rath.decide(await waiting(rath, "question"), { by: "human:ada", answer: "because" });
  // On record at once, whether or not anybody has taken the run up since.
  expect(await decisions(settled.session)).toMatchObject([{ by: "human:ada" }]);
  expect(await decisions(await run.result())).toMatchObject([
    { pending: { kind: "question", question: "Why?" }, by: "human:ada", answer: "because" },
  ]);
});
