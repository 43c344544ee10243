/** What `openrath tail` shows of what other processes do: every event once, parents first, until the run ends. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { follow } from "../../src/audit/follow.ts";
import { projectOf } from "../../src/cli/project.ts";
import { RathError, tool } from "../../src/index.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { parseEnvelope } from "../../src/session/codec.ts";
import type { Session } from "../../src/session/session.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store, StoredEvent } from "../../src/store/store.ts";
import { call } from "../golden-cli/world.ts";
import { builtCommand, builtDoor } from "../support/built.ts";
import { Flow } from "../support/flow.ts";
import { kept, otherProcess, until } from "../support/other-process.ts";
import { ownSchemas } from "../support/postgres.ts";

let folder = "";
let url = "";
const schema = ownSchemas((given) => {
  url = given;
});
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-tail-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Forks, works on both branches, asks, and merges. */
const busy = new Flow(async (session) => {
  let [a, b] = [session.fork("a"), session.fork("b")];
  for (let index = 0; index < 10; index++) {
    a = await a.do(`a${index}`, () => index, { repeat: "safe" });
    b = await b.fork(`b${index}`).do("b", () => index, { repeat: "safe" });
  }
  const merged = await a.merge(b);
  const asked = await merged.ask("Go on?");
  return asked.do("end", () => "over");
}, "busy");

async function eventsOf(store: Store): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const row of store.sessions({ log: "session" }))
    for await (const event of store.events({ session: row.id })) events.push(event);
  return events;
}

function assertOrder(seen: readonly StoredEvent[]): void {
  const before = new Set<string>();
  for (const event of seen) {
    for (const parent of parseEnvelope(Buffer.from(event.envelope).toString()).parents)
      expect(before, `parent of ${event.id}`).toContain(parent);
    expect(before).not.toContain(event.id);
    before.add(event.id);
  }
}

for (const [name, open] of Object.entries({
  SQLite: () => {
    const file = join(folder, "follow.db");
    return () => sqliteStore(file);
  },
  PostgreSQL: () => {
    const made = schema();
    return () => postgresStore(url, { schema: made, max: 3 });
  },
}))
  test(`on ${name} every event of every branch is seen once, parents first, whoever writes`, async () => {
    const opened = open();
    await using writer = otherProcess(opened(), { workflows: { busy } });
    await using reader = otherProcess(opened());
    const begun = await writer.save(writer.session("Go"));
    const stop = new AbortController();
    const seen: StoredEvent[] = [];
    const following = (async () => {
      for await (const look of follow(runtimeOf(reader.session()), begun.id, { signal: stop.signal, pollMs: 5 })) seen.push(...look);
    })();
    const run = await writer.run("busy", begun);
    const settled = await run.settle();
    if (settled.status !== "waiting") throw new Error(settled.status);
    await writer.decide(settled.pending[0]?.id ?? "", { by: "p1", answer: "yes" });
    const done = await run.result();
    await until("the last event", () => seen.some(({ id }) => id === done.head));
    stop.abort();
    await following;
    const store = opened();
    expect(new Set(seen.map(({ id }) => id))).toEqual(new Set((await eventsOf(store)).map(({ id }) => id)));
    await store[Symbol.asyncDispose]();
    assertOrder(seen);
  });

test("a store that cannot be read for a while is waited for, and nothing is lost", async () => {
  await using real = sqliteStore(join(folder, "away.db"));
  let away = false;
  const flaky: Store = {
    ...kept(real),
    events: (query) => {
      if (away) throw new RathError("store.unavailable", "The store is away.", { retryable: true });
      return real.events(query);
    },
  };
  await using writer = otherProcess(kept(real));
  await using reader = otherProcess(kept(flaky));
  let session = await writer.save(writer.session("Go"));
  const stop = new AbortController();
  const seen: StoredEvent[] = [];
  let troubles = 0;
  const following = (async () => {
    const options = { signal: stop.signal, pollMs: 2, onTrouble: () => troubles++ };
    for await (const look of follow(runtimeOf(reader.session()), session.id, options)) seen.push(...look);
  })();
  await until("the first look", () => seen.length > 0);
  away = true;
  session = await session.do("while it is away", () => 1);
  await until("trouble", () => troubles > 2);
  away = false;
  await until("what was done meanwhile", () => seen.some(({ id }) => id === session.head));
  stop.abort();
  await following;
  expect(seen).toHaveLength(4);
});

