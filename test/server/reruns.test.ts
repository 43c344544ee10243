/** Reruns as calls see them: executed by the server that was asked, without a row, and waiting for people like any other run. */
import { expect, test } from "vitest";
import { otherProcess, until } from "../support/other-process.ts";
import type { Answer, Caller } from "../support/served.ts";
import { worked, workflows } from "../support/worked.ts";

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
