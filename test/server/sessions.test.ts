/** Routes about sessions: made, listed, read and continued. */
import { describe, expect, test } from "vitest";
import { routes } from "../../src/server/routes/routes.ts";
import type { Session } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { coded, coding, hostile } from "../support/coded.ts";
import { Flow } from "../support/flow.ts";
import { serve } from "../support/served.ts";

const world = () => serve(testRath({ workflows: { coding: coding() }, implicitForks: "allow" }));

describe("a session", () => {
  test("is made with a message, belongs to the caller, and every event of it is by them", async () => {
    await using server = world();
    const ada = await server.as("human:ada", ["operator"]);
    const made = await ada.ask("createSession", {}, { message: "Hello", title: "First", tags: ["a", "b"] });
    expect(made).toMatchObject({ title: "First", tags: ["a", "b"], principal: "human:ada", status: "idle", step: 2, waiting: 0 });
    const { items } = await ada.ask("getEvents", { session: made.id });
    expect(items.map(({ kind, by }: { kind: string; by: string }) => [kind, by])).toEqual([
      ["session.created", "human:ada"],
      ["message.added", "human:ada"],
    ]);
    expect(await ada.ask("getSession", { session: made.id.slice(0, 8) })).toEqual(made);
  });

  // Mutant: by is the principal.
  test("made for somebody else is theirs, and by the caller", async () => {
    await using server = world();
    const service = await server.as("service:web", ["admin"], { permissions: ["sessions:read", "sessions:write", "people:act"] });
    const made = await service.ask("createSession", {}, { message: "Hi", principal: "user-42" });
    expect(made.principal).toBe("user-42");
    const { items } = await service.ask("getEvents", { session: made.id, fields: "index" });
    expect(new Set(items.map(({ by }: { by: string }) => by))).toEqual(new Set(["service:web"]));
  });

  // Mutant: any principal is taken. Whose session it is decides whose memories are read in it.
  test("is nobody else's where the caller does not act for people", async () => {
    await using server = world();
    const ada = await server.as("human:ada", ["operator"]);
    expect(await ada.refused("createSession", {}, { message: "What does Bob like?", principal: "human:bob" })).toMatchObject({
      ...{ status: 403, code: "access.forbidden", details: { needs: "people:act" } },
    });
    expect(await ada.ask("createSession", {}, { principal: "human:ada" })).toMatchObject({ principal: "human:ada" });
    expect((await ada.ask("getSessions")).items).toHaveLength(1);
  });

  test("takes parts: text, bytes and addresses, and gives them back as they came", async () => {
    await using server = world();
    const data = { $: "bytes", base64: Buffer.from([0, 255, 1]).toString("base64") };
    const parts = [
      { type: "text", text: hostile },
      { type: "file", mediaType: "image/png", data },
      { type: "file", mediaType: "image/png", data: "https://example.org/a.png" },
    ];
    const { id } = await server.ask("createSession", {}, { message: parts });
    const { items } = await server.ask("getMessages", { session: id });
    expect(items[0]).toMatchObject({ role: "user", parts, by: "human:local" });
  });

  test("as it stood at a step, or at an event", async () => {
    await using server = world();
    const session = await coded(server.rath);
    const second = await server.ask("getSession", { session: session.id, at: 2 });
    expect(second).toMatchObject({ id: session.id, step: 2, status: "idle", title: expect.stringContaining("Counting") });
    expect(await server.ask("getSession", { session: session.id, at: second.head })).toEqual(second);
    expect(await server.refused("getSession", { session: session.id, at: 999999 })).toMatchObject({
      status: 404,
      code: "session.not-found",
    });
    expect(await server.refused("getSession", { session: "0000000f-aaaa" })).toMatchObject({ status: 404, code: "session.not-found" });
  });
});

