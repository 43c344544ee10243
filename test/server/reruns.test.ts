/** Reruns as calls see them: executed by the server that was asked, without a row, and waiting for people like any other run. */
import { describe, expect, test } from "vitest";
import { otherProcess, until } from "../support/other-process.ts";
import type { Answer, Caller } from "../support/served.ts";
import { type Worked, worked, workflows } from "../support/worked.ts";

/** A run that asked on three branches, answered and over. */
async function answered(server: Caller): Promise<Answer> {
  const run = await server.ask("startRun", {}, { workflow: "askThree", message: "x" });
  await expect.poll(async () => (await pendingOf(server, { run: run.id })).length).toBe(3);
  for (const { id } of await pendingOf(server, { run: run.id })) await server.ask("decide", { pending: id }, { answer: "yes" });
  await server.ask("getResult", { run: run.id, wait: 10 });
  return run;
}

async function pendingOf(server: Caller, query: Record<string, string>): Promise<Answer[]> {
  return (await server.ask("getPending", query)).items;
}

// Mutants: only the branch itself counts; every branch of a rerun is in every other; a rerun is in the session that it repeats.
test("what waits on the branches of a rerun waits in the session that it works on", async () => {
  await using server = await worked();
  const { session } = await answered(server);
  const begun = await server.ask("rerunSession", { session }, { change: { message: "y" } });
  await expect.poll(async () => (await pendingOf(server, {})).length).toBe(3);
  const asked = await pendingOf(server, {});
  expect(asked.map(({ run }) => run)).toEqual([begun.run, begun.run, begun.run]);
  expect(new Set(asked.map((one) => one.session)).size).toBe(3);
  expect(await pendingOf(server, { session: begun.session })).toEqual(asked);
  const run = await server.ask("getRun", { run: begun.run });
  expect(run.session).not.toBe(begun.session);
  expect(await pendingOf(server, { session: run.session })).toEqual(asked);
  for (const one of asked) expect(await pendingOf(server, { session: one.session })).toEqual([one]);
  expect(await pendingOf(server, { session })).toEqual([]);
  for (const of of [begun.session, run.session, session, ...asked.map((one) => one.session)])
    expect(await server.rath.pending({ session: of })).toMatchObject(await pendingOf(server, { session: of }));
});

// Mutants: what waits is not looked at; a rerun of another server counts as this one's; one that has ended still has an owner.
test("a rerun waits at its server, goes on when it is answered, and ends", async () => {
  await using server = await worked();
  const elsewhere = server.another();
  const { session } = await answered(server);
  const begun = await server.ask("rerunSession", { session }, { change: { message: "y" } });
  await expect.poll(async () => (await pendingOf(server, { run: begun.run })).length).toBe(3);
  const run = await server.ask("getRun", { run: begun.run });
  expect(run).toMatchObject({ status: "waiting", owner: "this server", outcome: { status: "waiting" } });
  expect(run.outcome.pending).toHaveLength(3);
  const [first, ...others] = await pendingOf(server, { run: begun.run });
  // Another server cannot know whether whoever was asked for it still lives.
  const there = await elsewhere.ask("getRun", { run: begun.run });
  expect(there.status).toBe("running");
  expect(there.owner).toBeUndefined();
  await server.ask("decide", { pending: first.id }, { answer: "no" });
  await expect.poll(async () => (await server.ask("getRun", { run: begun.run })).outcome.pending.length).toBe(2);
  for (const { id } of others) await server.ask("decide", { pending: id }, { answer: "no" });
  await expect.poll(async () => (await server.ask("getRun", { run: begun.run })).status).toBe("done");
  const ended = await server.ask("getRun", { run: begun.run });
  expect(ended.owner).toBeUndefined();
  expect(ended.outcome.output).toBe("no");
  expect((await elsewhere.ask("getRun", { run: begun.run })).status).toBe("done");
});

// Mutant: the project is held only as long as the call that began the rerun.
test("a rerun under way is not ended to make room for another project", async () => {
  await using server = await worked({ idle: true, limits: { projects: 1 } });
  let session: string;
  {
    await using before = otherProcess(server.file, { project: "a", workflows });
    const run = await before.run("askAny", before.session("x"));
    const [asked] = await until("a question", async () => (await before.pending()).length > 0 && before.pending());
    await before.decide(asked?.id ?? "", { by: "human:ada", answer: "yes" });
    session = (await run.result()).id;
  }
  const [ada, bo] = [await server.as("human:ada", ["admin"], { project: "a" }), await server.as("human:bo", ["admin"], { project: "b" })];
  const begun = await ada.ask("rerunSession", { session }, { change: { message: "y" } });
  const [asked] = await until("a question of the rerun", async () => {
    const some = await pendingOf(ada, { run: begun.run });
    return some.length > 0 && some;
  });
  expect(await bo.refused("getSessions")).toMatchObject({ status: 503, code: "server.busy" });
  await ada.ask("decide", { pending: asked.id }, { answer: "no" });
  await expect.poll(async () => (await ada.ask("getRun", { run: begun.run })).status).toBe("done");
  await expect.poll(async () => (await bo.response("getSessions")).status).toBe(200);
});

