/** Routes about what waits for people: shown to whoever may see it, decided once, by whoever may and under their own name. */
import { describe, expect, test } from "vitest";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { listPending } from "../../src/server/list-pending.ts";
import type { Answer, Caller } from "../support/served.ts";
import { type Worked, worked } from "../support/worked.ts";

/** Starts it and gives what it waits for. */
async function waiting(caller: Caller, workflow: string): Promise<Answer> {
  const { id } = await caller.ask("startRun", {}, { workflow, message: "x" });
  const { pending } = await caller.ask("getResult", { run: id, wait: 10, until: "settled" });
  expect(pending).toHaveLength(1);
  return pending[0];
}

const outcome = (caller: Caller, run: string): Promise<Answer> => caller.ask("getResult", { run, wait: 10 });

async function listed(caller: Caller, query: Record<string, string | number> = {}): Promise<Answer[]> {
  const found: Answer[] = [];
  for (let after: string | undefined; ; ) {
    const { items, next } = await caller.ask("getPending", { ...query, ...(after === undefined ? {} : { after }) });
    found.push(...items);
    if (next === undefined) return found;
    expect(found.length).toBeLessThan(100);
    expect(next).not.toBe(after);
    after = next;
  }
}

describe("an approval", () => {
  // Mutant: by is taken from the body, or from nowhere.
  test("shows what exactly is asked, is given by an approver under their own name, and the run goes on", async () => {
    await using server = await worked();
    const [operator, ada] = [await server.as("service:web", ["operator"]), await server.as("human:ada", ["approver"])];
    const { id, run } = await waiting(operator, "approve");
    expect(await ada.ask("getPendingOne", { pending: id })).toMatchObject({
      pending: { id, run, kind: "approval", tool: "refund", input: { order: "o-1", cents: 7 } },
      ...{ waits: true, decidable: true, schema: { type: "object", required: ["order", "cents"] }, call: { kind: "tool.called", id } },
    });
    expect((await operator.ask("getPendingOne", { pending: id })).decidable).toBe(false);
    expect(await operator.refused("decide", { pending: id }, { approve: true })).toMatchObject({
      status: 403,
      details: { needs: "pending:decide" },
    });
    expect(await ada.refused("decide", { pending: id }, { approve: true, by: "human:boss" })).toMatchObject({ status: 400 });
    expect(await ada.ask("decide", { pending: id }, { approve: true, reason: "fine" })).toMatchObject({
      by: "human:ada",
      approve: true,
      reason: "fine",
    });
    expect(await outcome(operator, run)).toMatchObject({ status: "done", output: "refunded 7" });
    expect(await ada.ask("getPendingOne", { pending: id })).toMatchObject({
      waits: false,
      decidable: false,
      decision: { by: "human:ada" },
    });
    expect(await ada.ask("getDecision", { pending: id })).toMatchObject({ by: "human:ada", approve: true });
  });

  test("is given for another input, which must fit; or refused with a reason that is on record", async () => {
    await using server = await worked();
    const ada = await server.as("human:ada", ["approver"]);
    const { id, run } = await waiting(server, "approve");
    expect(await ada.refused("decide", { pending: id }, { approve: true, input: { order: 1 } })).toMatchObject({
      status: 422,
      code: "pending.invalid-answer",
    });
    await ada.ask("decide", { pending: id }, { approve: true, input: { order: "o-1", cents: 5 } });
    expect(await outcome(server, run)).toMatchObject({ output: "refunded 5" });
    const denied = await waiting(server, "approve");
    await ada.ask("decide", { pending: denied.id }, { approve: false, reason: "too much" });
    const { status, session } = await outcome(server, denied.run);
    expect(status).toBe("failed");
    const { items } = await ada.ask("getDecisions", { session: session.id });
    expect(items).toMatchObject([{ pending: { id: denied.id }, by: "human:ada", approve: false, reason: "too much" }]);
  });
});

describe("decisions of a whole project", () => {
  // Mutants: oldest first; a run that was cancelled is listed; the page after one begins with its last item.
  test("are listed newest first, page by page, without what nobody decided", async () => {
    await using server = await worked();
    const ada = await server.as("human:ada", ["approver"]);
    const ids: string[] = [];
    for (const reason of ["one", "two", "three"]) {
      const { id } = await waiting(server, "approve");
      await ada.ask("decide", { pending: id }, { approve: false, reason });
      ids.unshift(id);
    }
    const { run } = await waiting(server, "askAny");
    await server.ask("cancelRun", { run }, { reason: "not needed" });
    const found: Answer[] = [];
    for (let after: string | undefined; ; ) {
      const page = await ada.ask("getDecisions", { limit: 2, ...(after === undefined ? {} : { after }) });
      found.push(...page.items);
      if (page.next === undefined) break;
      after = page.next;
    }
    expect(found.map(({ pending, by, reason }) => [pending.id, by, reason])).toEqual(
      ids.map((id, index) => [id, "human:ada", ["three", "two", "one"][index]]),
    );
    expect(await ada.refused("getDecisions", { after: "0" })).toMatchObject({ status: 400 });
    const eve = await server.as("human:eve", ["admin"], { project: "other" });
    expect((await eve.ask("getDecisions")).items).toEqual([]);
  });
});

