/** Runs that a bundle brings or adds to: what they recorded is its author's word, so whoever imports them here acts for everybody in them. */
import { describe, expect, test } from "vitest";
import { importSessions } from "../../src/audit/import/import.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { keyedRunId } from "../../src/session/id.ts";
import type { Answer } from "../support/served.ts";
import {
  ascribed,
  both,
  bundleOf,
  keyOf,
  linesOf,
  parked,
  refused,
  saidElsewhere,
  sessionCalled,
  textOf,
  upload,
  withResult,
} from "../support/uploads.ts";
import { type Worked, worked } from "../support/worked.ts";

const withoutRuns = ["sessions:read", "sessions:write", "pending:decide"];

/** A run of Ada's that has ended. */
async function ended(server: Worked): Promise<Answer> {
  const ada = await server.as("human:ada", ["operator"]);
  const run = await ada.ask("startRun", {}, { workflow: "echo", message: "x" });
  expect(await ada.ask("getResult", { run: run.id, wait: 10 })).toMatchObject({ status: "done" });
  return run;
}

/** A session of Bo's from elsewhere, whose events say that a run wrote them. */
async function forged(run: string, order = 1000): Promise<string> {
  return ascribed(await sessionCalled(nodePlatform.newId()), run, order);
}

/** The same without what lists the runs. */
function withoutRows(bundle: string): string {
  return textOf(linesOf(bundle).filter((line) => line.workflow === undefined));
}

describe("events that are ascribed to a run whose log is not in the bundle", () => {
  const invalid = { status: 422, body: { error: { code: "bundle.invalid", details: { field: "run" } } } };

  // Mutant: which runs are here is not looked at.
  test("are refused where the run is here, whoever imports them", async () => {
    await using server = await worked();
    const { id, session } = await ended(server);
    const bundle = await forged(id);
    for (const key of [await keyOf(server, "human:bo"), undefined]) expect(await upload(server, bundle, key)).toMatchObject(invalid);
    expect(await server.ask("verifySession", { session }, {})).toMatchObject({ ok: true, problems: [] });
  });

  // Mutant: only the list of runs is looked at, not their logs.
  test("are refused where only the log of the run is here", async () => {
    await using server = await worked();
    const { id, session } = await ended(server);
    await using elsewhere = await worked({ idle: true });
    expect((await upload(elsewhere, withoutRows(await bundleOf(server, session)))).status).toBe(201);
    expect((await elsewhere.ask("getRuns")).items).toEqual([]);
    expect(await upload(elsewhere, await forged(id))).toMatchObject(invalid);
  });

  // Mutant: ids of runs that are not here yet are anybody's.
  test("are refused where somebody may start the run under its key", async () => {
    await using server = await worked();
    const key = await keyOf(server, "human:bo");
    expect(await upload(server, await forged(keyedRunId(nodePlatform, "nightly"), 0), key)).toMatchObject(invalid);
    const { id, session } = await server.ask("startRun", {}, { workflow: "echo", message: "x", key: "nightly" });
    expect(await server.ask("getResult", { run: id, wait: 10 })).toMatchObject({ status: "done" });
    expect(await server.ask("verifySession", { session }, {})).toMatchObject({ ok: true });
  });

  // Mutant: a run that nobody knows is refused.
  test("come in where they belong to no run of a workflow", async () => {
    await using server = await worked({ idle: true });
    expect((await upload(server, await forged(nodePlatform.newId(), 0), await keyOf(server, "human:bo"))).status).toBe(201);
  });
});

describe("a run that has not ended", () => {
  // Mutants: runs that a bundle brings are not looked at; who may start runs may bring them.
  test("is brought by who may act for people", async () => {
    await using server = await worked();
    const { pending, bundle } = await parked(server, "ask");
    await using elsewhere = await worked({ idle: true });
    const answer = await upload(elsewhere, bundle, await keyOf(elsewhere, "human:bo"));
    expect(answer).toMatchObject({ ...refused, body: { error: { details: { needs: "people:act", run: pending.run } } } });
    expect((await elsewhere.ask("getSessions")).items).toEqual([]);
    const acting = await keyOf(elsewhere, "human:bo", ["admin"], ["sessions:read", "sessions:write", "pending:decide", "people:act"]);
    expect((await upload(elsewhere, bundle, acting)).status).toBe(201);
  });

  // Mutant: runs that are here are not looked at.
  test("takes no result from a bundle, also none around a question to somebody else", async () => {
    await using server = await worked();
    const { pending } = await parked(server, "askInside");
    const { session } = await server.ask("getRun", { run: pending.run });
    const passed = withResult(await bundleOf(server, session), session, "do.returned");
    const answer = await upload(server, passed, await keyOf(server, "human:bo"));
    expect(answer).toMatchObject({ ...refused, body: { error: { details: { run: pending.run } } } });
    expect(await server.ask("getPendingOne", { pending: pending.id })).toMatchObject({ waits: true });
  });

  // Mutant: a run that is not listed here is not known here.
  test("takes none where only its log is here", async () => {
    await using server = await worked();
    const { pending } = await parked(server, "askInside");
    const { session } = await server.ask("getRun", { run: pending.run });
    const bundle = withoutRows(await bundleOf(server, session));
    await using elsewhere = await worked({ idle: true });
    expect((await upload(elsewhere, bundle)).status).toBe(201);
    const key = await keyOf(elsewhere, "human:bo");
    expect(await upload(elsewhere, withResult(bundle, session, "do.returned"), key)).toMatchObject(refused);
    expect((await upload(elsewhere, bundle, key)).status).toBe(201);
  });

  // Mutant: a resumed run takes what others wrote in its sessions for its own.
  test("does not go on by a result that is ascribed to another run", async () => {
    await using server = await worked();
    const { pending } = await parked(server, "askInside");
    const { session } = await server.ask("getRun", { run: pending.run });
    const passed = withResult(await bundleOf(server, session), session, "do.returned", nodePlatform.newId());
    expect((await upload(server, passed, await keyOf(server, "human:bo"))).status).toBe(201);
    await server.ask("resumeRun", { run: pending.run }, {});
    expect(await server.ask("getResult", { run: pending.run, wait: 10, until: "settled" })).toMatchObject({ status: "waiting" });
    expect(await server.ask("getPendingOne", { pending: pending.id })).toMatchObject({ waits: true });
    await (await server.as("human:ada", both)).ask("decide", { pending: pending.id }, { answer: "Ada's" });
    expect(await server.ask("getResult", { run: pending.run, wait: 10 })).toMatchObject({ status: "done", output: "Ada's" });
  });
});