describe("another result of an effect within which people were asked", () => {
  const gateOf = async (server: Caller, session: string): Promise<Answer[]> => {
    const { items } = await server.ask("getEvents", { session, of: "log", limit: 100 });
    return items
      .filter(({ kind }: { kind: string }) => /^(?:do|tool)\.(?:called|returned)$/.test(kind))
      .map(({ id }: { id: string }) => id);
  };
  const people = async (server: Worked) => ({
    web: await server.as("service:web", ["operator"]),
    bob: await server.as("human:bob", ["operator", "approver"]),
    ada: await server.as("human:ada", ["operator", "approver"]),
  });
  const otherwise = (event: string) => ({ change: { event, output: "yes" }, effects: "live" });
  /** Started, decided as soon as it asks, and over. */
  const over = async (server: Worked, workflow: string, decision?: object): Promise<string> => {
    const run = await server.ask("startRun", {}, { workflow, message: "x" });
    if (decision !== undefined) await decided(server, run.id, decision);
    return (await server.ask("getResult", { run: run.id, wait: 10 })).session.id;
  };
  const decided = async (server: Worked, run: string, decision: object): Promise<void> => {
    const asked = await until("a question", async () => (await pendingOf(server, { run }))[0]);
    await server.ask("decide", { pending: asked.id }, decision);
  };

  // Mutants: only the changed event is looked at; only one level; what was detached counts as outside; whom it asked is not looked at.
  test.each(["askInside", "askDeep"])("%s: is an answer to their question, however deep it is", async (workflow) => {
    await using server = await worked();
    const { web, bob, ada } = await people(server);
    const session = await over(server, workflow, { answer: "no" });
    for (const event of await gateOf(server, session)) {
      expect(await web.refused("rerunSession", { session }, otherwise(event))).toMatchObject({
        status: 403,
        details: { needs: "pending:decide" },
      });
      expect(await bob.refused("rerunSession", { session }, otherwise(event))).toMatchObject({ status: 403, details: { to: "human:ada" } });
      expect(await ada.ask("rerunSession", { session }, otherwise(event))).toMatchObject({ of: session });
    }
  });

  // Mutants: runs that an effect started are not looked at; those of other effects are.
  test("in a run that the effect started is an answer too, and another effect has nothing to do with it", async () => {
    await using server = await worked();
    const { web, bob, ada } = await people(server);
    const run = await server.ask("startRun", {}, { workflow: "askElsewhere", message: "x" });
    const asked = await until("a question", async () => (await pendingOf(server, {}))[0]);
    expect(asked.run).not.toBe(run.id);
    await server.ask("decide", { pending: asked.id }, { answer: "no" });
    const session = (await server.ask("getResult", { run: run.id, wait: 10 })).session.id;
    const [echo, , gate] = await gateOf(server, session);
    expect(await web.refused("rerunSession", { session }, otherwise(gate))).toMatchObject({ details: { needs: "pending:decide" } });
    expect(await bob.refused("rerunSession", { session }, otherwise(gate))).toMatchObject({ details: { to: "human:ada" } });
    expect(await ada.ask("rerunSession", { session }, otherwise(gate))).toMatchObject({ of: session });
    expect(await web.ask("rerunSession", { session }, otherwise(echo))).toMatchObject({ of: session });
  });

  // Mutants: approvals are no questions; only calls that say themselves that they wait; only what somebody decided.
  test.each<readonly [string, object | undefined]>([
    ["approveInside", { approve: false }],
    ["expireInside", undefined],
    ["expireLate", undefined],
    ["approve", { approve: true }],
  ])("%s: is an approval", async (workflow, decision) => {
    await using server = await worked();
    const { web, bob } = await people(server);
    const session = await over(server, workflow, decision);
    const [called] = await gateOf(server, session);
    expect(await web.refused("rerunSession", { session }, otherwise(called))).toMatchObject({
      status: 403,
      details: { needs: "pending:decide" },
    });
    expect(await bob.ask("rerunSession", { session }, otherwise(called))).toMatchObject({ of: session });
  });

  // Mutant: what a person said in a result does not count.
  test("in a rerun is an approval too, and where nobody was asked it is none", async () => {
    await using server = await worked();
    const { web } = await people(server);
    const session = await over(server, "payInside");
    const { session: again, run } = await web.ask("rerunSession", { session }, { change: { message: "y" } });
    await decided(server, run, { approve: false });
    await expect.poll(async () => (await server.ask("getRun", { run })).status).toBe("done");
    const [called] = await gateOf(server, again);
    expect(await web.refused("rerunSession", { session: again }, otherwise(called))).toMatchObject({ status: 403 });
    expect(await web.ask("rerunSession", { session }, otherwise((await gateOf(server, session))[0]))).toMatchObject({ of: session });
  });

  // Mutants: reused results are not followed to their source; a source that says no longer who was asked asked nobody.
  test("of which a rerun has only the result is an answer all the same, also when what was asked is erased", async () => {
    await using server = await worked();
    const { web, bob, ada } = await people(server);
    const session = await over(server, "askInside", { answer: "no" });
    const { session: again, run } = await web.ask("rerunSession", { session }, {});
    await expect.poll(async () => (await server.ask("getRun", { run })).status).toBe("done");
    const [called] = await gateOf(server, again);
    expect(await web.refused("rerunSession", { session: again }, otherwise(called))).toMatchObject({ status: 403 });
    expect(await bob.refused("rerunSession", { session: again }, otherwise(called))).toMatchObject({ details: { to: "human:ada" } });
    expect(await ada.ask("rerunSession", { session: again }, otherwise(called))).toMatchObject({ of: again });
    await server.rath.erase({ session }, { by: "human:root", reason: "asked" });
    expect(await web.refused("rerunSession", { session: again }, otherwise(called))).toMatchObject({ status: 403 });
  });
});
