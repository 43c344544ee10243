/** Routes about runs: started once whoever asks how often, found, waited for, steered. A worker of the same process executes them. */
import { describe, expect, test } from "vitest";
import { until } from "../support/processes.ts";
import { type Answer, type Caller, routeNamed, type ServedRath } from "../support/served.ts";
import { type Worked, worked } from "../support/worked.ts";

const done = (caller: Caller, run: string): Promise<Answer> => caller.ask("getResult", { run, wait: 10 });
const settled = (caller: Caller, run: string): Promise<Answer> => caller.ask("getResult", { run, wait: 10, until: "settled" });

async function status(caller: Caller, body: unknown): Promise<readonly [number, Answer]> {
  const response = await caller.response("startRun", {}, body);
  return [response.status, await response.json()];
}

describe("a run", () => {
  test("is started, executed by a worker, waited for, and says everything of itself", async () => {
    await using server = await worked();
    const ada = await server.as("human:ada", ["operator"]);
    const run = await ada.ask(
      "startRun",
      {},
      { workflow: "echo", message: "Hello", title: "T", tags: ["a"], priority: 3, deadline: "1h", limits: { usd: 1 } },
    );
    expect(run).toMatchObject({ workflow: "echo", priority: 3 });
    const outcome = await done(ada, run.id);
    expect(outcome).toMatchObject({
      status: "done",
      output: "Hello",
      session: { id: run.session, principal: "human:ada", title: "T", text: "Hello" },
    });
    const detail = await ada.ask("getRun", { run: run.id });
    expect(detail).toMatchObject({
      id: run.id,
      status: "done",
      limits: { usd: 1 },
      takenUp: [{ worker: expect.any(String) }],
      children: [],
    });
    expect(detail.outcome).toEqual(outcome);
    expect(detail.ended > detail.started && detail.deadline > detail.ended).toBe(true);
    expect(detail.input.session).toBe(run.session);
  });

  test("that fails says why, and one that does not end is not waited for longer than was said", async () => {
    await using server = await worked();
    const { id } = await server.ask("startRun", {}, { workflow: "fail", message: "x" });
    expect(await done(server, id)).toMatchObject({
      status: "failed",
      error: { code: "run.failed", message: expect.stringContaining("went wrong") },
    });
    const endless = await server.ask("startRun", {}, { workflow: "endless", message: "x" });
    const response = await server.response("getResult", { run: endless.id, wait: 0.05 });
    expect([response.status, ((await response.json()) as Answer).status]).toEqual([202, expect.stringMatching(/queued|running/)]);
  });

  test("on a session goes on where it stands, and a message is said to it before", async () => {
    await using server = await worked();
    const made = await server.ask("createSession", {}, { message: "First" });
    const run = await server.ask("startRun", {}, { workflow: "echo", session: made.id, message: "Second" });
    expect(run.session).toBe(made.id);
    expect(await done(server, run.id)).toMatchObject({ output: "Second" });
    const at = await server.ask("startRun", {}, { workflow: "echo", session: `${made.id}@${made.step}` });
    expect(await done(server, at.id)).toMatchObject({ output: "First" });
  });

  test("is cancelled by name: who asked is on record; one that has ended refuses", async () => {
    await using server = await worked();
    const ada = await server.as("human:ada", ["operator"]);
    const { id } = await ada.ask("startRun", {}, { workflow: "endless", message: "x" });
    await ada.ask("cancelRun", { run: id }, { reason: "enough" });
    expect(await done(ada, id)).toMatchObject({ status: "cancelled", reason: "enough" });
    expect((await ada.ask("getRun", { run: id })).cancel).toMatchObject({ by: "human:ada", reason: "enough" });
    for (const route of ["cancelRun", "resumeRun"])
      expect(await ada.refused(route, { run: id }, {})).toMatchObject({ status: 409, code: "run.ended" });
  });

  // Mutants: a call without a body is refused; any body without a type is taken for one.
  test("is cancelled by a call without a body, which does wherever no field is required, and nowhere else", async () => {
    await using server = await worked({ idle: true });
    const started = async (): Promise<string> => (await server.ask("startRun", {}, { workflow: "endless", message: "x" })).id;
    expect((await server.response("cancelRun", { run: await started() })).status).toBe(202);
    const typed = { method: "POST", headers: { "content-type": "application/json" } };
    const at = async (): Promise<string> => `http://localhost/v1/runs/${await started()}/cancel`;
    expect((await server.fetch(new Request(await at(), typed))).status).toBe(202);
    const message = expect.stringContaining("application/json");
    const untyped = new Request(await at(), { method: "POST", body: Buffer.from('{"reason":"enough"}') });
    expect(await (await server.fetch(untyped)).json()).toMatchObject({ error: { code: "request.invalid", message } });
    const form = new Request(await at(), { method: "POST", body: new URLSearchParams() });
    expect((await server.fetch(form)).status).toBe(400);
    expect(await server.refused("startRun")).toMatchObject({ status: 400, message: expect.stringContaining("body.workflow: ") });
    const { paths } = (await (await server.fetch(new Request("http://localhost/openapi.json"))).json()) as Answer;
    const required = (path: string): unknown => paths[path].post.requestBody.required;
    expect([required("/v1/runs/{run}/cancel"), required("/v1/runs")]).toEqual([false, true]);
  });

  test("takes a signal once for each key, from whoever sends it", async () => {
    await using server = await worked();
    const web = await server.as("service:web", ["operator"]);
    const { id } = await web.ask("startRun", {}, { workflow: "receive", message: "x" });
    expect(await settled(web, id)).toMatchObject({ status: "waiting", pending: [{ kind: "signal", signal: "paid" }] });
    for (let i = 0; i < 2; i++) await web.ask("sendSignal", { run: id }, { signal: "paid", data: { amount: 12 }, key: "p-1" });
    expect(await done(web, id)).toMatchObject({ output: { amount: 12 } });
    expect(await web.refused("sendSignal", { run: id }, { signal: "paid" })).toMatchObject({ status: 409, code: "run.ended" });
  });

  test("that waits is looked at again when somebody resumes it, and still waits", async () => {
    await using server = await worked();
    const { id } = await server.ask("startRun", {}, { workflow: "askAny", message: "x" });
    await settled(server, id);
    const taken = (await server.ask("getRun", { run: id })).takenUp.length;
    await server.ask("resumeRun", { run: id }, {});
    await expect.poll(async () => (await server.ask("getRun", { run: id })).takenUp.length).toBeGreaterThan(taken);
    expect(await settled(server, id)).toMatchObject({ status: "waiting", pending: [{ kind: "question" }] });
  });
});

