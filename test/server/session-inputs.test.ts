/** Every route about sessions with inputs that nobody should send: each is answered, none with 500, all errors in the documented shape. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openrath } from "../../src/openrath.ts";
import { routes } from "../../src/server/routes/routes.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { errorBody } from "../../src/wire/api/error-body.ts";
import { coded, coding, hostile } from "../support/coded.ts";
import { type Asked, type ServedRath, serve } from "../support/served.ts";

let server: ServedRath;
let session = "";
let head = "";

beforeAll(async () => {
  server = serve(testRath({ workflows: { coding: coding() }, implicitForks: "allow" }));
  const made = await coded(server.rath);
  [session, head] = [made.id, made.head];
});
afterAll(async () => server[Symbol.asyncDispose]());

interface Valid {
  readonly asked?: Asked;
  readonly body?: Record<string, unknown>;
}

/** A call of each that is right; what is replaced in it is wrong. */
function valid(of: { readonly session: string; readonly head: string } = { session, head }): Readonly<Record<string, Valid>> {
  const { session, head } = of;
  const at = { session };
  return {
    createSession: { body: { message: "x", title: "t", tags: ["a"], principal: "p" } },
    getSessions: { asked: { limit: 3, status: "idle", tag: "demo", title: "x", parent: session, roots: "true", fields: "index" } },
    getSession: { asked: { ...at, at: 2 } },
    sayInSession: { asked: at, body: { message: "x", ifHead: head } },
    noteInSession: { asked: at, body: { text: "x", ifHead: head } },
    rejectSession: { asked: at, body: { reason: "x", ifHead: head } },
    forkSession: { asked: at, body: { at: 2, label: "l" } },
    mergeSessions: { asked: at, body: { others: [session], conflicts: "ours", context: "all", reason: "r", ifHead: head } },
    getConflicts: { asked: { ...at, with: session, at: 2 } },
    getEvents: { asked: { ...at, from: 1, to: 9, of: "log", fields: "index", limit: 2 } },
    getEvent: { asked: { event: head } },
    getEventLines: { asked: { ids: `${head},${head}`, fields: "all" } },
    getLineage: { asked: at },
    getMessages: { asked: { ...at, limit: 2, at: 3 } },
    getRequest: { asked: { ...at, at: head } },
    getBlob: { asked: { hash: "0".repeat(64), event: head } },
    getGraph: { asked: { ...at, format: "svg", at: 3 } },
    getDiff: { asked: { a: session, b: `${session}@2`, format: "text" } },
    getWhy: { asked: { ...at, check: "", at: head, format: "text" } },
    getBlame: { asked: { ...at, path: "src/a.ts", limit: 1, after: 1, at: head } },
    getCost: { asked: { ...at, by: "tool", at: 3 } },
    grepSession: {
      asked: { ...at, q: "x", ignoreCase: "true", kind: "tool.called", by: "coder", since: "2026-01-01T00:00:00Z", limit: 2, after: 1 },
    },
    grepProject: { asked: { q: "x", until: "2026-01-01T00:00:00Z" } },
    verifySession: { asked: at, body: { replay: false, anchor: "{}", keys: ["k"] } },
    replaySession: { asked: at, body: { from: 3, workflow: "coding" } },
    rerunSession: {
      asked: { ...at, at: head },
      body: { from: 99999, change: { event: head, output: 1 }, effects: "ask", memory: "recorded", workflow: "coding" },
    },
    deleteSession: { asked: { ...at, reason: "r", dryRun: "true" } },
    erase: { body: { session, matching: "nothing like this", reason: "r", dryRun: true } },
    getFiles: { asked: { ...at, under: "src", limit: 1, at: head } },
    getFileContent: { asked: { ...at, path: "src/a.ts", at: head } },
    getChanges: { asked: { ...at, from: 1, at: head, patches: "true", limit: 1 } },
    getPatch: { asked: { ...at, from: 1, at: head } },
    addCheck: { asked: at, body: { name: "n", passed: true, score: 1, reason: "r", ifHead: head } },
    getChecks: { asked: { ...at, limit: 1, at: head } },
    getSandboxes: { asked: { limit: 1, session, run: session, status: "closed" } },
  };
}