// Mutant: only runs that have not ended are looked at.
test("a run that is here is not ended by a bundle of whom may not act for people", async () => {
  await using server = await worked();
  const { pending, bundle } = await parked(server, "askAny");
  const decide = async (machine: Worked) => (await machine.as("human:bo", both)).ask("decide", { pending: pending.id }, { answer: "yes" });
  const gone = await saidElsewhere(bundle, pending, decide, true);
  const answer = await upload(server, gone, await keyOf(server, "human:bo"));
  expect(answer).toMatchObject({ ...refused, body: { error: { details: { run: pending.run } } } });
  expect(await server.ask("getRun", { run: pending.run })).toMatchObject({ status: "waiting" });
  expect((await upload(server, gone)).status).toBe(201);
  expect(await server.ask("getRun", { run: pending.run })).toMatchObject({ status: "done" });
});

describe("a run that has ended elsewhere", () => {
  // Mutants: the result of a question, or of a receive, is not looked at.
  test.each([
    { workflow: "askAda", kind: "ask.returned", may: undefined },
    { workflow: "receive", kind: "receive.returned", may: both },
  ] as const)("has a $kind that nobody gave only from who could have given it", async ({ workflow, kind, may }) => {
    await using server = await worked();
    const { pending, bundle } = await parked(server, workflow);
    const { run, session } = pending;
    await using machine = await worked();
    expect((await upload(machine, withResult(bundle, session, kind))).status).toBe(201);
    await machine.ask("resumeRun", { run }, {});
    expect(await machine.ask("getResult", { run, wait: 10 })).toMatchObject({ status: "done", output: "yes" });
    const done = await bundleOf(machine, session);
    await using elsewhere = await worked({ idle: true });
    const answer = await upload(elsewhere, done, await keyOf(elsewhere, "human:bo", both, withoutRuns));
    expect(answer).toMatchObject({ ...refused, body: { error: { details: { event: expect.any(String) } } } });
    expect((await upload(elsewhere, done, may && (await keyOf(elsewhere, "human:bo", may)))).status).toBe(201);
  });

  // Mutant: a result that names its signal is a signal of its own.
  test("has got a signal once, which its result names", async () => {
    await using server = await worked();
    const { pending, bundle } = await parked(server, "receive");
    const send = (machine: Worked) => machine.ask("sendSignal", { run: pending.run }, { signal: "paid", data: 1 });
    const done = await saidElsewhere(bundle, pending, send, true);
    await using elsewhere = await worked({ idle: true });
    const said: unknown[] = [];
    const bytes = (async function* () {
      yield Buffer.from(done);
    })();
    await importSessions(runtimeOf(elsewhere.rath.session()), bytes, { checkSaid: ({ kind, by }) => said.push([kind, by]) });
    expect(said).toEqual([["signal", "human:local"]]);
  });

  // Mutant: runs with a key are as any other.
  test("is brought by who may act for people where others would find it by its key", async () => {
    await using elsewhere = await worked();
    const bo = await elsewhere.as("human:bo", both);
    const { id, session } = await bo.ask("startRun", {}, { workflow: "echo", message: "x", key: "nightly" });
    expect(await bo.ask("getResult", { run: id, wait: 10 })).toMatchObject({ status: "done" });
    const bundle = await bundleOf(bo, session);
    await using server = await worked({ idle: true });
    const key = await keyOf(server, "human:bo");
    // Whether the list of runs has it or only its log.
    for (const forged of [bundle, withoutRows(bundle)]) expect(await upload(server, forged, key)).toMatchObject(refused);
    expect((await upload(server, bundle)).status).toBe(201);
  });

  // Mutant: a result of any outcome is an answer.
  test("was answered by nobody where it was cancelled", async () => {
    await using server = await worked();
    const { pending } = await parked(server, "askAda");
    const bo = await server.as("human:bo", both);
    await bo.ask("cancelRun", { run: pending.run }, { reason: "not needed" });
    expect(await bo.ask("getResult", { run: pending.run, wait: 10 })).toMatchObject({ status: "cancelled" });
    await using elsewhere = await worked({ idle: true });
    expect((await upload(elsewhere, await bundleOf(bo, pending.session), await keyOf(elsewhere, "human:bo"))).status).toBe(201);
  });
});
