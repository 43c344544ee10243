/**
 * Every route, asked by another project of the same tenant and by another tenant for what the first one has: it does not exist for them, and
 * nothing of it changes. Routes that are added are walked without being named here; a parameter nobody knows how to fill fails by name.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Scope } from "../../src/access/access.ts";
import { Agent } from "../../src/agent/agent.ts";
import { scripted } from "../../src/model/scripted.ts";
import { openrath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import type { Route } from "../../src/server/route.ts";
import { routes } from "../../src/server/routes/routes.ts";
import { createServer, type Server } from "../../src/server/server.ts";
import { dataText } from "../../src/session/codec.ts";
import { blobsIn } from "../../src/session/json.ts";
import type { Session } from "../../src/session/session.ts";
import { collect } from "../../src/testing/store-case.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { call, keyFor } from "../support/guarded.ts";
import { type Known, sampled } from "../support/sampled.ts";

/** In everything that the first project says, does, writes and is called. */
const mark = "zanzibar";
/** Beside it wherever there is room, and in no call: what was asked for may be said back. */
const also = "quillon";
const first: Scope = { tenant: "acme", project: "shop" };

class Order extends Workflow {
  readonly agent = new Agent({ name: "clerk", model: scripted(`${mark} ${also} is sold`) });

  async forward(session: Session) {
    const kept = await session.do("store", ({ sandbox }) =>
      sandbox.write(`${mark}.txt`, `${mark} ${also} file`).then(() => `${mark} ${also} ${"x".repeat(5000)}`),
    );
    const answered = await this.agent.forward(kept);
    return (await answered.remember({ key: `${mark}-key`, content: `${mark} ${also} is remembered`, because: [answered.head] })).ask(
      `${mark} ${also}?`,
    );
  }
}
class Publish extends Workflow {
  async forward(session: Session) {
    return session.remember({ key: `${mark}-public`, content: `${mark} ${also} is known`, because: [session.head] });
  }
}

const folder = mkdtempSync(join(tmpdir(), "rath-isolation-"));
let rath: Rath;
let server: Server;
let known: Known;
let ownKey = "";
/** Everything of the first project that an answer to others must not hold. */
let hidden: readonly string[];

beforeAll(async () => {
  rath = openrath({ store: join(folder, "store.db"), ...first, workflows: { order: new Order(), publish: new Publish() } });
  server = createServer(rath, { limits: { timeout: 5000, rate: 10_000 } });
  const session = await rath.save(rath.session(`${mark} ${also} begins`).to("memory", {}));
  const run = await rath.run("order", session);
  const settled = await run.settle();
  await (await rath.run("publish", rath.session("publish"))).result();
  const pending = settled.status === "waiting" ? settled.pending[0] : undefined;
  const store = await runtimeOf(rath.session()).store();
  const events = await collect(store.events({ run: run.id }));
  const { platform } = runtimeOf(rath.session());
  const blobs = events.flatMap(({ id, data }) =>
    (data === undefined ? [] : blobsIn(dataText(platform, data))).map((hash) => ({ hash, event: id })),
  );
  const [memory] = await collect(rath.memory.list());
  ownKey = await keyFor(server, "admin", { identity: `human:${mark}` });
  const spare = await keyFor(server, "viewer", { identity: `human:${mark}-2` });
  const sessionId = run.session;
  known = {
    ...{
      session: sessionId,
      run: run.id,
      event: blobs[0]?.event ?? "",
      ids: blobs[0]?.event ?? "",
      hash: blobs[0]?.hash ?? "",
      pending: pending?.id ?? "",
    },
    ...{ memory: memory?.uri ?? "", uri: memory?.uri ?? "", name: memory?.uri ?? "", key: spare.slice(0, 15), workflow: "order" },
    // Sessions, and places in them, by the names that queries and bodies have for them.
    ...{ a: sessionId, b: sessionId, with: sessionId, other: sessionId, parent: sessionId, from: sessionId, path: `${mark}.txt`, q: mark },
    ...{ id: pending?.id ?? "", query: mark, text: mark, matching: mark, title: mark },
  };
  // Work that was begun for a person: whoever has its id is not by that whose it is.
  const begun = await call(server, `POST /v1/sessions/${sessionId}/dossiers`, { key: ownKey });
  known = { ...known, job: ((await begun.json()) as { readonly id?: string }).id ?? "" };
  hidden = [
    mark,
    also,
    sessionId,
    run.id,
    spare.slice(0, 15),
    ownKey.slice(0, 15),
    ...events.map(({ id }) => id),
    ...blobs.map(({ hash }) => hash),
  ];
  for (const [name, value] of Object.entries(known)) expect(value, name).not.toBe("");
});
afterAll(async () => {
  await server.close();
  await rath.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Where a schema says less than it takes. */
const bodies: Readonly<Record<string, () => unknown>> = {
  decide: () => ({ answer: "yes" }),
  startRun: () => ({ workflow: "order", session: known["session"] }),
};

/** The call of a route for what the first project has. */
function asked(route: Route): { readonly at: string; readonly body: unknown; readonly sent: string } {
  const fill = (name: string): string => {
    const value = known[name];
    if (value === undefined)
      throw new Error(
        `${route.name} has a parameter {${name}} that test/server/isolation.test.ts does not know how to fill: add it to known`,
      );
    return encodeURIComponent(value);
  };
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => fill(name));
  const query = route.query === undefined ? {} : (sampled(route.query, known) as Record<string, unknown>);
  const search = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]));
  const body = route.body === undefined ? undefined : (bodies[route.name]?.() ?? sampled(route.body, known));
  for (const [part, schema, value] of [
    ["query", route.query, query],
    ["body", route.body, body],
  ] as const)
    if (schema !== undefined && !schema.safeParse(value).success)
      throw new Error(
        `${route.name}: test/server/isolation.test.ts does not know how to fill its ${part}: ${schema.safeParse(value).error?.message}`,
      );
  return {
    at: `${route.method} ${path}${search.size > 0 ? `?${search}` : ""}`,
    body,
    sent: `${path} ${search} ${JSON.stringify(body ?? "")}`,
  };
}