describe("the same key", () => {
  // Mutants: beganAt gives undefined; nobody is in startedBefore.
  test("gives the same run, also when its session has gone on since; for another input it is refused", async () => {
    await using server = await worked();
    const made = await server.ask("createSession", {}, { message: "First" });
    for (const body of [
      { workflow: "echo", message: "Hi", key: "a" },
      { workflow: "echo", session: made.id, key: "b" },
      { workflow: "echo", session: made.id, message: "More", key: "c" },
    ]) {
      const [created, run] = await status(server, body);
      await done(server, run.id);
      const [again, same] = await status(server, body);
      expect([created, again, same.id]).toEqual([201, 200, run.id]);
      expect(await status(server, { ...body, message: "Other" })).toMatchObject([409, { error: { code: "run.key-reused" } }]);
      expect(await status(server, { ...body, workflow: "ask" })).toMatchObject([409, { error: { code: "run.key-reused" } }]);
    }
    expect((await server.ask("getRuns")).items).toHaveLength(3);
  });

  test("may come as a header, and not as two different ones", async () => {
    await using server = await worked({ idle: true });
    const post = async (body: object, key: string): Promise<readonly [number, Answer]> => {
      const headers = { "content-type": "application/json", "idempotency-key": key };
      const answer = await server.fetch(new Request("http://localhost/v1/runs", { method: "POST", headers, body: JSON.stringify(body) }));
      return [answer.status, await answer.json()];
    };
    const body = { workflow: "echo", message: "Hi" };
    const [, run] = await post(body, "k");
    expect(run.key).toBe("k");
    expect(await post({ ...body, key: "k" }, "k")).toEqual([200, run]);
    expect(await post({ ...body, key: "l" }, "k")).toMatchObject([400, { error: { code: "request.invalid" } }]);
    expect(await post(body, "x".repeat(601))).toMatchObject([400, { error: { code: "request.invalid" } }]);
    expect(await post(body, `cancelled ${run.id}`)).toMatchObject([400, { error: { code: "value.unsupported" } }]);
  });

  // Mutant: 201 whenever the row was not there before.
  test("at once in several processes starts one run: one of them made it, the others found it", async () => {
    await using server = await worked({ idle: true });
    const servers: readonly ServedRath[] = [server, server.another(), server.another()];
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        [...servers, ...servers].map((one) => status(one, { workflow: "echo", message: "Hi", key: `k${round}` })),
      );
      expect(answers.map(([code]) => code).sort()).toEqual([200, 200, 200, 200, 200, 201]);
      expect(new Set(answers.map(([, { id }]) => id)).size).toBe(1);
    }
    expect((await server.ask("getRuns")).items).toHaveLength(5);
  });

  // Mutant: calls with one key do not wait for each other.
  test("at once takes one place in the queue", async () => {
    await using server = await worked({ idle: true, limits: { queue: 1 } });
    const { id: session } = await server.ask("createSession", {}, { message: "First" });
    const body = { workflow: "echo", session, message: "More", key: "k" };
    const answers = await Promise.all(Array.from({ length: 4 }, () => status(server, body)));
    expect(answers.map(([code]) => code)).toEqual([201, 200, 200, 200]);
  });

  // Mutants: the key is refused without a second look; what was said for nothing stays on the session.
  test.each([
    ["one process", 1],
    ["several processes", 3],
  ])("at once on a session in %s starts one run; another message is refused", async (_where, processes) => {
    await using server = await worked({ idle: true });
    const servers: readonly ServedRath[] = [server, ...Array.from({ length: processes - 1 }, () => server.another())];
    for (let round = 0; round < 5; round++) {
      const { id: session } = await server.ask("createSession", {}, { message: "First" });
      for (const said of [{ message: "More" }, {}]) {
        const body = { workflow: "echo", session, ...said, key: `k${round} ${Object.keys(said)}` };
        const answers = await Promise.all([...servers, ...servers, ...servers].map((one) => status(one, body)));
        expect(answers.map(([code]) => code).sort()).toEqual([...Array.from({ length: processes * 3 - 1 }, () => 200), 201]);
        expect(new Set(answers.map(([, { id }]) => id)).size).toBe(1);
        const other = { ...body, message: "Other" };
        for (const one of servers) expect(await status(one, other)).toMatchObject([409, { error: { code: "run.key-reused" } }]);
      }
    }
    expect((await server.ask("getRuns")).items).toHaveLength(10);
  });

  // Mutant: what was said lies in the session itself, or nowhere.
  test("on a session that a run was at work on gives the same run when that has gone on", async () => {
    await using server = await worked();
    const { id: session } = await server.ask("createSession", {}, { message: "First" });
    const first = await server.ask("startRun", {}, { workflow: "receive", session });
    await settled(server, first.id);
    const body = { workflow: "echo", session, message: "More", key: "k" };
    const [, run] = await status(server, body);
    expect(run.session).not.toBe(session);
    await server.ask("sendSignal", { run: first.id }, { signal: "paid", data: 1 });
    await done(server, first.id);
    expect(await status(server, body)).toMatchObject([200, { id: run.id }]);
    expect(await status(server, { ...body, message: "Other" })).toMatchObject([409, { error: { code: "run.key-reused" } }]);
  });

  // Mutant: what was said for it stays where it was said.
  test("that is refused leaves nothing on the session: it goes on as it was, and others who write it are seen", async () => {
    await using server = await worked({ idle: true });
    const { id: session } = await server.ask("createSession", {}, { message: "First" });
    await server.ask("startRun", {}, { workflow: "echo", message: "Hi", key: "k" });
    expect(await status(server, { workflow: "echo", session, message: "Lost", key: "k" })).toMatchObject([409, {}]);
    const elsewhere = await server.another().ask("sayInSession", { session }, { message: "Elsewhere" });
    expect(await server.ask("getSession", { session })).toMatchObject({ head: elsewhere.head });
    expect(await server.ask("startRun", {}, { workflow: "echo", session, message: "More" })).toMatchObject({ session });
  });

  test("at once with two different messages on a session starts one of them, and refuses the other", async () => {
    await using server = await worked({ idle: true });
    const { id: session } = await server.ask("createSession", {}, { message: "First" });
    for (const one of [server, server.another()]) {
      const body = { workflow: "echo", session, key: `k ${one === server}` };
      const answers = await Promise.all([status(server, { ...body, message: "a" }), status(one, { ...body, message: "b" })]);
      expect(answers.map(([code]) => code).sort()).toEqual([201, 409]);
    }
  });
});