describe("a question", () => {
  // Mutants: isAsked is always true; it looks at the role alone.
  test("is answered by whom it asks, or an admin, and by nobody else who may decide", async () => {
    await using server = await worked();
    const [ada, bob, root] = [
      await server.as("human:ada", ["approver"]),
      await server.as("human:bob", ["approver"]),
      await server.as("human:root", ["admin"]),
    ];
    const forAda = await waiting(server, "askAda");
    expect(forAda).toMatchObject({ kind: "question", to: "human:ada" });
    expect(await bob.refused("decide", { pending: forAda.id }, { answer: "mine" })).toMatchObject({
      status: 403,
      code: "access.forbidden",
    });
    expect((await bob.ask("getPendingOne", { pending: forAda.id })).decidable).toBe(false);
    const narrowed = await server.as("human:nia", ["admin"], { permissions: ["pending:read", "pending:decide"] });
    expect(await narrowed.refused("decide", { pending: forAda.id }, { answer: "mine" })).toMatchObject({ status: 403 });
    const forRole = await waiting(server, "ask");
    expect(new Set((await listed(bob, { to: "me" })).map(({ id }) => id))).toEqual(new Set([forRole.id]));
    expect((await listed(bob, { to: "human:ada" })).map(({ id }) => id)).toEqual([forAda.id]);
    await bob.ask("decide", { pending: forRole.id }, { answer: { send: true } });
    await ada.ask("decide", { pending: forAda.id }, { answer: "this" });
    expect(await outcome(server, forAda.run)).toMatchObject({ output: "this" });
    const another = await waiting(server, "askAda");
    expect(await root.ask("decide", { pending: another.id }, { answer: "that" })).toMatchObject({ by: "human:root" });
  });

  // Mutants: any change is taken; whom it asked is not looked at.
  test("is not answered by running it again with another answer", async () => {
    await using server = await worked();
    const { id, run, session } = await waiting(server, "askAda");
    await server.ask("decide", { pending: id }, { answer: "no" });
    await outcome(server, run);
    const { items } = await server.ask("getEvents", { session, of: "log" });
    const returned = items.find(({ kind }: { kind: string }) => kind === "ask.returned").id;
    const [web, bob] = [await server.as("service:web", ["operator"]), await server.as("human:bob", ["operator", "approver"])];
    for (const event of [id, returned]) {
      const change = { change: { event, output: "yes" }, effects: "live" };
      expect(await web.refused("rerunSession", { session }, change)).toMatchObject({ status: 403, details: { needs: "pending:decide" } });
      expect(await bob.refused("rerunSession", { session }, change)).toMatchObject({ status: 403, details: { to: "human:ada" } });
    }
    const ada = await server.as("human:ada", ["operator", "approver"]);
    expect(await ada.ask("rerunSession", { session }, { change: { event: returned, output: "yes" } })).toMatchObject({ of: session });
  });

  test("takes what fits and nothing else, and is not used up by what does not", async () => {
    await using server = await worked();
    const { id, run } = await waiting(server, "ask");
    for (const body of [
      ...[
        {},
        { answer: 1, approve: true },
        { outcome: { type: "ok", value: 1, extra: 1 } },
        { answer: { send: true }, by: "x" },
        { approve: "yes" },
      ],
    ])
      expect(await server.refused("decide", { pending: id }, body), JSON.stringify(body)).toMatchObject({
        status: 400,
        code: "request.invalid",
      });
    for (const body of [
      { answer: { send: "yes" } },
      { answer: null },
      { approve: true },
      { outcome: "run-again" },
      { answer: { send: true }, input: 1 },
    ])
      expect(await server.refused("decide", { pending: id }, body), JSON.stringify(body)).toMatchObject({
        status: 422,
        code: "pending.invalid-answer",
      });
    await server.ask("decide", { pending: id }, { answer: { send: false } });
    expect(await outcome(server, run)).toMatchObject({ output: { send: false } });
  });

  // Mutant: answers are written without looking at the head that is expected.
  test("that several answer at once, in several processes, has one answer; the others are told", async () => {
    await using server = await worked();
    const others = [server.another(), server.another()];
    const callers = await Promise.all([server, ...others, server].map((one, index) => one.as(`human:p${index}`, ["approver"])));
    for (let round = 0; round < 3; round++) {
      const { id, run } = await waiting(server, "askAny");
      const answers = await Promise.all(
        callers.map(async (caller, index) => {
          const response = await caller.response("decide", { pending: id }, { answer: `a${index}` });
          return { status: response.status, body: (await response.json()) as Answer, index };
        }),
      );
      const won = answers.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      for (const { status, body } of answers.filter((one) => one !== won[0])) {
        expect(status).toBe(409);
        expect(body.error.code).toBe("pending.answered");
      }
      expect(await outcome(server, run)).toMatchObject({ output: `a${won[0]?.index}` });
      expect((await server.ask("getDecision", { pending: id })).by).toBe(`human:p${won[0]?.index}`);
    }
  });
});

