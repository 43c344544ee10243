/**
 * What people are asked in durable runs: each decision reaches exactly its own question, counts once, carries who, when and why,
 * and nothing that was approved runs as anything else.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { Agent, type Rath, RathError, replay, type Session, scripted, tool, verify, why } from "../../src/index.ts";
import { Answers } from "../../src/runtime/answers.ts";
import type { Pending } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess } from "../support/other-process.ts";
import { payer } from "../support/payer.ts";

type Approval = Extract<Pending, { kind: "approval" }>;

async function scratch(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "openrath-people-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A numeric stream that is the same in every test run. */
function shuffled<T>(of: readonly T[], seed = 7): T[] {
  let state = seed;
  const next = (): number => (state = (state * 1103515245 + 12345) % 2 ** 31);
  return of
    .map((value) => [next(), value] as const)
    .sort(([a], [b]) => a - b)
    .map(([, value]) => value);
}

/** Every branch asks a question or wants an approval, by turns; what it came to is its label and the answer it got. */
function crowd(name: string, count: number, paid: string[]): Flow {
  const pay = payer(paid);
  return new Flow(async (session) => {
    const branches = Array.from({ length: count }, async (_, n) => {
      const branch = session.fork(`b${n}`);
      try {
        return n % 2 === 0 ? await branch.ask(`${name} q${n}?`) : await branch.call(pay, { to: `${name} p${n}` });
      } catch (error) {
        if (!RathError.is(error, "effect.denied")) throw error;
        return (error.session as Session).do("denied", () => error.message, { repeat: "safe" });
      }
    });
    const ends = await Promise.all(branches);
    const outputs = ends.map(({ output }) => output);
    return (ends[0] as Session).do("all", () => outputs, { repeat: "safe" });
  }, name);
}

/** What each branch must come to, if every decision reaches its own question. */
function due(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => {
    if (n % 2 === 0) return `to ${name} q${n}?`;
    return n % 3 === 0 ? `"pay" was denied: no ${name} p${n}` : `paid ${name} p${n}! 2`;
  });
}

async function answer(client: Rath, who: string, pending: Pending): Promise<void> {
  if (pending.kind === "question")
    return client.decide(pending.id, { by: who, reason: `why ${pending.question}`, answer: `to ${pending.question}` });
  const { to } = (pending as Approval).input as { to: string };
  if (Number(to.split(" p")[1]) % 3 === 0) return client.decide(pending.id, { by: who, approve: false, reason: `no ${to}` });
  return client.decide(pending.id, { by: who, reason: `yes ${to}`, approve: true, input: { to: `${to}!`, amount: 2 } });
}

/** Two hundred pending over the named runs, answered in random order by four clients; what the runs came to. */
async function answered(open: () => Store | string, runs: readonly string[], each: number) {
  const store = open();
  const client = (): Rath => otherProcess(store, { workflows });
  const paid: string[] = [];
  const workflows = Object.fromEntries(runs.map((name) => [name, crowd(name, each, paid)]));
  const rath = client();
  const clients = [rath, client(), client(), client()];
  onTestFinished(async () => {
    for (const one of clients) await one.close();
  });
  const started = await Promise.all(runs.map((name) => rath.run(name, rath.session("go"))));
  const parked = await Promise.all(started.map((run) => run.settle()));
  const pending = await (clients[1] as Rath).pending();
  await Promise.all(shuffled(pending).map((one, index) => answer(clients[index % 4] as Rath, `human:${index % 4}`, one)));
  const ended = await Promise.all(started.map((run) => run.result()));
  return { parked, pending, ended, paid, workflows, rath };
}

