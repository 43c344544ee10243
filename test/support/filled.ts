/** A server whose project has something of everything, and the names of it by the words under which calls name them. */
import { openrath } from "../../src/openrath.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { coded, coding } from "./coded.ts";
import { Flow } from "./flow.ts";
import type { Known } from "./from-schema.ts";
import { type Caller, type ServedRath, serve } from "./served.ts";

export interface Filled extends AsyncDisposable {
  readonly server: ServedRath;
  readonly admin: Caller;
  readonly known: Known;
  /** Calls that go well, of routes that few calls made by chance go well with. */
  readonly well: Readonly<Record<string, { readonly path?: Texts; readonly query?: Texts; readonly body?: unknown }>>;
}

type Texts = Readonly<Record<string, string>>;

const asking = new Flow((session) => session.ask("May I?"), "asking");
const hearing = new Flow((session) => session.receive("paid"), "hearing");
const failing = new Flow(async () => {
  throw new Error("it was asked to fail");
}, "failing");
const simple = new Flow((session) => session.do("work", () => ({ n: 1 })), "simple");

export async function filled(store = "memory"): Promise<Filled> {
  const workflows = { coding: coding(), asking, hearing, failing, simple };
  const rath = openrath({ store, workflows, implicitForks: "allow" });
  const server = serve(rath, { limits: { rate: 1e6 } });
  const admin = await server.as("human:ada", ["admin"]);
  const main = await coded(rath);
  const [left, right] = [main.fork("left").say("a"), main.fork("right").say("b")];
  const remembered = await rath.session("Tests?").remember({ key: "test-command", content: "npm test", publish: "now" });
  await rath.session("Other?").remember({ key: "other", content: { a: 1 }, publish: "now" });
  const long = rath.session("x".repeat(100_000), { title: "long", tags: ["demo"] });
  // Named by nobody, so that they are there until these calls come.
  const [doomed, lost] = [rath.session("a"), rath.session("b")];
  for (const session of [left, right, remembered, long, doomed, lost]) await rath.save(session);
  const runs: string[] = [];
  for (const name of Object.keys(workflows)) {
    const run = await rath.run(name, rath.session("Go").to("memory"));
    runs.push(run.id);
    await run.settle().catch(() => {}); // one of them fails
  }
  // Nobody but the call that cancels it knows it: whatever is sent to others, it still waits.
  const unheard = await rath.run("hearing", rath.session("Go"));
  const keys: string[] = [];
  for (const identity of ["human:bo", "service:ci"]) keys.push((await admin.ask("createKey", {}, { identity, roles: ["viewer"] })).id);
  const pending = (await rath.pending()).map(({ id }) => id);
  const sessions = [main.id, left.id, right.id, remembered.id, long.id];
  const heads = [main.head, left.head, long.head, ...main.calls.map(({ id }) => id)];
  const places = [...sessions, `${main.id}@3`, `${left.id}@${left.head}`];
  const memory = (await rath.memory.get("test-command"))?.uri ?? "";
  const job = (await admin.ask("startExport", { session: main.id }, { format: "mermaid" })).id;
  const hash = await hashIn(rath, long.head);
  const at = { session: main.id };
  return {
    server,
    admin,
    well: {
      getBlob: { path: { hash }, query: { event: long.head } },
      createSession: { body: {} },
      sayInSession: { path: at, body: { message: "x" } },
      noteInSession: { path: at, body: { text: "x" } },
      rejectSession: { path: { session: left.id }, body: { reason: "r" } },
      forkSession: { path: at, body: {} },
      mergeSessions: { path: { session: left.id }, body: { others: [right.id] } },
      verifySession: { path: at, body: {} },
      addCheck: { path: at, body: { name: "n", passed: true } },
      createKey: { body: { identity: "human:cy", roles: ["viewer"] } },
      putMemory: { path: { memory: "new" }, body: { content: "x" } },
      deleteSession: { path: { session: lost.id }, query: { reason: "r" } },
      startRun: { body: { workflow: "simple", message: "Go", key: "k" } },
      decide: { path: { pending: pending[0] ?? "" }, body: { answer: "yes" } },
      sendSignal: { path: { run: runs[2] ?? "" }, body: { signal: "paid", data: 1 } },
      cancelRun: { path: { run: unheard.id }, body: {} },
      resumeRun: { path: { run: runs[2] ?? "" }, body: {} },
      rollbackMemory: { body: { to: 1, reason: "r" } },
      forgetMemory: { path: { memory }, query: { reason: "r" } },
      retractMemory: { path: { memory: "other" }, body: { reason: "r" } },
      getDecision: { path: { pending: pending[0] ?? "" } },
      startExport: { path: at, body: { format: "otlp" } },
      getJob: { path: { job } },
      getJobResult: { path: { job } },
      getWhy: { path: at, query: { check: "tests" } },
      getBlame: { path: at, query: { path: "src/a.ts" } },
      getFileContent: { path: at, query: { path: "src/a.ts" } },
      getRequest: { path: at },
      replaySession: { path: at, body: {} },
      rerunSession: { path: at, body: { effects: "live" } },
      erase: { body: { session: doomed.id, reason: "r", dryRun: true } },
      rotateKey: { path: { key: keys[0] ?? "" }, body: {} },
      exchangeCode: { body: { code: "a-code-of-nobody" } },
    },
    known: {
      ...{
        session: sessions,
        parent: sessions,
        others: sessions,
        a: places,
        b: places,
        with: places,
        run: runs,
        pending,
        job: [job],
        key: keys,
      },
      ...{
        event: heads,
        ids: heads,
        ifHead: heads,
        at: [2, 3, "2", "3", main.head.slice(0, 12), ...heads],
        from: [0, 1, 2, 3],
        to: [3, 5, 9],
      },
      ...{ hash: [hash], memory: [memory, "test-command"], workflow: Object.keys(workflows), signal: ["paid"] },
      ...{ path: ["src/a.ts", "page.html", "src"], under: ["src"], line: ["src/a.ts:2"], q: ["Count", "written", "one"], query: ["tests"] },
      ...{ check: ["tests", ""], cost: [""], call: ["put"], answer: ["Done", "yes"], tag: ["demo"], matching: ["nothing has this"] },
      // Nobody waits for what goes on for longer than the test.
      ...{ identity: ["human:cy", "service:x"], wait: [0, 0.01], dryRun: [true, "true"], replay: [false], based: [1], limit: [1, 2, 500] },
      ...{
        data: [{ $: "bytes", base64: "AP8B" }, "https://example.org/a.png"],
        expires: ["30d", "2099-01-01T00:00:00Z"],
        deadline: ["1h"],
      },
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The content that an event names. */
async function hashIn(rath: ServedRath["rath"], event: string): Promise<string> {
  const { platform, ...runtime } = { platform: runtimeOf(rath.session()).platform, store: await runtimeOf(rath.session()).store() };
  for await (const { data } of runtime.store.events({ ids: [event] })) {
    const [, hash] = /([0-9a-f]{64})/.exec(data === undefined ? "" : platform.text(data)) ?? [];
    if (hash !== undefined) return hash;
  }
  throw new Error("the long message names no content");
}
