/** Whatever the server offers, the client can ask for: each operation of the OpenAPI document by one method, and no method without one. */
import { expect, test } from "vitest";
import { type Client, connect } from "../../src/client/client.ts";
import { openrath } from "../../src/openrath.ts";
import { checked } from "../../src/server/route.ts";
import { routes } from "../../src/server/routes/routes.ts";
import { createServer } from "../../src/server/server.ts";

const id = "0192f3a4-0000-7000-8000-000000000000";
const event = "ab".repeat(32);

/** How each operation is called. */
const calls: Readonly<Record<string, (client: Client) => Promise<unknown> | AsyncIterable<unknown>>> = {
  health: ({ server }) => server.health(),
  ready: ({ server }) => server.ready(),
  info: ({ server }) => server.info(),
  metrics: ({ server }) => server.metrics(),
  getWorkflows: ({ workflows }) => workflows.list({ limit: 3 }),
  getWorkflow: ({ workflows }) => workflows.get("support"),
  streamProject: ({ project }) => project.stream({ from: "start" }),
  streamSession: ({ sessions }) => sessions.stream(id, { only: "branch", from: "now" }),
  streamRun: ({ runs }) => runs.stream(id, { after: event }),
  streamPending: ({ pending }) => pending.stream(),
  createSession: ({ sessions }) => sessions.create({ message: "Hello", tags: ["a"] }),
  getSessions: ({ sessions }) => sessions.list({ status: "idle", roots: true, limit: 5 }),
  getSession: ({ sessions }) => sessions.get(id, { at: "3" }),
  deleteSession: ({ sessions }) => sessions.erase(id, { reason: "asked to", dryRun: true }),
  sayInSession: ({ sessions }) => sessions.say(id, "More", { ifHead: event }),
  noteInSession: ({ sessions }) => sessions.note(id, "Look at this"),
  rejectSession: ({ sessions }) => sessions.reject(id, "not wanted"),
  forkSession: ({ sessions }) => sessions.fork(id, { at: 2, label: "try" }),
  mergeSessions: ({ sessions }) => sessions.merge(id, [`${id}@4`], { conflicts: "ours" }),
  getConflicts: ({ sessions }) => sessions.conflicts(id, { with: id }),
  getEvents: ({ sessions }) => sessions.events(id, { fields: "index", from: 1, to: 9 }),
  getEvent: ({ project }) => project.event(event),
  getMessages: ({ sessions }) => sessions.messages(id, { at: "4" }),
  getRequest: ({ sessions }) => sessions.request(id),
  getBlob: ({ project }) => project.blob(event, { event }),
  getGraph: ({ sessions }) => sessions.graph(id, { format: "svg" }),
  getLineage: ({ sessions }) => sessions.lineage(id),
  getEventLines: ({ project }) => project.eventLines([event]),
  getDiff: ({ project }) => project.diff({ a: id, b: `${id}@2` }),
  getWhy: ({ sessions }) => sessions.why(id, { line: "src/a.ts:3" }),
  getBlame: ({ sessions }) => sessions.blame(id, { path: "src/a.ts" }),
  getCost: ({ sessions }) => sessions.cost(id, { by: "model" }),
  grepSession: ({ sessions }) => sessions.grep(id, { q: "x", ignoreCase: true }),
  grepProject: ({ project }) => project.grep({ q: "x" }),
  verifySession: ({ sessions }) => sessions.verify(id),
  replaySession: ({ sessions }) => sessions.replay(id, { from: 2 }),
  rerunSession: ({ sessions }) => sessions.rerun(id, { change: { message: "Otherwise" } }),
  erase: ({ project }) => project.erase({ events: [event], reason: "asked to" }),
  getFiles: ({ sessions }) => sessions.files(id, { under: "src" }),
  getFileContent: ({ sessions }) => sessions.file(id, { path: "src/a.ts" }),
  getChanges: ({ sessions }) => sessions.changes(id, { patches: true }),
  getPatch: ({ sessions }) => sessions.patch(id, { from: "2" }),
  addCheck: ({ sessions }) => sessions.check(id, { name: "tests", passed: true }),
  getChecks: ({ sessions }) => sessions.checks(id),
  getSandboxes: ({ project }) => project.sandboxes({ status: "open" }),
  importSession: ({ sessions }) => sessions.import(new Uint8Array(3)),
  startRun: ({ runs }) => runs.start({ workflow: "support", message: "Hello", key: "a", limits: { usd: 1 } }),
  getRuns: ({ runs }) => runs.list({ status: "waiting", order: "oldest" }),
  getRun: ({ runs }) => runs.get(id),
  getResult: ({ runs }) => runs.result(id, { wait: 5, until: "settled" }),
  cancelRun: ({ runs }) => runs.cancel(id, { reason: "enough" }),
  resumeRun: ({ runs }) => runs.resume(id, { onDivergence: "fork" }),
  sendSignal: ({ runs }) => runs.send(id, { signal: "paid", data: { usd: 3 } }),
  getPending: ({ pending }) => pending.list({ to: "me", kind: "approval" }),
  getPendingOne: ({ pending }) => pending.get(event),
  decide: ({ pending }) => pending.decide(event, { approve: true, reason: "fine" }),
  getDecision: ({ pending }) => pending.decision(event),
  getDecisions: ({ pending }) => pending.decisions({ session: id }),
  getMemories: ({ memory }) => memory.list({ scope: "project", asOf: 3 }),
  searchMemory: ({ memory }) => memory.search({ query: "euros", limit: 3 }),
  getMemory: ({ memory }) => memory.get("rath://project/a/b@2"),
  putMemory: ({ memory }) => memory.remember("a/b", { content: { euros: true } }),
  forgetMemory: ({ memory }) => memory.forget("a/b", { reason: "wrong" }),
  getMemoryVersions: ({ memory }) => memory.history("a/b"),
  getMemoryWhy: ({ memory }) => memory.why("a/b"),
  getMemoryUses: ({ memory }) => memory.usedBy("a/b", { limit: 5 }),
  getMemoryDerived: ({ memory }) => memory.derivedFrom("a/b", { limit: 5 }),
  retractMemory: ({ memory }) => memory.retract("a/b", { reason: "wrong" }),
  rollbackMemory: ({ memory }) => memory.rollback({ to: 3, reason: "wrong" }),
  startExport: ({ jobs }) => jobs.export(id, { format: "otlp", content: true }, { at: "3" }),
  startDossier: ({ jobs }) => jobs.dossier(id),
  getJob: ({ jobs }) => jobs.get("a-job"),
  getJobResult: ({ jobs }) => jobs.result("a-job", { file: "index.html" }),
  cancelJob: ({ jobs }) => jobs.cancel("a-job"),
  listKeys: ({ keys }) => keys.list({ limit: 2 }),
  getKey: ({ keys }) => keys.get("rath_abcdefghij"),
  createKey: ({ keys }) => keys.create({ identity: "human:ada", roles: ["viewer"] }),
  revokeKey: ({ keys }) => keys.revoke("rath_abcdefghij"),
  rotateKey: ({ keys }) => keys.rotate("rath_abcdefghij", { graceSeconds: 60 }),
  exchangeCode: ({ keys }) => keys.exchange("a-code"),
  listAccess: ({ keys }) => keys.access({ limit: 10 }),
};