describe("two hundred questions and approvals that wait at once", () => {
  test.each<readonly [string, readonly string[], number]>([
    ["in one run", ["one"], 200],
    ["in five runs", ["a", "b", "c", "d", "e"], 40],
  ])("%s park it, and answered in any order by four clients each get their own", { timeout: 60_000 }, async (_, runs, each) => {
    const folder = await scratch();
    for (const open of [() => memoryStore(), () => join(folder, "store.db")]) {
      const { parked, pending, ended, paid, workflows, rath } = await answered(open, runs, each);
      expect(parked.map((one) => [one.status, one.status === "waiting" && one.pending.length])).toEqual(runs.map(() => ["waiting", each]));
      expect([pending.length, new Set(pending.map(({ id }) => id)).size]).toEqual([200, 200]);
      expect(ended.map(({ output }) => output)).toEqual(runs.map((name) => due(name, each)));
      expect(paid.toSorted()).toEqual(
        runs.flatMap((name) => due(name, each).flatMap((one) => (one.startsWith("paid ") ? [one.slice(5)] : []))).toSorted(),
      );
      expect(await rath.pending()).toEqual([]);
      for (const one of pending) {
        const decided = await rath.decision(one.id);
        expect(decided).toMatchObject({ pending: { id: one.id, kind: one.kind }, by: expect.stringMatching(/^human:[0-3]$/) });
        const about = one.kind === "question" ? `why ${one.question}` : String(((one as Approval).input as { to: string }).to);
        expect(decided.reason).toContain(about);
        expect(Date.parse(decided.at as string)).toBeGreaterThanOrEqual(Date.parse(one.since));
      }
      for (const [index, session] of ended.entries())
        expect(String(await replay(session, workflows[runs[index] as string] as Flow))).toMatch(/^identical/);
    }
  });

  test("a runtime that hands decisions out by position is caught", async () => {
    const { give } = Answers.prototype;
    const asked: string[] = [];
    const { wait } = Answers.prototype;
    // Mutant: the n-th decision goes to the n-th question that was asked.
    Answers.prototype.wait = function (question, ...rest) {
      if (!asked.includes(question)) asked.push(question);
      return wait.call(this, question, ...rest);
    };
    Answers.prototype.give = function (_, ...rest) {
      return give.call(this, asked.shift() as string, ...rest);
    };
    try {
      const came = await Promise.race([
        answered(() => memoryStore(), ["one"], 20).then(({ ended }) => ended[0]?.output),
        new Promise((resolve) => setTimeout(() => resolve("stuck"), 5000)),
      ]).catch((error: Error) => error.message);
      expect(came).not.toEqual(due("one", 20));
    } finally {
      Object.assign(Answers.prototype, { give, wait });
    }
  });
});

describe("one question and five clients at once", () => {
  test.each<readonly [string, (folder: string) => Store | string]>([
    ["memory", () => memoryStore()],
    ["SQLite", (folder) => join(folder, "store.db")],
  ])("one wins, four are told that it was answered, and the run goes on with the winner's (%s)", async (_, open) => {
    const store = open(await scratch());
    const flow = new Flow((session) => session.ask("Who?"));
    const clients = Array.from({ length: 5 }, () => otherProcess(store, { workflows: { flow } }));
    const run = await (clients[0] as Rath).run("flow", (clients[0] as Rath).session("go"));
    const settled = await run.settle();
    const id = settled.status === "waiting" ? (settled.pending[0]?.id as string) : "";
    const said = await Promise.allSettled(clients.map((client, n) => client.decide(id, { by: `human:${n}`, answer: `${n}` })));
    const winners = said.flatMap(({ status }, n) => (status === "fulfilled" ? [n] : []));
    expect(winners).toHaveLength(1);
    const codes = said.flatMap((one) => (one.status === "rejected" ? [(one.reason as RathError).code] : []));
    expect(codes).toEqual(Array.from({ length: 4 }, () => "pending.answered"));
    const session = await run.result();
    expect(session.output).toBe(`${winners[0]}`);
    expect([...session.events()].filter(({ kind }) => kind === "ask.returned")).toHaveLength(1);
    expect(await (clients[4] as Rath).decision(id)).toMatchObject({ by: `human:${winners[0]}`, answer: `${winners[0]}` });
    expect(await verify(session)).toMatchObject({ ok: true });
    for (const client of clients) await client.close();
  });
});