/** What comes within a moment: streams do not end. */
async function read(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, 150, undefined));
  let text = "";
  for (const decoder = new TextDecoder(); ; ) {
    const piece = await Promise.race([reader.read(), late]);
    if (piece === undefined || piece.done) break;
    text += decoder.decode(piece.value, { stream: true });
  }
  await reader.cancel().catch(() => {});
  return text;
}

async function facts(): Promise<unknown> {
  const store = await runtimeOf(rath.session()).store();
  const sessions = (await collect(store.sessions({}))).map((row) => JSON.stringify(row));
  const runs = (await collect(store.runs({}))).map(({ id, status }) => `${id} ${status}`);
  return { sessions, runs, memory: await rath.memory.revision() };
}

describe.each<readonly [string, Scope]>([
  ["another project", { tenant: "acme", project: "other" }],
  ["another tenant", { tenant: "other", project: first.project }],
])("for %s", (_, scope) => {
  /** All that they ever sent: their own access log says it back. */
  let everSent = "";
  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))("%s has nothing of the first", async (_, route) => {
    const key = await keyFor(server, "admin", { ...scope, identity: "human:eve" });
    const { at, body, sent } = asked(route);
    const before = await facts();
    const response = await call(server, at, { key, body });
    const text = await read(response);
    // What is put is made where it is not there: in the project of whoever puts it.
    const named = route.method !== "PUT" && /\{(?!workflow)\w+\}/.test(route.path);
    // Removing what is not there may be no error: then it is still there for those who have it.
    if (response.status === 204) expect((await call(server, at.replace(/^\w+/, "GET"), { key: ownKey })).status).toBe(200);
    else if (named) expect([response.status, text]).toEqual([404, expect.stringContaining("error")]);
    expect(response.status, text).toBeLessThan(500);
    // What the caller sent may be said back, and is taken out first, longer texts before those in them.
    everSent += ` ${sent}`;
    const words = [...new Set(everSent.match(/[\w.-]{4,}/g) ?? [])].sort((x, y) => y.length - x.length);
    const rest = words.reduce((left, word) => left.replaceAll(word, ""), text);
    for (const one of hidden) expect(rest).not.toContain(one);
    expect(await facts()).toEqual(before);
  });
});

/** Reads first, removals last: each of them finds what the others leave. */
const order = ["GET", "PUT", "POST", "DELETE"];
const lateness = ({ method, path }: Route): number => order.indexOf(method) + (method === "DELETE" && path.endsWith("{session}") ? 1 : 0);
const named = routes.filter((route) => route.path.includes("{")).sort((x, y) => lateness(x) - lateness(y));

test.each(named.map((route) => [`${route.method} ${route.path}`, route] as const))("the first project itself has %s", async (_, route) => {
  // Otherwise its absence for others would prove nothing.
  const { at, body } = asked(route);
  const response = await call(server, at, { key: ownKey, body });
  const text = await read(response);
  expect([401, 403], text).not.toContain(response.status);
  // What was retracted by another of these calls is not there to be forgotten; that it can be read was seen before.
  if (route.name !== "forgetMemory") expect(text).not.toMatch(/"code":"[a-z]+\.not-found"/);
  expect(response.status, text).toBeLessThan(500);
});

test("a content that a tenant's projects share is not had by its hash, with an event of one's own", async () => {
  const scope = { tenant: "acme", project: "other" };
  const key = await keyFor(server, "admin", scope);
  await using other = openrath({ store: join(folder, "store.db"), ...scope });
  const { head } = await other.save(other.session("mine"));
  for (const route of routes.filter(({ path }) => path.includes("{hash}"))) {
    const at = `${route.method} ${route.path.replace("{hash}", known["hash"] ?? "")}?event=${head}`;
    const response = await call(server, at, { key });
    expect([response.status, await response.text()]).toEqual([404, expect.not.stringContaining(also)]);
  }
});