describe("the queue", () => {
  // Mutant: takePlace does not count what was started here.
  test("has an end: then starting is refused for a while, but not what is there already", async () => {
    await using server = await worked({ idle: true, limits: { queue: 2 } });
    await server.ask("startRun", {}, { workflow: "echo", message: "1", key: "one" });
    await server.ask("startRun", {}, { workflow: "echo", message: "2" });
    const response = await server.response("startRun", {}, { workflow: "echo", message: "3" });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.json()).toMatchObject({ error: { code: "server.busy", retryable: true } });
    expect((await status(server, { workflow: "echo", message: "1", key: "one" }))[0]).toBe(200);
    server.work();
    await expect.poll(async () => (await status(server, { workflow: "echo", message: "3" }))[0], { timeout: 5000 }).toBe(201);
  });

  // Mutant: started does not take back what was said for a run that is not started.
  test("that is full leaves the session of a refused run where it was: it is that session which goes on later", async () => {
    await using server = await worked({ idle: true, limits: { queue: 1 } });
    const { id: session } = await server.ask("createSession", {}, { message: "First" });
    await server.ask("startRun", {}, { workflow: "echo", message: "fills the queue" });
    const body = { workflow: "echo", session, message: "More" };
    expect((await status(server, body))[0]).toBe(503);
    server.work();
    let [code, run] = await status(server, body);
    await until(async () => {
      if (code === 503) [code, run] = await status(server, body);
      return code !== 503;
    }, "there is room in the queue");
    expect([code, run.session]).toEqual([201, session]);
  });
});