describe("sessions are listed", () => {
  test("newest first, page by page, each once", async () => {
    await using server = world();
    const made: string[] = [];
    for (let index = 0; index < 7; index++) made.push((await server.ask("createSession", {}, { title: `T${index}` })).id);
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await server.ask("getSessions", { limit: 3, after });
      expect(page.items.length).toBeLessThanOrEqual(3);
      found.push(...page.items.map(({ id }: { id: string }) => id));
      after = page.next;
    } while (after !== undefined);
    expect(found).toEqual(made.reverse());
  });

  test("by status, tag, title, parent and roots; a row has what a session has", async () => {
    await using server = world();
    const session = await coded(server.rath);
    const plain = await server.ask("createSession", {}, { title: "plain", tags: ["x"] });
    const ids = async (asked: Record<string, string>): Promise<string[]> =>
      (await server.ask("getSessions", asked)).items.map(({ id }: { id: string }) => id);
    expect(await ids({ roots: "true" })).toEqual([plain.id, session.id]);
    expect(await ids({ tag: "x" })).toEqual([plain.id]);
    expect(await ids({ title: "COUNTING" })).toEqual([session.id]);
    const forks = await server.ask("getSessions", { parent: session.id });
    expect(forks.items.map(({ lineage }: { lineage: { label: string } }) => lineage.label).sort()).toEqual(["kept", "lost"]);
    const rejected = await server.ask("getSessions", { status: "rejected" });
    expect(rejected.items).toMatchObject([{ status: "rejected", lineage: { kind: "fork", label: "lost" } }]);
    expect(await ids({ status: "rejected", fields: "index" })).toEqual(rejected.items.map(({ id }: { id: string }) => id));
    const { text: _, placement: _1, stop: _2, ...whole } = await server.ask("getSession", { session: session.id });
    const { items } = await server.ask("getSessions", { roots: "true" });
    expect(items[1]).toEqual({ ...whole, children: 2, standing: "idle" });
    const [, index] = (await server.ask("getSessions", { roots: "true", fields: "index" })).items;
    const { id, head, step, title, tags, principal, changed } = whole;
    expect(index).toEqual({ id, head, step, title, tags, principal, changed });
  });

  test("with how many events and branches each has, who wrote in it, and the run at work on it", async () => {
    await using server = world();
    const session = await coded(server.rath);
    const plain = await server.ask("createSession", {}, { message: "Hello" });
    const rows = async () => new Map((await server.ask("getSessions", {})).items.map((row: { id: string }) => [row.id, row]));
    const own = await server.ask("getEvents", { session: session.id, of: "log", limit: 500 });
    expect((await rows()).get(session.id)).toMatchObject({ events: own.items.length, children: 2, agents: ["coding/coder"] });
    const quiet = (await rows()).get(plain.id);
    expect(quiet).toMatchObject({ events: 2, children: 0, agents: [] });
    expect(quiet).not.toHaveProperty("run");
    // What to call one without a title.
    expect(quiet).toMatchObject({ begins: "Hello" });
    expect((await rows()).get(session.id)).not.toHaveProperty("begins");
    const first = await server.ask("startRun", {}, { workflow: "coding", session: plain.id });
    const second = await server.ask("startRun", {}, { workflow: "coding", session: plain.id });
    expect((await rows()).get(plain.id)).toMatchObject({ run: { id: second.id, workflow: "coding", status: "queued" } });
    const fork = await server.ask("forkSession", { session: plain.id }, {});
    // Children alone: what continues those is counted with them.
    await server.ask("forkSession", { session: fork.id }, {});
    expect((await rows()).get(plain.id)).toMatchObject({ children: 1 });
    expect((await rows()).get(fork.id)).toMatchObject({ children: 1, events: 1 });
    for (const { id } of [first, second]) await server.ask("cancelRun", { run: id }, {});
    expect((await rows()).get(plain.id)).not.toHaveProperty("run");
  });

  // Mutant: a session's own line is asked for its status, which says "idle" of the first three.
  test("by how they stand: as the runs on them do, also where those wait on a fork, and as rows say it", async () => {
    let end = (): void => {};
    const over = new Promise<string>((resolve) => {
      end = () => resolve("done");
    });
    const workflows = {
      asks: new Flow((session: Session) => session.fork("second").ask("May it be released?"), "asks"),
      slow: new Flow((session: Session) => session.do("slow", () => over), "slow"),
    };
    await using server = serve(testRath({ workflows, implicitForks: "allow" }));
    const { rath } = server;
    const asking = await rath.run("asks", rath.session("Release", { title: "asking" }));
    await asking.settle();
    await rath.run("slow", rath.session("Later", { title: "queued" }), { queue: true });
    const running = await rath.run("slow", rath.session("Now", { title: "running" }));
    await rath.save(rath.session("Quiet", { title: "quiet" }));
    const titles = async (status: string, more: Record<string, string> = {}): Promise<string[]> => {
      const { items } = await server.ask("getSessions", { status, roots: "true", ...more });
      if (more["fields"] === undefined) expect(items.every(({ standing }: { standing: string }) => standing === status)).toBe(true);
      return items.map(({ title }: { title: string }) => title);
    };
    const stand = async () => Promise.all(["waiting", "queued", "running", "idle"].map((status) => titles(status)));
    await expect.poll(stand).toEqual([["asking"], ["queued"], ["running"], ["quiet"]]);
    expect(await titles("waiting", { fields: "index" })).toEqual(["asking"]);
    const [question] = await rath.pending();
    await rath.decide(question?.id ?? "", { by: "ada", answer: "yes" });
    end();
    await Promise.all([asking.result(), running.result()]);
    expect(await stand()).toEqual([[], ["queued"], [], ["quiet", "running", "asking"]]);
    expect(await server.refused("getSessions", { status: "done" })).toMatchObject({ status: 400 });
  });
});

