/** Reruns as calls see them: executed by the server that was asked, without a row, and waiting for people like any other run. */
import { expect, test } from "vitest";
import type { Answer, Caller } from "../support/served.ts";
import { worked } from "../support/worked.ts";

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