describe("the list", () => {
  const page = async (server: Worked, query: Record<string, string | number>): Promise<string[]> => {
    const found: string[] = [];
    for (let after: string | undefined; ; ) {
      const { items, next } = await server.ask("getRuns", { ...query, ...(after === undefined ? {} : { after }) });
      expect(items.length).toBeLessThanOrEqual(Number(query["limit"] ?? 100));
      found.push(...items.map(({ id }: Answer) => id));
      if (next === undefined) return found;
      expect(next).not.toBe(after);
      after = next;
    }
  };

  test("comes in pages from either end, by status, workflow and session; runs of others are not there", async () => {
    await using server = await worked({ idle: true });
    const runs: Answer[] = [];
    for (let i = 0; i < 5; i++) runs.push(await server.ask("startRun", {}, { workflow: i % 2 === 0 ? "echo" : "ask", message: `${i}` }));
    const ids = runs.map(({ id }) => id);
    expect(await page(server, { limit: 2, order: "oldest" })).toEqual(ids);
    expect(await page(server, { limit: 2 })).toEqual([...ids].reverse());
    expect(await page(server, { limit: 1, workflow: "ask" })).toEqual([ids[3], ids[1]]);
    expect(await page(server, { session: runs[2].session })).toEqual([ids[2]]);
    expect(await page(server, { status: "done" })).toEqual([]);
    expect(await server.refused("getRuns", { after: "never" })).toMatchObject({ status: 400, code: "request.invalid" });
    const other = await server.as("human:eve", ["admin"], { project: "other" });
    expect((await other.ask("getRuns")).items).toEqual([]);
    for (const route of ["getRun", "getResult", "cancelRun", "resumeRun", "sendSignal"]) {
      const body = routeNamed(route).body === undefined ? undefined : route === "sendSignal" ? { signal: "s" } : {};
      expect(await other.refused(route, { run: ids[0] }, body), route).toMatchObject({ status: 404, code: "run.not-found" });
    }
    expect(await other.refused("startRun", {}, { workflow: "echo", session: runs[0].session })).toMatchObject({ status: 404 });
  });
});