/** Clients of the Model Context Protocol speak it. */
const spokenByOthers: readonly string[] = ["mcp"];

interface Operation {
  readonly operationId: string;
}

test("every operation of the document has a method, which sends what the server takes", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath, { auth: "none-on-loopback" });
  const answer = await server.fetch(new Request("http://localhost/openapi.json"));
  const { paths } = (await answer.json()) as { paths: Record<string, Record<string, Operation>> };
  const operations = Object.values(paths)
    .flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
    .filter((name) => !spokenByOthers.includes(name));
  expect(operations.length).toBeGreaterThan(30);
  expect(operations.filter((name) => !Object.hasOwn(calls, name))).toEqual([]);
  expect(Object.keys(calls).filter((name) => !operations.includes(name))).toEqual([]);

  const used = new Set<string>();
  for (const name of operations) {
    const sent = await sentBy(calls[name] as (typeof calls)[string], used);
    expect(await operationOf(sent), `${name}: ${sent.method} ${sent.url}`).toBe(name);
  }
  const methods = Object.entries(connect({ url: "http://localhost" })).flatMap(([group, members]) =>
    Object.keys(members as object).map((member) => `${group}.${member}`),
  );
  // What is made of other methods, or asks one operation for more.
  const composed: readonly string[] = ["runs.done", "jobs.done", "project.events"];
  expect(methods.filter((method) => !used.has(method) && !composed.includes(method))).toEqual([]);
});

/** The first request that a call makes. */
async function sentBy(call: (typeof calls)[string], used: Set<string>): Promise<Request> {
  const sent: Request[] = [];
  const stop = new Error("enough was seen");
  const client = connect({
    url: "http://localhost",
    retries: 0,
    fetch: async (request) => {
      sent.push(request);
      throw stop;
    },
  });
  const seen = Object.fromEntries(
    Object.entries(client).map(([group, members]) => [
      group,
      new Proxy(members as object, {
        get: (target, member) => {
          used.add(`${group}.${String(member)}`);
          return Reflect.get(target, member) as unknown;
        },
      }),
    ]),
  ) as unknown as Client;
  const called = call(seen);
  await (Symbol.asyncIterator in called ? called[Symbol.asyncIterator]().next() : called).then(
    () => expect.unreachable("nothing was sent"),
    (error: Error) => expect(error.cause).toBe(stop),
  );
  return sent[0] as Request;
}

/** Which route takes a request, all of it: the server's own schemas are asked. */
async function operationOf(request: Request): Promise<string | undefined> {
  const { pathname, searchParams } = new URL(request.url);
  const found = routes.filter(({ method, path }) => {
    const shape = new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);
    return method === request.method && shape.test(pathname);
  });
  // Words go before what is in braces.
  const [route] = found.sort((a, b) => a.path.split("{").length - b.path.split("{").length);
  if (route === undefined) return undefined;
  const shape = new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);
  const params = Object.entries(shape.exec(pathname)?.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]);
  checked(route.params, Object.fromEntries(params), "path");
  checked(route.query, Object.fromEntries(searchParams), "query");
  if (route.query === undefined) expect([...searchParams]).toEqual([]);
  if (route.body !== undefined) checked(route.body, await request.json(), "body");
  return route.name;
}