const texts = ["", "-1", "NaN", "0x10", "99999999999999999999", "../../x", hostile, "a".repeat(5000), "{}", "deadbeef"];
const values = ["", hostile, null, -1, 1e308, [], [null], {}, [{ type: "file", mediaType: "", data: "javascript:x" }]];
const names = routes.map(({ name }) => name).filter((name) => name !== "health");

test("every route here has its valid call", () => {
  expect(Object.keys(valid()).filter((name) => !names.includes(name))).toEqual([]);
});

async function answered(name: string, asked: Asked, body: unknown): Promise<number> {
  const response = await server.response(name, asked, body);
  const text = await response.text();
  expect(response.status, `${name} ${JSON.stringify(asked)} ${JSON.stringify(body)}: ${text.slice(0, 300)}`).not.toBe(500);
  if (response.status >= 400) {
    expect(errorBody.parse(JSON.parse(text))).toEqual(JSON.parse(text));
    expect(text).not.toMatch(/node_modules|\.ts:\d+/);
  }
  return response.status;
}

describe.each(Object.keys(validNames()))("%s", (name) => {
  test("takes wrong values without falling", async () => {
    const { asked = {}, body } = valid()[name] as Valid;
    for (const field of Object.keys(asked)) for (const text of texts) await answered(name, { ...asked, [field]: text }, body);
    for (const field of Object.keys(body ?? {})) for (const value of values) await answered(name, asked, { ...body, [field]: value });
    if (body !== undefined)
      for (const value of values)
        expect(await answered(name, asked, value)).toBe(
          value !== null && JSON.stringify(value) === "{}" ? await answered(name, asked, {}) : 400,
        );
  });

  test("refuses what it does not know", async () => {
    const { asked = {}, body } = valid()[name] as Valid;
    if (body !== undefined) expect(await answered(name, asked, { ...body, unknown: 1 })).toBe(400);
    else if (Object.keys(asked).some((field) => !["session", "event"].includes(field)) || name.startsWith("get"))
      expect(await answered(name, { ...asked, unknown: "1" }, body)).toBe(400);
  });
});

test.each(["%ff", "%00", "%c0%af", "..%2f..", "%E2%80%AE"])("a path with %s in it is answered", async (path) => {
  for (const rest of ["", "/events", "/files/content?path=%ff%fe", "/grep?q=%ed%a0%80"]) {
    const response = await server.fetch(new Request(`http://localhost/v1/sessions/${path}${rest}`));
    expect([400, 404]).toContain(response.status);
    expect(errorBody.safeParse(await response.json()).success).toBe(true);
  }
});

// Mutant: a route that reads another store than the caller's.
test("a key of another project, or of another tenant, finds nothing of it by any route, and changes nothing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openrath-others-"));
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  await using own = serve(openrath({ store: join(folder, "store.db"), workflows: { coding: coding() }, implicitForks: "allow" }));
  const made = await coded(own.rath);
  const others = [await own.as("human:eve", ["admin"], { project: "other" }), await own.as("human:mal", ["admin"], { tenant: "other" })];
  const named = Object.entries(valid({ session: made.id, head: made.head })).filter(([, call]) => JSON.stringify(call).includes(made.id));
  expect(named.length).toBeGreaterThan(25);
  for (const other of others) {
    for (const [name, { asked, body }] of named) {
      const response = await other.response(name, asked, body);
      const text = await response.text();
      if (name === "getSessions" || name === "getSandboxes") expect(JSON.parse(text)).toEqual({ items: [] });
      else expect([name, response.status, JSON.parse(text).error.code]).toEqual([name, 404, "session.not-found"]);
    }
    expect(await other.refused("getEvent", { event: made.head })).toMatchObject({ status: 404 });
    expect((await other.ask("grepProject", { q: "written" })).items).toEqual([]);
  }
  expect((await own.rath.open(made.id)).head).toBe(made.head);
});

/** Known before the world is made. */
function validNames(): Readonly<Record<string, true>> {
  return Object.fromEntries(Object.keys(valid()).map((name) => [name, true]));
}