describe("an input that a person changed", () => {
  const models = () => scripted({ calls: [{ tool: "pay", input: { to: "ann" } }] }, "done");

  test("is on record beside what was asked: in events, calls, why and the decision", async () => {
    const paid: string[] = [];
    const store = memoryStore();
    const clerk = new Agent({ name: "clerk", model: models(), tools: [payer(paid)] });
    await using rath = otherProcess(store, { workflows: { clerk } });
    const run = await rath.run("clerk", rath.session("go"));
    const settled = await run.settle();
    const id = settled.status === "waiting" ? (settled.pending[0]?.id as string) : "";
    // Another process, which does not know the tool, finds in the record what it takes.
    await using other = otherProcess(store);
    const unfit = other.decide(id, { by: "human:bob", approve: true, input: { to: "eve", amount: 1.5 } });
    await expect(unfit).rejects.toMatchObject({ code: "pending.invalid-answer", message: expect.stringContaining("amount") });
    expect((await other.pending()).map((one) => one.id)).toEqual([id]);
    await other.decide(id, { by: "human:bob", approve: true, input: { to: "eve", amount: 3 }, reason: "less" });
    const session = await run.result();
    expect(paid).toEqual(["eve 3"]);
    expect(session.calls).toMatchObject([{ input: { to: "eve", amount: 3 }, asked: { to: "ann" } }]);
    const data = [...session.events()].flatMap((event) =>
      event.kind === "tool.called" || event.kind === "tool.returned" ? [(event.data as { input?: unknown }).input] : [],
    );
    expect(data).toEqual([{ to: "ann" }, { to: "eve", amount: 3 }]);
    expect(await rath.decision(id)).toMatchObject({
      pending: { kind: "approval", tool: "pay", input: { to: "ann" } },
      by: "human:bob",
      reason: "less",
      input: { to: "eve", amount: 3 },
    });
    const told = String(await why(session, { event: session.calls[0]?.id as string }));
    expect(told).toMatch(/human:bob approved it with .*eve.*"less"/);
  });

  test("of a call from code is checked too by a process that does not know the tool", async () => {
    const paid: string[] = [];
    const store = memoryStore();
    const flow = new Flow((session) => session.call(payer(paid), { to: "ann" }));
    await using rath = otherProcess(store, { workflows: { flow } });
    const run = await rath.run("flow", rath.session("go"));
    const settled = await run.settle();
    const id = settled.status === "waiting" ? (settled.pending[0]?.id as string) : "";
    await using other = otherProcess(store);
    const unfit = other.decide(id, { by: "h", approve: true, input: { to: 7 } });
    await expect(unfit).rejects.toMatchObject({ code: "pending.invalid-answer" });
    await other.decide(id, { by: "h", approve: true, input: { to: "zoe" } });
    expect((await run.result()).output).toBe("paid zoe 1");
  });
});

describe("an approval is for the files as they were when it was asked", () => {
  /** A run that wants to publish what is in its directory, parked before anybody used it; the files change meanwhile. */
  async function published(calls: readonly string[], change: (folder: string) => Promise<void>, placed = "host") {
    const folder = await scratch();
    await writeFile(join(folder, "a.txt"), "asked");
    const seen: string[] = [];
    const publish = tool({
      name: "publish",
      description: "Publishes.",
      input: z.object({}),
      needsApproval: true,
      run: async (_, { sandbox }) => {
        seen.push(Buffer.from(await sandbox.read("a.txt")).toString());
        const { stdout } = await sandbox.exec("cat a.txt");
        return stdout;
      },
    });
    const write = tool({
      name: "write",
      description: "Writes.",
      input: z.object({}),
      writes: "files",
      run: (_, { sandbox }) => sandbox.write("a.txt", "batch"),
    });
    const store = memoryStore();
    const desk = (): Agent =>
      new Agent({
        name: "desk",
        model: scripted({ calls: calls.map((name) => ({ tool: name, input: {} })) }, "done"),
        tools: [publish, write],
      });
    const first = otherProcess(store, { workflows: { desk: desk() } });
    const run = await first.run("desk", first.session("go").to(placed as "host", { workspace: folder, network: "all" }));
    const settled = await run.settle();
    await first.close();
    await change(folder);
    const heir = otherProcess(store, { workflows: { desk: desk() } });
    onTestFinished(() => heir.close());
    if (settled.status !== "waiting") throw new Error(settled.status);
    for (const one of settled.pending) await heir.decide(one.id, { by: "h", approve: true });
    const session = await (await heir.resume(run.id)).result();
    return { seen, outputs: session.calls.map(({ outcome }) => outcome) };
  }

  test("a directory that changed while a person thought is read as it was, by whichever process goes on", async () => {
    const { seen, outputs } = await published(["publish"], (folder) => writeFile(join(folder, "a.txt"), "changed"));
    expect([seen, outputs]).toEqual([["asked"], [{ type: "ok", value: "asked" }]]);
  });

  test("a directory that is gone by then too", async () => {
    const { seen } = await published(["publish"], (folder) => rm(folder, { recursive: true }));
    expect(seen).toEqual(["asked"]);
  });

  test("what calls of the same round changed is seen", async () => {
    const { seen } = await published(["write", "publish"], async () => {});
    expect(seen).toEqual(["batch"]);
  });
});
