/** What is asked of sessions over HTTP: the same answers as the library's, as JSON and as documents that run nothing. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cost, diff, graph, why } from "../../src/audit/audit.ts";
import { openrath } from "../../src/openrath.ts";
import { heedErasures } from "../../src/runtime/heed-erasures.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import type { Session } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { plainJson } from "../../src/wire/neutral.ts";
import { coded, coding, hostile } from "../support/coded.ts";
import { Flow } from "../support/flow.ts";
import { type ServedRath, serve } from "../support/served.ts";

async function world(): Promise<{ server: ServedRath; session: Session; ofSession: { session: string } }> {
  const server = serve(testRath({ workflows: { coding: coding() }, implicitForks: "allow" }));
  const session = await coded(server.rath);
  return { server, session, ofSession: { session: session.id } };
}

/** As it travels. */
const sent = (value: unknown): unknown => JSON.parse(plainJson(value));

describe("answers are the library's", () => {
  test("graph, diff, why, blame, cost and the request", async () => {
    const { server, session, ofSession } = await world();
    await using _ = server;
    const { nodes, edges } = await graph(session);
    expect(await server.ask("getGraph", ofSession)).toEqual(sent({ nodes, edges }));
    const [a, b] = [`${session.id}@3`, session.id];
    expect(await server.ask("getDiff", { a, b })).toEqual(sent(await diff(session.at(3), session)));
    expect(await server.ask("getDiff", { a, b, format: "text" })).toBe(String(await diff(session.at(3), session)));
    for (const [asked, target] of [
      [{ line: "src/a.ts:2" }, "src/a.ts:2"],
      [{ answer: "Done" }, { answer: "Done" }],
      [{ event: session.head }, { event: session.head }],
      [{ call: "put" }, { call: "put" }],
      [{ check: "" }, { check: "" }],
      [{ cost: "" }, { cost: "" }],
    ] as const)
      expect(await server.ask("getWhy", { ...ofSession, ...asked })).toEqual(sent({ hops: (await why(session, target)).hops }));
    expect(await server.ask("getWhy", { ...ofSession, check: "tests", format: "text" })).toBe(
      String(await why(session, { check: "tests" })),
    );
    const blamed = await server.ask("getBlame", { ...ofSession, path: "src/a.ts" });
    expect(blamed.items.map(({ line, text }: { line: number; text: string }) => [line, text])).toEqual([
      [1, "one"],
      [2, "two"],
    ]);
    expect(blamed.events.map(({ id }: { id: string }) => id)).toEqual(blamed.items.map(({ event }: { event: string }) => event));
    const page = await server.ask("getBlame", { ...ofSession, path: "src/a.ts", limit: 1 });
    expect([page.items.length, page.next]).toEqual([1, "1"]);
    expect((await server.ask("getBlame", { ...ofSession, path: "src/a.ts", limit: 1, after: "1" })).items[0].line).toBe(2);
    const byModel = await cost(session, { by: "model" });
    expect(await server.ask("getCost", { ...ofSession, by: "model" })).toEqual(sent(byModel));
    const asked = await server.ask("getRequest", ofSession);
    expect(asked.request).toEqual(sent(await session.request()));
    expect(asked.previous).toMatchObject({ same: asked.request.messages.length - 2, changed: [] });
    const earlier = await server.ask("getRequest", { ...ofSession, at: asked.previous.event });
    expect(earlier.request.messages).toEqual(asked.request.messages.slice(0, -2));
    expect(await server.refused("getRequest", { ...ofSession, at: 1 })).toMatchObject({ status: 404 });
  });

  test("grep, of a session and of the project, page by page", async () => {
    const { server, ofSession } = await world();
    await using _ = server;
    await server.ask("createSession", {}, { message: "something written elsewhere" });
    const inSession = await server.ask("grepSession", { ...ofSession, q: "WRITTEN", ignoreCase: "true" });
    const everywhere = await server.ask("grepProject", { q: "written" });
    expect(everywhere.items.length).toBe(inSession.items.length + 1);
    const pages: unknown[] = [];
    for (let after: string | undefined, first = true; first || after !== undefined; first = false) {
      const page = await server.ask("grepProject", { q: "written", limit: 2, after });
      pages.push(...page.items);
      after = page.next;
    }
    expect(pages).toEqual(everywhere.items);
    expect((await server.ask("grepProject", { q: "written", kind: "message.added" })).items).toHaveLength(1);
    expect(await server.refused("grepProject", { q: "(a+)+", regex: "true" })).toMatchObject({ status: 400, code: "request.invalid" });
  });

  // Mutant: `next` grows by a digit that `after` does not take.
  test("has pages as far as there are hits, however many they are", async () => {
    await using server = serve(openrath({ store: "memory" }));
    const { id: session } = await server.ask("createSession", {}, { message: "hit\n".repeat(100_200) });
    const page = await server.ask("grepSession", { session, q: "hit", limit: 200, after: "99900" });
    expect([page.items.length, page.next]).toEqual([200, "100100"]);
    const last = await server.ask("grepSession", { session, q: "hit", limit: 200, after: page.next });
    expect([last.items.length, last.next]).toEqual([100, undefined]);
  });

  test("verify and replay; an anchor is a statement, never a file of the server", async () => {
    const { server, ofSession } = await world();
    await using _ = server;
    const found = await server.ask("verifySession", ofSession, { replay: true });
    expect(found).toMatchObject({ ok: true, problems: [], replays: [{ identical: true, workflow: "coding" }] });
    expect(await server.ask("verifySession", ofSession, { anchor: found.statement })).toMatchObject({ ok: true });
    expect(await server.refused("verifySession", ofSession, { anchor: "/etc/passwd" })).toMatchObject({ status: 400 });
    const replayed = await server.ask("replaySession", ofSession, {});
    expect(replayed).toMatchObject({ identical: true, workflow: "coding" });
    expect(replayed.steps.every(({ result }: { result: string }) => result === "same")).toBe(true);
    expect(await server.refused("replaySession", ofSession, { workflow: "nothing" })).toMatchObject({
      status: 404,
      code: "run.unknown-workflow",
    });
    const { id } = await server.ask("createSession", {}, { message: "by hand" });
    expect(await server.refused("replaySession", { session: id }, {})).toMatchObject({ status: 404, code: "run.not-recorded" });
  });

  // Mutant: the fork is not stored before the answer.
  test("rerun begins on a fork of the caller's that can be read at once, and ends by itself", async () => {
    const { server, session, ofSession } = await world();
    await using _ = server;
    const bob = await server.as("human:bob", ["operator"]);
    const tried = [...session.events()].find(({ kind }) => kind === "do.returned");
    const begun = await bob.ask("rerunSession", ofSession, { change: { event: tried?.id, output: 3 }, effects: "live" });
    expect(begun.of).toBe(session.id);
    expect(await bob.ask("getEvents", { session: begun.session, of: "log", limit: 1 })).toMatchObject({
      items: [{ kind: "session.forked", by: "human:bob" }],
    });
    await expect.poll(async () => (await server.ask("getChecks", { session: begun.session })).items.length).toBe(1);
    // No worker takes it, and it is a run all the same.
    await expect.poll(async () => (await bob.ask("getRun", { run: begun.run })).status).toBe("done");
    const { workflow } = (await server.ask("getRuns")).items[0];
    expect(await bob.ask("getRun", { run: begun.run })).toMatchObject({ id: begun.run, workflow, session: begun.session });
    expect((await bob.ask("getResult", { run: begun.run })).status).toBe("done");
    expect(await bob.refused("getRun", { run: session.id })).toMatchObject({ status: 404, code: "run.not-found" });
    expect((await server.ask("getDiff", { a: session.id, b: begun.session })).reused.b.results).toBeGreaterThan(3);
    expect(await bob.refused("rerunSession", ofSession, { change: { event: "0".repeat(64), output: 1 } })).toMatchObject({ status: 404 });
    const said = await bob.ask("rerunSession", ofSession, { change: { message: "Count again" }, effects: "live" });
    expect((await server.ask("getMessages", { session: said.session })).items[0]?.text).toBe("Count again");
    await expect.poll(async () => (await server.ask("getChecks", { session: said.session })).items.length).toBe(1);
  });

  test("sandboxes", async () => {
    const { server, session } = await world();
    await using _ = server;
    const { items } = await server.ask("getSandboxes");
    const records: unknown[] = [];
    for await (const record of server.rath.sandboxes()) records.push(record);
    expect(items).toEqual(sent(records));
    expect((await server.ask("getSandboxes", { session: session.id })).items).toEqual(
      items.filter((one: { session: string }) => one.session === session.id),
    );
  });
});

