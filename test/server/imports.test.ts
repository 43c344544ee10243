/** What a bundle brings in somebody's name: only what its importer could have said here, unless they act for people. */
import { describe, expect, test } from "vitest";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { answerLogId } from "../../src/session/id.ts";
import { both, keyOf, parked, refused, saidElsewhere, sessionCalled, upload, withResult } from "../support/uploads.ts";
import { worked } from "../support/worked.ts";

describe("an answer in a bundle", () => {
  // Mutant: what was said to runs is not looked at.
  test.each([false, true])("in the name of whom was asked is refused, and the run still waits; gone on elsewhere: %s", async (goesOn) => {
    await using server = await worked();
    const { pending, bundle } = await parked(server, "askAda");
    const forged = await saidElsewhere(
      bundle,
      pending,
      async (machine) => (await machine.as("human:ada", ["approver"])).ask("decide", { pending: pending.id }, { answer: "yes" }),
      goesOn,
    );
    expect(await upload(server, forged, await keyOf(server, "human:bo"))).toMatchObject(refused);
    expect(await server.ask("getPendingOne", { pending: pending.id })).toMatchObject({ waits: true });
    expect(await server.ask("getDecision", { pending: pending.id })).not.toHaveProperty("by");
    // A bundle that brings nothing new is nobody's forgery.
    expect((await upload(server, bundle, await keyOf(server, "human:bo"))).status).toBe(201);
    expect((await upload(server, forged)).status).toBe(201);
    expect(await server.ask("getDecision", { pending: pending.id })).toMatchObject({ by: "human:ada", answer: "yes" });
  });

  // Mutant: whether the caller is asked is not looked at.
  test("to a question for somebody else is refused also in one's own name, and in nobody's", async () => {
    await using server = await worked();
    const { pending, bundle } = await parked(server, "askAda");
    const own = await saidElsewhere(bundle, pending, async (machine) =>
      (await machine.as("human:bo", ["admin"])).ask("decide", { pending: pending.id }, { answer: "yes" }),
    );
    const key = await keyOf(server, "human:bo");
    for (const forged of [own, withResult(bundle, pending.session, "ask.returned")])
      expect(await upload(server, forged, key)).toMatchObject(refused);
    expect(await server.ask("getPendingOne", { pending: pending.id })).toMatchObject({ waits: true });
    // It was refused for who brought it, and for nothing else.
    expect((await upload(server, withResult(bundle, pending.session, "ask.returned"))).status).toBe(201);
  });

  // Mutants: every answer needs people:act; in whose name it is, is not looked at.
  test.each(["askAny", "ask", "approve"])("that the importer could have given here comes in: %s", async (workflow) => {
    await using server = await worked();
    const { pending, bundle } = await parked(server, workflow);
    const decision = workflow === "approve" ? { approve: true } : { answer: workflow === "ask" ? { send: true } : "yes" };
    const said = (by: string) =>
      saidElsewhere(
        bundle,
        pending,
        async (machine) => (await machine.as(by, both)).ask("decide", { pending: pending.id }, decision),
        true,
      );
    await using elsewhere = await worked({ idle: true });
    const key = await keyOf(elsewhere, "human:bo");
    // Ended or not: it can be run again from any place.
    expect(await upload(elsewhere, await said("human:eve"), key)).toMatchObject(refused);
    expect((await elsewhere.ask("getSessions")).items).toEqual([]);
    expect((await upload(elsewhere, await said("human:bo"), key)).status).toBe(201);
    expect(await elsewhere.ask("getDecision", { pending: pending.id })).toMatchObject({ by: "human:bo" });
  });
});

// Mutants: signals are not looked at; runs:write is not.
test("a signal in a bundle is the importer's own, who may send signals", async () => {
  await using server = await worked();
  const { pending, bundle } = await parked(server, "receive");
  const sent = (by: string) =>
    saidElsewhere(bundle, pending, async (machine) =>
      (await machine.as(by, both)).ask("sendSignal", { run: pending.run }, { signal: "paid", data: 1 }),
    );
  const own = await sent("human:bo");
  const narrowed = await keyOf(server, "human:bo", both, ["sessions:read", "sessions:write", "pending:decide"]);
  expect(await upload(server, await sent("human:ada"), await keyOf(server, "human:bo"))).toMatchObject(refused);
  expect(await upload(server, own, narrowed)).toMatchObject(refused);
  expect((await upload(server, own, await keyOf(server, "human:bo"))).status).toBe(201);
});

// Mutant: the first event of such a log is an answer, whatever it says.
test("a session that is called as the answer to a question would be answers nothing", async () => {
  await using server = await worked();
  const { pending } = await parked(server, "askAda");
  const squatted = await sessionCalled(answerLogId(nodePlatform, pending.id));
  expect((await upload(server, squatted, await keyOf(server, "human:bo"))).status).toBe(201);
  expect(await server.ask("getPendingOne", { pending: pending.id })).toMatchObject({ waits: true });
  expect(await server.ask("getDecision", { pending: pending.id })).not.toHaveProperty("by");
});