describe("the list", () => {
  // Mutants: the session is that of the branch alone; every branch of a run is in every other.
  test("of a session has what waits on the branches of a run that works on it", async () => {
    await using server = await worked();
    await waiting(server, "askAny");
    const three = await server.ask("startRun", {}, { workflow: "askThree", message: "x" });
    await expect.poll(async () => (await listed(server, { run: three.id })).length).toBe(3);
    const onBranches = await listed(server, { session: three.session });
    expect(onBranches.map(({ run }) => run)).toEqual([three.id, three.id, three.id]);
    expect(new Set(onBranches.map(({ session }) => session)).size).toBe(3);
    expect(await listed(server, { session: onBranches[0].session })).toEqual([onBranches[0]]);
    // Whoever asks the library is told the same.
    for (const session of [three.session, onBranches[0].session])
      expect(await server.rath.pending({ session })).toMatchObject(await listed(server, { session }));
    expect(await server.rath.pending({ session: three.session })).toHaveLength(3);
  });

  // Mutant: the cursor is the run alone, or the page ends before the filter.
  test("comes in pages in which each is once, also while some are decided; by run, session and kind", async () => {
    await using server = await worked();
    const pending: Answer[] = [];
    for (const workflow of ["askAny", "receive", "approve", "askAny", "askAny"]) pending.push(await waiting(server, workflow));
    const ids = pending.map(({ id }) => id);
    expect((await listed(server)).map(({ id }) => id)).toEqual(ids);
    for (const limit of [1, 2, 3]) expect((await listed(server, { limit })).map(({ id }) => id)).toEqual(ids);
    expect((await listed(server, { limit: 1, kind: "question" })).map(({ id }) => id)).toEqual([ids[0], ids[3], ids[4]]);
    expect(await listed(server, { run: pending[2].run })).toEqual([pending[2]]);
    expect(await listed(server, { session: pending[3].session })).toEqual([pending[3]]);
    const first = await server.ask("getPending", { limit: 1 });
    await server.ask("decide", { pending: ids[0] }, { answer: "x" });
    await outcome(server, pending[0].run);
    expect((await listed(server, { limit: 2, after: first.next })).map(({ id }) => id)).toEqual(ids.slice(1));
    for (const after of ["x", Buffer.from('{"run":"never"}').toString("base64url"), Buffer.from("[]").toString("base64url")])
      expect(await server.refused("getPending", { after })).toMatchObject({ status: 400, code: "request.invalid" });
  });

  // Mutant: a page that found nothing ends where it began.
  test("goes on within a run that waits for several, and past runs that do not wait for what is asked for", async () => {
    await using server = await worked();
    const { id: run } = await server.ask("startRun", {}, { workflow: "askThree", message: "x" });
    await expect.poll(async () => (await listed(server)).length).toBe(3);
    const three = await listed(server);
    for (const limit of [1, 2]) expect(await listed(server, { limit })).toEqual(three);
    for (const limit of [1, 2]) expect(await listed(server, { limit, run })).toEqual(three);
    const approval = await waiting(server, "approve");
    const caller: Parameters<typeof listPending>[1] = {
      key: undefined,
      tenant: "default",
      project: "default",
      identity: "x",
      roles: [],
      permissions: new Set(),
    };
    const found: unknown[] = [];
    let pages = 0;
    for (let after: string | undefined; pages++ < 10; ) {
      const page = await listPending(runtimeOf(server.rath.session()), caller, { limit: 5, kind: "approval", after }, 1);
      found.push(...page.items.map(({ id }) => id));
      after = page.next;
      if (after === undefined) break;
    }
    expect([found, pages]).toEqual([[approval.id], 2]);
  });

  test("of another project has nothing of it, and what waits here is not there", async () => {
    await using server: Worked = await worked();
    const { id } = await waiting(server, "askAny");
    const eve = await server.as("human:eve", ["admin"], { project: "other" });
    expect(await listed(eve)).toEqual([]);
    for (const route of ["getPendingOne", "getDecision"])
      expect(await eve.refused(route, { pending: id })).toMatchObject({ status: 404, code: "pending.not-found" });
    expect(await eve.refused("decide", { pending: id }, { answer: "x" })).toMatchObject({ status: 404, code: "pending.not-found" });
    expect(await server.refused("getPendingOne", { pending: "0".repeat(64) })).toMatchObject({ status: 404 });
    expect(await server.refused("getPendingOne", { pending: "../keys" })).toMatchObject({ status: 400 });
  });
});