describe("files", () => {
  test("are listed a directory at a time, read, and compared", async () => {
    const { server, session, ofSession } = await world();
    await using _ = server;
    const root = await server.ask("getFiles", ofSession);
    expect(root.tree).toBe(session.files.hash);
    expect(root.items).toMatchObject([
      { path: "page.html", type: "file", size: 10 },
      { path: "src", type: "directory" },
    ]);
    expect((await server.ask("getFiles", { ...ofSession, under: "src" })).items).toMatchObject([{ path: "src/a.ts", type: "file" }]);
    const first = await server.ask("getFiles", { ...ofSession, limit: 1 });
    expect(first).toMatchObject({ items: [{ path: "page.html" }], next: "page.html" });
    expect(await server.ask("getFiles", { ...ofSession, limit: 1, after: first.next })).toMatchObject({ items: [{ path: "src" }] });
    // Mutant: a page after what is not there is the first one, so that whoever turns pages never ends.
    for (const [route, after] of [
      ["getFiles", "gone"],
      ["getChanges", "gone"],
      ["getChecks", "0".repeat(64)],
    ] as const)
      expect(await server.refused(route, { ...ofSession, after })).toMatchObject({ status: 400, code: "request.invalid" });
    expect(await server.ask("getFileContent", { ...ofSession, path: "src/a.ts" })).toBe("one\ntwo\n");
    const changes = await server.ask("getChanges", { ...ofSession, patches: "true" });
    expect(changes.items).toMatchObject([
      { path: "page.html", kind: "added", lines: { added: 1, removed: 0 } },
      { path: "src/a.ts", kind: "added", patch: expect.stringContaining("+two") },
    ]);
    const [before, after] = [...session.events()].filter(({ kind }) => kind === "tool.returned");
    expect(await server.ask("getChanges", { ...ofSession, from: before?.id, at: after?.id })).toMatchObject({
      items: [{ path: "src/a.ts", kind: "changed" }],
    });
    for (const path of ["nothing", "../../etc/passwd", "/etc/passwd", "src", "a\0b", hostile])
      expect((await server.refused("getFileContent", { ...ofSession, path })).status, path).toBeGreaterThanOrEqual(400);
    expect(await server.refused("getFiles", { ...ofSession, under: "src/a.ts" })).toMatchObject({ status: 422, code: "workspace.invalid" });
  });

  test("come to be saved, whatever they claim to be", async () => {
    const { server, ofSession } = await world();
    await using _ = server;
    const { headers } = await server.response("getFileContent", { ...ofSession, path: "page.html" });
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''page.html");
    const name = `evil"\r\nx: y;\u202e\ud800.html`;
    const session = await server.rath
      .session("x")
      .to("memory")
      .do("write", async ({ sandbox }) => sandbox.write(name, new Uint8Array([0, 255])), { repeat: "safe" })
      .catch(() => undefined);
    for await (const path of session?.files.list() ?? []) {
      const response = await server.response("getFileContent", { session: session?.id, path });
      expect(response.headers.get("content-type")).toBe("application/octet-stream");
      expect(response.headers.get("content-disposition")).toMatch(/^attachment; filename\*=UTF-8''[\w%.!#$&+^`|~-]*$/);
    }
  });
});

test("drawings and pages of what strangers wrote hold no markup of theirs, and may run nothing", async () => {
  const { server, session, ofSession } = await world();
  await using _ = server;
  const lost = (await graph(session)).nodes.find(({ status }) => status === "rejected");
  for (const [route, asked, type] of [
    ["getGraph", { ...ofSession, format: "svg" }, "image/svg+xml"],
    ["getGraph", { ...ofSession, format: "mermaid" }, "text/plain"],
    ["getGraph", { ...ofSession, format: "dot" }, "text/plain"],
    ["getDiff", { a: session.id, b: lost?.id, format: "html" }, "text/html"],
  ] as const) {
    const response = await server.response(route, asked);
    expect(response.headers.get("content-type")).toBe(`${type}; charset=utf-8`);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(response.headers.get("content-security-policy")).toContain("sandbox");
    if (type !== "text/plain") expect(await response.text()).not.toContain("<script>alert");
  }
});

describe("contents that events name", () => {
  // Mutant: the store is asked by the hash alone.
  test("are given to who names the event, and to nobody by the hash alone", async () => {
    const folder = await mkdtemp(join(tmpdir(), "openrath-blobs-"));
    try {
      await using server = serve(openrath({ store: join(folder, "store.db") }));
      const long = "secret of the first project ".repeat(400);
      const { id } = await server.ask("createSession", {}, { message: long });
      const { items } = await server.ask("getEvents", { session: id });
      const [created, added] = items as { id: string }[];
      const hash = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(long))).toString("hex");
      expect(await server.ask("getBlob", { hash, event: added?.id })).toBe(long);
      expect(await server.refused("getBlob", { hash, event: created?.id })).toMatchObject({ status: 404 });
      expect(await server.refused("getBlob", { hash })).toMatchObject({ status: 400 });
      const other = await server.as("human:eve", ["admin"], { project: "other" });
      expect(await other.refused("getBlob", { hash, event: added?.id })).toMatchObject({ status: 404 });
      const own = await other.ask("createSession", {}, { message: "x" });
      const { items: others } = await other.ask("getEvents", { session: own.id });
      expect(await other.refused("getBlob", { hash, event: others[1].id })).toMatchObject({ status: 404 });
      expect(await other.refused("getSession", { session: id })).toMatchObject({ status: 404 });
      expect((await other.ask("grepProject", { q: "secret" })).items).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("erasing", () => {
  test("takes a whole id, says first what would go, and names the caller", async () => {
    await using server = serve(testRath());
    const { id } = await server.ask("createSession", {}, { message: "forget me please", title: "secret title" });
    await server.ask("getMessages", { session: id });
    expect(await server.refused("deleteSession", { session: id.slice(0, 8), reason: "asked" })).toMatchObject({ status: 404 });
    expect(await server.refused("deleteSession", { session: id })).toMatchObject({ status: 400 });
    const would = await server.ask("deleteSession", { session: id, reason: "asked", dryRun: "true" });
    expect(would).toMatchObject({ dryRun: true, sessions: [id], entries: [] });
    expect((await server.ask("getMessages", { session: id })).items).toMatchObject([{ text: "forget me please" }]);
    const admin = await server.as("human:root", ["admin"]);
    const erased = await admin.ask("deleteSession", { session: id, reason: "asked by the customer" });
    expect(erased).toMatchObject({ dryRun: false, events: would.events });
    const everything = await Promise.all([
      server.response("getSession", { session: id }),
      server.response("getMessages", { session: id }),
      server.response("getEvents", { session: id }),
      server.response("getSessions"),
      server.response("grepProject", { q: "forget me" }),
    ]);
    for (const response of everything) expect(await response.text()).not.toMatch(/forget me please|secret title/);
    const { erasures } = await server.ask("verifySession", { session: id }, {});
    expect(erasures).toMatchObject([{ by: "human:root", reason: "asked by the customer" }]);
  });

  // Mutants: nothing is heeded; lists remember what was erased.
  test("by another process is heeded, though everything was in memory here", async () => {
    const folder = await mkdtemp(join(tmpdir(), "openrath-erased-"));
    try {
      const store = join(folder, "store.db");
      await using server = serve(openrath({ store }));
      await using other = openrath({ store });
      const { id } = await server.ask("createSession", {}, { message: "forget me please", title: "secret title" });
      const shown = async (): Promise<string> =>
        JSON.stringify([
          await server.ask("getMessages", { session: id }),
          await server.ask("getSession", { session: id }),
          await server.ask("getSessions"),
        ]);
      expect(await shown()).toMatch(/forget me please.*secret title.*secret title/);
      await other.erase({ session: id }, { by: "human:root", reason: "asked" });
      await heedErasures(runtimeOf(server.rath.session()), 0);
      expect(await shown()).not.toMatch(/forget me please|secret title/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("whatever holds a text, and 409 while a run needs it", async () => {
    await using server = serve(testRath({ workflows: { asking: asking() }, implicitForks: "allow" }));
    const { id } = await server.ask("createSession", {}, { message: "the PIN is 4711" });
    const report = await server.ask("erase", {}, { matching: "4711", reason: "a PIN" });
    expect(report).toMatchObject({ sessions: [id] });
    expect(await server.refused("erase", {}, { reason: "nothing named" })).toMatchObject({ status: 400, code: "value.unsupported" });
    const session = await server.rath.save(server.rath.session("go"));
    await (await server.rath.run("asking", session)).settle();
    expect(await server.refused("deleteSession", { session: session.id, reason: "x" })).toMatchObject({
      status: 409,
      code: "erase.refused",
    });
  });
});

function asking() {
  return new Flow(async (session) => session.ask("Go on?"), "asking");
}