describe("hostile input", () => {
  test.each<[string, object, number]>([
    ["nothing", {}, 400],
    ["neither session nor message", { workflow: "echo" }, 400],
    ["an unknown field", { workflow: "echo", message: "x", by: "human:root" }, 400],
    ["an unknown workflow", { workflow: "__proto__", message: "x" }, 404],
    ["a workflow of Object", { workflow: "toString", message: "x" }, 404],
    ["no id", { workflow: "echo", session: "../../etc" }, 400],
    ["a step that is not there", { workflow: "echo", session: "00000000@9" }, 404],
    ["a NUL in the key", { workflow: "echo", message: "x", key: "a\u0000b" }, 400],
    ["an empty key", { workflow: "echo", message: "x", key: "" }, 400],
    ["half a character in the key", { workflow: "echo", message: "x", key: "\ud800" }, 400],
    ["a duration that is none", { workflow: "echo", message: "x", deadline: "soon" }, 400],
    ["a time that is none", { workflow: "echo", message: "x", deadline: "2026-13-45T99:00:00Z" }, 400],
    ["a priority beyond numbers", { workflow: "echo", message: "x", priority: 1e300 }, 400],
    ["limits of its own", { workflow: "echo", message: "x", limits: { usd: -1 } }, 400],
    ["a title of a session that is there", { workflow: "echo", session: "0000", title: "x" }, 400],
    ["many tags", { workflow: "echo", message: "x", tags: Array.from({ length: 51 }, (_, i) => `${i}`) }, 400],
  ])("%s is refused", async (_, body, expected) => {
    await using server = await worked({ idle: true });
    expect((await server.refused("startRun", {}, body)).status).toBe(expected);
    expect((await server.ask("getRuns")).items).toEqual([]);
  });

  test("what strangers write comes back as they wrote it", async () => {
    await using server = await worked();
    const text = '<script>alert(1)</script>\u001b[31m\u202e"\u0007';
    const { id, key } = await server.ask("startRun", {}, { workflow: "echo", message: text, title: text, key: text });
    expect(key).toBe(text);
    expect(await done(server, id)).toMatchObject({ output: text, session: { title: text } });
  });
});

describe("the server", () => {
  test("says what it is and what the caller may do, to whoever has a key", async () => {
    await using server = await worked({ auth: "keys" });
    const viewer = await server.as("human:vi", ["viewer"]);
    expect(await viewer.ask("info")).toMatchObject({
      ...{ name: "openrath", store: "sqlite", tenant: "default", project: "default", formats: expect.arrayContaining(["bundle"]) },
      caller: { identity: "human:vi", roles: ["viewer"], permissions: ["sessions:read", "runs:read", "pending:read", "memory:read"] },
      workflows: expect.arrayContaining(["echo", "ask"]),
    });
    expect(await server.refused("info")).toMatchObject({ status: 401 });
    for (const route of ["startRun", "cancelRun", "resumeRun", "sendSignal"])
      expect(await viewer.refused(route, { run: "00" }, {}), route).toMatchObject({ status: 403, code: "access.forbidden" });
  });

  test("describes its workflows, with the revision that runs record", async () => {
    await using server = await worked();
    const { items } = await server.ask("getWorkflows", { limit: 3 });
    expect(items.map(({ name }: Answer) => name)).toEqual(["approve", "approveInside", "ask"]);
    const echo = await server.ask("getWorkflow", { workflow: "echo" });
    const { id } = await server.ask("startRun", {}, { workflow: "echo", message: "x" });
    expect((await server.ask("getRun", { run: id })).revision).toBe(echo.revision);
    expect(await server.refused("getWorkflow", { workflow: "constructor" })).toMatchObject({ status: 404, code: "run.unknown-workflow" });
  });

  // Mutant: only the store is asked.
  test("is not ready while its worker finishes what it has, and is again when nobody works here", async () => {
    await using server = await worked({ idle: true });
    const stop = new AbortController();
    const working = server.rath.work({ signal: stop.signal, drain: "10s" });
    const { id } = await server.ask("startRun", {}, { workflow: "endless", message: "x" });
    await expect.poll(async () => (await server.ask("getRun", { run: id })).status).toBe("running");
    expect((await server.response("ready")).status).toBe(200);
    stop.abort();
    await expect.poll(async () => (await server.response("ready")).status).toBe(503);
    await server.ask("cancelRun", { run: id }, {});
    await working;
    expect((await server.response("ready")).status).toBe(200);
  });

  test("is ready while its store answers and its worker looks for work, and says why when it is not", async () => {
    await using server = await worked({ auth: "keys" });
    await expect.poll(async () => (await server.response("ready")).status).toBe(200);
    expect(await server.ask("health")).toEqual({ status: "ok" });
    await server.rath.close();
    const answer = await server.response("ready");
    const message = expect.stringMatching(/^This server is not ready: .*closed.*\. Ask another one, or again later\.$/);
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { error: { code: "server.busy", message, details: { retryAfter: 1 } } },
    ]);
    expect(await server.ask("health")).toEqual({ status: "ok" });
  });
});