describe("events", () => {
  test("come by steps, whole or as an index, of all ancestors or of one log", async () => {
    await using server = world();
    const session = await coded(server.rath);
    const all = [...session.events()];
    const whole = await server.ask("getEvents", { session: session.id, limit: 500 });
    expect(whole.items.map(({ id }: { id: string }) => id)).toEqual(all.map(({ id }) => id));
    expect(whole.next).toBeUndefined();
    const some = await server.ask("getEvents", { session: session.id, from: 3, to: 6 });
    expect(some.items.map(({ step }: { step: number }) => step)).toEqual(
      all.map(({ step }) => step).filter((step) => step >= 3 && step <= 6),
    );
    const log = await server.ask("getEvents", { session: session.id, of: "log", from: 2 });
    expect(log.items).toEqual(
      whole.items.filter((event: { session: string; step: number }) => event.session === session.id && event.step >= 2),
    );
    const index = await server.ask("getEvents", { session: session.id, fields: "index", limit: 500 });
    expect(JSON.stringify(index.items).length / index.items.length).toBeLessThan(220);
    expect(rebuilt(index.items, session)).toEqual(
      all.map(({ id, step, kind, by, at, session: of, parents, facts }) => ({ id, step, kind, by, at, session: of, parents, facts })),
    );
    const indexOfLog = await server.ask("getEvents", { session: session.id, fields: "index", of: "log" });
    expect(rebuilt(indexOfLog.items, session).map(({ id }) => id)).toEqual(
      all.filter((event) => event.session === session.id).map(({ id }) => id),
    );
  });

  // Mutant: the cursor knows the step alone.
  test("page by page are each event once, also where several stand at one step", async () => {
    await using server = world();
    const base = await server.rath.session("base").do("x", () => 1);
    const branches = await Promise.all(["a", "b", "c"].map((label) => base.fork(label).do("y", () => label)));
    const merged = await server.rath.save(await (branches[0] as Session).merge(branches.slice(1)));
    for (const [of, expected] of [
      ["ancestors", [...merged.events()]],
      ["log", [...merged.events()].filter(({ session }) => session === merged.id)],
    ] as const) {
      const found: string[] = [];
      for (let after: string | undefined, first = true; first || after !== undefined; first = false) {
        const page = await server.ask("getEvents", { session: merged.id, of, limit: 2, after });
        found.push(...page.items.map(({ id }: { id: string }) => id));
        after = page.next;
      }
      expect(found).toEqual(expected.map(({ id }) => id));
    }
  });

  // Mutant: pages are as long as their items.
  test("long ones make a page end early, of events and of messages", async () => {
    await using server = world();
    const { id } = await server.ask("createSession", {}, { message: "short" });
    const long = "x".repeat(900_000);
    for (let count = 0; count < 6; count++) await server.ask("sayInSession", { session: id }, { message: long });
    for (const [route, asked, whole] of [
      ["getEvents", {}, 8],
      ["getEvents", { of: "log" }, 8],
      ["getMessages", {}, 7],
    ] as const) {
      const pages: number[] = [];
      for (let after: string | undefined, first = true; first || after !== undefined; first = false) {
        const page = await server.ask(route, { session: id, ...asked, after });
        pages.push(page.items.length);
        after = page.next;
      }
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.reduce((sum, length) => sum + length)).toBe(whole);
    }
    expect((await server.ask("getEvents", { session: id, fields: "index" })).items).toHaveLength(8);
  });

  test("one of them by its id", async () => {
    await using server = world();
    const session = await coded(server.rath);
    const { items } = await server.ask("getEvents", { session: session.id, limit: 500 });
    const returned = items.find(({ kind }: { kind: string }) => kind === "tool.returned");
    expect(await server.ask("getEvent", { event: returned.id })).toEqual(returned);
    expect(await server.refused("getEvent", { event: "0".repeat(64) })).toMatchObject({ status: 404 });
    expect(await server.refused("getEvent", { event: "12" })).toMatchObject({ status: 400, code: "request.invalid" });
  });
});

/** What an index leaves out, put back by what its schema says. */
function rebuilt(
  items: readonly {
    id: string;
    session?: string;
    parents?: string[];
    facts?: object;
    step: number;
    kind: string;
    by: string;
    at: string;
  }[],
  { id }: Session,
) {
  return items.map((item, index) => ({
    ...item,
    session: item.session ?? id,
    parents: item.parents ?? [items[index - 1]?.id],
    facts: item.facts ?? {},
  }));
}

test("everything that can be asked of sessions has its route", () => {
  const places = routes.map(({ method, path }) => `${method} ${path}`);
  const ofSession = [
    "",
    "/events",
    "/messages",
    "/request",
    "/conflicts",
    "/graph",
    "/why",
    "/blame",
    "/cost",
    "/grep",
    "/checks",
    "/changes",
  ];
  const gets = [...ofSession, "/files", "/files/content"].map((rest) => `GET /v1/sessions/{session}${rest}`);
  const verbs = ["say", "note", "reject", "fork", "merge", "checks", "verify", "replay", "rerun"];
  const posts = verbs.map((verb) => `POST /v1/sessions/{session}/${verb}`);
  const others = [
    "GET /v1/sessions",
    "POST /v1/sessions",
    "DELETE /v1/sessions/{session}",
    "GET /v1/events/{event}",
    "GET /v1/blobs/{hash}",
  ];
  const everywhere = ["GET /v1/diff", "GET /v1/grep", "POST /v1/erase", "GET /v1/sandboxes"];
  expect(places).toEqual(expect.arrayContaining([...gets, ...posts, ...others, ...everywhere]));
});

test("no two routes have the same name, or the same place", () => {
  expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
  expect(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size).toBe(routes.length);
});
