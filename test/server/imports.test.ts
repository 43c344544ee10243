/** What a bundle brings in somebody's name: only what its importer could have said here, unless they act for people. */
import canonicalize from "canonicalize";
import { describe, expect, test } from "vitest";
import type { Role } from "../../src/access/access.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { type Envelope, envelopeText } from "../../src/session/codec.ts";
import { answerLogId } from "../../src/session/id.ts";
import type { Answer, Caller, ServedRath } from "../support/served.ts";
import { type Worked, worked } from "../support/worked.ts";

const both: readonly Role[] = ["operator", "approver"];

/** A run of Bo's that waits, and its bundle. */
async function parked(server: Worked, workflow: string): Promise<{ readonly pending: Answer; readonly bundle: string }> {
  const bo = await server.as("human:bo", both);
  const { id } = await bo.ask("startRun", {}, { workflow, message: "x" });
  const { pending } = await bo.ask("getResult", { run: id, wait: 10, until: "settled" });
  return { pending: pending[0], bundle: await bundleOf(bo, pending[0].session) };
}

async function bundleOf(caller: Caller, session: string): Promise<string> {
  const { id: job } = await caller.ask("startExport", { session }, { format: "bundle" });
  await expect.poll(async () => (await caller.ask("getJob", { job })).status, { interval: 5, timeout: 10_000 }).toBe("done");
  return (await caller.response("getJobResult", { job })).text();
}

/** Whoever has a machine of their own is on it whoever they want to be. */
async function saidElsewhere(
  bundle: string,
  { session, run }: Answer,
  say: (machine: Worked) => Promise<unknown>,
  goesOn = false,
): Promise<string> {
  await using machine = await worked({ idle: true });
  expect((await upload(machine, bundle)).status).toBe(201);
  await say(machine);
  if (goesOn) {
    machine.work();
    expect(await machine.ask("getResult", { run, wait: 10 })).toMatchObject({ status: "done" });
  }
  return await bundleOf(machine, session);
}

async function upload(server: ServedRath, body: string, key?: string): Promise<{ readonly status: number; readonly body: Answer }> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const answer = await server.fetch(new Request("http://localhost/v1/imports", { method: "POST", body, headers }));
  return { status: answer.status, body: await answer.json() };
}

async function keyOf(
  server: ServedRath,
  identity: string,
  roles: readonly Role[] = both,
  permissions?: readonly string[],
): Promise<string> {
  return (await server.ask("createKey", {}, { identity, roles, permissions })).token;
}

const refused = { status: 403, body: { error: { code: "access.forbidden", details: { needs: "people:act" } } } };

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

  // Mutants: whether the caller is asked is not looked at; a result without an answer is not.
  test("to a question for somebody else is refused also in one's own name, and in nobody's", async () => {
    await using server = await worked();
    const { pending, bundle } = await parked(server, "askAda");
    const own = await saidElsewhere(bundle, pending, async (machine) =>
      (await machine.as("human:bo", ["admin"])).ask("decide", { pending: pending.id }, { answer: "yes" }),
    );
    const key = await keyOf(server, "human:bo");
    for (const forged of [own, withResult(bundle, pending)]) expect(await upload(server, forged, key)).toMatchObject(refused);
    expect(await server.ask("getPendingOne", { pending: pending.id })).toMatchObject({ waits: true });
    // It was refused for who brought it, and for nothing else.
    expect((await upload(server, withResult(bundle, pending))).status).toBe(201);
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

// Mutant: runs that a bundle brings are not looked at.
test("a run that has not ended is brought by who may start runs", async () => {
  await using server = await worked();
  const { pending, bundle } = await parked(server, "ask");
  await using elsewhere = await worked({ idle: true });
  const narrowed = await keyOf(elsewhere, "human:bo", both, ["sessions:read", "sessions:write", "pending:decide"]);
  expect(await upload(elsewhere, bundle, narrowed)).toMatchObject({
    status: 403,
    body: { error: { code: "access.forbidden", details: { needs: "runs:write", run: pending.run } } },
  });
  expect((await elsewhere.ask("getSessions")).items).toEqual([]);
  expect((await upload(elsewhere, bundle, await keyOf(elsewhere, "human:bo"))).status).toBe(201);
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

/** The bundle of a session with an id of one's choice. */
async function sessionCalled(id: string): Promise<string> {
  await using machine = await worked({ idle: true });
  const bo = await machine.as("human:bo", both);
  const { id: made } = await bo.ask("createSession", {}, { message: "x" });
  const [header, ...lines] = (await bundleOf(bo, made))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line.replaceAll(made, id)));
  let last: string | undefined;
  const events = lines.map((line) => {
    if (line.envelope === undefined) return line;
    const { data: digest, ...envelope } = line.envelope;
    const text = envelopeText({ ...envelope, parents: last === undefined ? [] : [last] } as Envelope, digest);
    last = nodePlatform.sha256(text);
    return { ...line, id: last, envelope: JSON.parse(text) };
  });
  const headed = events.map((line) => (line.log === id ? { ...line, head: last } : line));
  return `${[{ ...header, head: last }, ...headed].map((line) => canonicalize(line)).join("\n")}\n`;
}

/** The same bundle, in which the question has a result that names no answer. */
function withResult(bundle: string, { id: question, session }: Answer): string {
  const [header, ...lines] = bundle
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const events = lines.filter((line) => line.envelope !== undefined);
  const asked = events.find((line) => line.id === question);
  const data = { value: "yes" };
  const digest = nodePlatform.sha256(Buffer.concat([Buffer.from(asked.salt, "hex"), Buffer.from(canonicalize(data) as string)]));
  const order = Math.max(...events.map((line) => line.order)) + 1;
  const envelope = envelopeText(
    { ...asked.envelope, kind: "ask.returned", facts: { outcome: "ok" }, parents: [question], step: asked.envelope.step + 1 } as Envelope,
    digest,
  );
  const id = nodePlatform.sha256(envelope);
  const returned = { ...asked, id, order, envelope: JSON.parse(envelope), data };
  const counted = lines.map((line) => (line.log === session ? { ...line, events: line.events + 1, head: id } : line));
  const after = counted.findLastIndex((line) => line.envelope?.session === session) + 1;
  const all = [{ ...header, head: id, events: header.events + 1 }, ...counted.slice(0, after), returned, ...counted.slice(after)];
  return `${all.map((line) => canonicalize(line)).join("\n")}\n`;
}