/** A process of its own that runs a workflow on a file. */
async function start(file: string): Promise<void> {
  const program = `
    import { openrath, Workflow } from ${JSON.stringify(await builtDoor())};
    const rath = openrath({ store: ${JSON.stringify(file)} });
    class Flow extends Workflow {
      name = "flow";
      async forward(session) {
        let at = session.fork("side");
        for (let index = 0; index < 5; index++) at = await at.do("step " + index, () => new Promise((resolve) => setTimeout(resolve, 20, index)));
        return at;
      }
    }
    for await (const open of rath.sessions()) await (await rath.run(new Flow(), open, { key: "k" })).result();
    await rath.close();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, OPENRATH_HOME: folder },
  });
  return new Promise((resolve, reject) => child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`exit ${code}`)))));
}

test("openrath tail shows what another process does on a file, ends at Ctrl+C with 130, and with a run by its outcome", async () => {
  const file = join(folder, "real.db");
  const mine = otherProcess(file);
  const { id } = await mine.save(mine.session("Hello"));
  await mine.close();
  const open = async () => projectOf(otherProcess(file), undefined);
  const stop = new AbortController();
  let written = "";
  const tailing = call(open, ["tail", id], { terminal: false, signal: stop.signal, onWrite: (text) => (written += text) });
  await until("the message", () => written.includes("Hello"));
  await start(file);
  await until("the end", () => written.includes("adopt the result"));
  stop.abort();
  const { exit, out, err } = await tailing;
  expect([exit, err]).toEqual([130, ""]);
  const lines = out
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  expect(lines.map((line) => line[6])).toEqual([
    "session",
    "user: Hello",
    "enter flow",
    'fork "side"',
    ...[0, 1, 2, 3, 4].map((index) => `do step ${index} → ok ${index}`),
    "leave",
    "adopt the result",
  ]);
  const store = sqliteStore(file);
  let run = "";
  for await (const row of store.runs({})) run = row.id;
  await store[Symbol.asyncDispose]();
  const again = await call(open, ["tail", run, "-n", "2", "--jsonl"], { terminal: false });
  expect(again.exit).toBe(0);
  expect(
    again.out
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { kind: string }).kind),
  ).toEqual(["workflow.left", "session.merged"]);
});

test("openrath tail says that a tool with a JSON Schema waits for a person, once, and nothing of one that only takes its time", async () => {
  const file = join(folder, "waits.db");
  const input = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"], additionalProperties: false } as const;
  const described = { description: "Pays.", input, repeat: "safe" } as const;
  const pay = tool({ ...described, name: "pay", needsApproval: true, run: () => "paid" });
  let goOn: (() => void) | undefined;
  const slow = tool({ ...described, name: "slow", run: () => new Promise<string>((resolve) => (goOn = () => resolve("over"))) });
  const flow = new Flow(async (session) => (await session.call(slow, { amount: 1 })).call(pay, { amount: 7 }), "paying");
  await using writer = otherProcess(file, { workflows: { paying: flow } });
  const begun = await writer.save(writer.session("Pay"));
  const run = await writer.run("paying", begun);
  const open = async () => projectOf(otherProcess(file), undefined);
  let written = "";
  const tailing = call(open, ["tail", begun.id, "--until-end"], { terminal: false, onWrite: (text) => (written += text) });
  await until("the tail", () => written.includes("enter paying") && goOn !== undefined);
  goOn?.();
  const settled = await run.settle();
  await until("that it waits", () => written.includes("no result yet"));
  await writer.save(begun.fork("aside").say("meanwhile"));
  await until("another look", () => written.includes("meanwhile"));
  // Who comes later is told too.
  const stop = new AbortController();
  let later = "";
  const second = call(open, ["tail", run.id, "-n", "1"], { terminal: false, signal: stop.signal, onWrite: (text) => (later += text) });
  await until("the same", () => later !== "");
  stop.abort();
  expect((await second).out.split("\t").at(-1)?.trimEnd()).toBe('tool pay {"amount":7} → no result yet');
  if (settled.status !== "waiting") throw new Error(settled.status);
  await writer.decide(settled.pending[0]?.id ?? "", { by: "p1", approve: true });
  await run.result();
  const { out, exit } = await tailing;
  const lines = out.trimEnd().split("\n");
  expect(exit).toBe(0);
  expect(lines.map((line) => line.split("\t")[6]).filter((text) => text?.startsWith("tool"))).toEqual([
    "tool slow → ok over",
    'tool pay {"amount":7} → no result yet',
    "tool pay → ok paid",
  ]);
});

// Mutant: that nobody reads any more is passed over.
test("openrath tail ends quietly when its reader has seen enough", async () => {
  const file = join(folder, "piped.db");
  await using writer = otherProcess(file);
  let begun: Session = await writer.save(writer.session("Go"));
  const tailing = spawn(process.execPath, [await builtCommand(), "tail", begun.id], {
    cwd: folder,
    env: { ...process.env, OPENRATH_STORE: file },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => tailing.on("close", resolve));
  let err = "";
  tailing.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  await new Promise((resolve) => tailing.stdout.once("data", resolve));
  tailing.stdout.destroy();
  let over = false;
  void ended.then(() => (over = true));
  // The next lines are what it cannot write any more.
  await until("its end", async () => {
    if (!over) begun = await writer.save(begun.note("more"));
    return over;
  });
  expect([await ended, err]).toEqual([0, ""]);
});
