/**
 * What `why` finds, against runs whose data flow is known. A secret word travels by chance: from a tool into a reply, a file, a merge, a
 * nested agent, a summary, a memory and another session, among things that are read and not used and things that nobody reads.
 */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { Compressor } from "../agent/compressor.ts";
import { volatileMemory } from "../memory/volatile.ts";
import { type Script, scripted } from "../model/scripted.ts";
import type { Rath } from "../runtime/rath.ts";
import { runtimeOf } from "../runtime/replay.ts";
import type { Event, EventKind } from "../session/event.ts";
import type { Session } from "../session/session.ts";
import type { WhyHop } from "../session/why.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { why } from "./why.ts";

const word = "amber lantern 4711";

const put = tool({
  name: "put",
  description: "Writes a file.",
  input: z.object({ path: z.string(), text: z.string() }),
  writes: "files",
  run: async (given, { sandbox }) => {
    await sandbox.write(given.path, given.text);
    return "written";
  },
});
const read = tool({
  name: "read",
  description: "Reads a file.",
  input: z.object({ path: z.string() }),
  repeat: "safe",
  run: async (given, { sandbox }) => Buffer.from(await sandbox.read(given.path)).toString(),
});
const fetches = (text: string) =>
  tool({ name: "fetch", description: "Fetches.", input: z.object({}), repeat: "safe", run: () => `It says: ${text}.` });

/** One event that led to another, by id. */
type Edge = readonly [cause: string, relation: WhyHop["relation"], effect: string];

/** A run under way: where the word is now, and how it got there. */
interface World {
  readonly rath: Rath;
  session: Session;
  /** Where the word stands: in the conversation under this event, or in the file that this event wrote. */
  at: { readonly holder: string; readonly path?: string };
  readonly edges: Edge[];
  /** Was read and not used. */
  readonly idle: Set<string>;
  /** Was read by nobody on the way. */
  readonly unread: Set<string>;
  count: number;
}

/** What is new after a stage, in its order, nested work included. */
async function made(world: World, work: (session: Session) => Promise<Session>): Promise<(kind: EventKind, by?: string) => Event> {
  const before = new Set([...world.session.events()].map(({ id }) => id));
  world.session = await work(world.session);
  const fresh = [...world.session.events()].filter(({ id }) => !before.has(id));
  return (kind, by) => {
    const found = fresh.findLast((event) => event.kind === kind && (by === undefined || event.by === by));
    if (found === undefined) throw new Error(`no ${kind} of ${by} was made`);
    return found;
  };
}

const agentOf = (world: World, role: string, ...replies: readonly Script[]) => {
  const name = `${role}${++world.count}`;
  return { name, model: scripted(...replies) };
};

/** Reply, model call and what it had read, with the word in it. */
function asked(world: World, reply: Event, called: Event): void {
  world.edges.push([called.id, "decided", reply.id], [world.at.holder, "was-in-context", called.id]);
}

/** The word is brought into the conversation of the line, by a tool that reads the file. */
async function readFile(world: World, path: string): Promise<void> {
  const given = agentOf(world, "reader", { calls: [{ tool: "read", input: { path } }] }, "Seen.");
  const find = await made(world, (session) => new Agent({ ...given, tools: [read] }).forward(session));
  const result = find("tool.returned");
  world.edges.push([world.at.holder, "wrote", result.id]);
  world.at = { holder: result.id };
}

type Stage = (world: World) => Promise<void>;

const stages: Readonly<Record<string, Stage>> = {
  quote: async (world) => {
    const given = agentOf(world, "quoter", `I found ${word} there.`);
    const find = await made(world, (session) => new Agent(given).forward(session));
    const reply = find("model.returned");
    asked(world, reply, find("model.called"));
    world.at = { holder: reply.id };
  },
  write: async (world) => {
    const path = `out/found${++world.count}.txt`;
    const given = agentOf(world, "writer", { calls: [{ tool: "put", input: { path, text: `first\n${word}\nlast\n` } }] }, "Done.");
    // On a branch of its own, whose conversation the line never reads.
    const base = world.session;
    const branch: World = { ...world, session: base.fork(`w${++world.count}`) };
    const find = await made(branch, (session) => new Agent({ ...given, tools: [put] }).forward(session));
    world.count = branch.count;
    const events = [...branch.session.events()];
    const result = find("tool.returned");
    const reply = events.find(
      ({ id, kind, by }) => kind === "model.returned" && by === given.name && id !== find("model.returned").id,
    ) as Event;
    const called = events.find(({ kind, by }) => kind === "model.called" && by === given.name) as Event;
    asked(world, reply, called);
    world.edges.push([reply.id, "called", result.id]);
    world.session = await base.say("Another branch writes it down.").merge(branch.session);
    world.at = { holder: result.id, path };
  },
  nested: async (world) => {
    const inner = agentOf(world, "inner", `Sure: ${word}!`);
    const outer = agentOf(world, "outer", { calls: [{ tool: "helper", input: { task: `Repeat ${word}` } }] }, "Thanks.");
    const helper = new Agent({ ...inner, description: "Helps." }).asTool({ name: "helper" });
    const find = await made(world, (session) => new Agent({ ...outer, tools: [helper] }).forward(session));
    const result = find("tool.returned");
    const innerName = find("model.returned").by === outer.name ? `${outer.name}/${inner.name}` : "";
    const [reply, call] = [find("model.returned", innerName), find("model.called", innerName)];
    const events = [...world.session.events()];
    const caller = events.find(({ kind, by }) => kind === "model.returned" && by === outer.name) as Event;
    const called = events.find(({ kind, by }) => kind === "model.called" && by === outer.name) as Event;
    asked(world, caller, called);
    world.edges.push([reply.id, "wrote", result.id], [call.id, "decided", reply.id], [caller.id, "called", call.id]);
    world.at = { holder: result.id };
  },
  merge: async (world) => {
    const given = agentOf(world, "brancher", `My branch has ${word}.`);
    const base = world.session.say("Go on.");
    const branch: World = { ...world, session: base.fork(`m${++world.count}`) };
    const find = await made(branch, (session) => new Agent(given).forward(session));
    const reply = find("model.returned");
    asked(world, reply, find("model.called"));
    const apart = await new Agent(agentOf(world, "lost", "A branch that is lost.")).forward(base.fork(`l${++world.count}`));
    for (const { id, by } of apart.events()) if (by.startsWith("lost")) world.unread.add(id);
    world.session = await base.say("Meanwhile.").merge(branch.session);
    world.edges.push([reply.id, "was-in-context", world.session.head]);
    world.at = { holder: world.session.head };
  },
  compress: async (world) => {
    const given = agentOf(world, "compressor", `In short: ${word}.`);
    const policy = { summariseAt: 1000, keep: 0 };
    const long = world.session.say(`Filler. ${"So it goes on and on. ".repeat(60)}`);
    const find = await made({ ...world, session: long }, async (session) => {
      world.session = await new Compressor({ ...given, policy }).forward(session);
      return world.session;
    });
    const [compressed, summary, reply, called] = [
      find("context.compressed"),
      find("do.returned"),
      find("model.returned"),
      find("model.called"),
    ];
    asked(world, reply, called);
    world.edges.push([summary.id, "wrote", compressed.id], [reply.id, "wrote", summary.id], [world.at.holder, "compressed", compressed.id]);
    world.at = { holder: compressed.id };
  },
  memory: async (world) => {
    const topic = `topic${++world.count}`;
    const learned = await world.session.remember({ key: topic, content: `${topic} is ${word}`, because: [world.at.holder] });
    const idle = await learned.remember({ key: `${topic}-idle`, content: `${topic} is also discussed elsewhere` });
    const kept = await idle.remember({ key: `zebra${world.count}`, content: "quagga quagga" });
    await world.rath.memory.publish(kept);
    const calls = [...kept.events()].filter(({ kind }) => kind === "remember.called").slice(-3);
    const [written, other, never] = calls as [Event, Event, Event];
    world.idle.add(other.id);
    world.unread.add(never.id);
    world.edges.push([world.at.holder, "justified", written.id]);
    // Another session, which shares nothing with this one.
    world.session = world.rath.session(`What is ${topic}?`).to("memory");
    const given = agentOf(world, "later", `It is ${word}, I recall.`);
    const find = await made(world, (session) => new Agent({ ...given, memory: {} }).forward(session));
    const [reply, called, recalled] = [find("model.returned"), find("model.called"), find("recall.returned")];
    world.edges.push([called.id, "decided", reply.id], [recalled.id, "was-in-context", called.id], [written.id, "wrote", recalled.id]);
    world.at = { holder: reply.id };
  },
};

/** Something that the next model reads and does not use, or that no model reads. */
const noise: Readonly<Record<string, Stage>> = {
  none: async () => {},
  message: async (world) => {
    world.session = world.session.say("By the way, the weather is fine.");
    world.idle.add(world.session.head);
  },
  result: async (world) => {
    const given = agentOf(world, "idler", { calls: [{ tool: "fetch", input: {} }] }, "Never mind.");
    const find = await made(world, (session) => new Agent({ ...given, tools: [fetches("nothing of interest")] }).forward(session));
    world.idle.add(find("tool.returned").id);
  },
  unread: async (world) => {
    const aside = await world.session.fork(`u${++world.count}`).call(put, { path: "aside.txt", text: "unused\n" });
    world.unread.add(aside.head);
  },
};

async function travel(rath: Rath, plan: readonly (readonly [stage: string, noise: string])[]): Promise<World> {
  const world: World = {
    rath,
    session: rath.session("Find out what it says.").to("memory"),
    at: { holder: "" },
    edges: [],
    idle: new Set(),
    unread: new Set(),
    count: 0,
  };
  const given = agentOf(world, "finder", { calls: [{ tool: "fetch", input: {} }] }, "Noted.");
  const find = await made(world, (session) => new Agent({ ...given, tools: [fetches(word)] }).forward(session));
  world.at = { holder: find("tool.returned").id };
  for (const [stage, aside] of plan) {
    await noise[aside]?.(world);
    if (world.at.path !== undefined) await readFile(world, world.at.path);
    await stages[stage]?.(world);
  }
  return world;
}

/** Every hop is an event of the store whose id is the hash of its envelope, and whatever it carries is what the record says. */
async function checkHops(world: World, hops: readonly WhyHop[]): Promise<void> {
  const runtime = runtimeOf(world.session);
  const store = await runtime.store();
  for (const [index, { relation, event, explains, evidence }] of hops.entries()) {
    const rows = [];
    for await (const row of store.events({ ids: [event.id] })) rows.push(row);
    expect(rows).toHaveLength(1);
    expect(
      createHash("sha256")
        .update(rows[0]?.envelope ?? "")
        .digest("hex"),
    ).toBe(event.id);
    expect(explains.every((at) => at !== index && at < hops.length)).toBe(true);
    if (event.kind === "model.called") {
      expect(evidence.request).toBe(event.data.request);
      const request = await (await world.rath.open(event.session)).at(event.step).request(); // throws unless the digest is right
      for (const { relation: how, explains: of, evidence: other } of hops)
        if (how === "was-in-context" && of.includes(index) && other.words !== undefined) expect(JSON.stringify(request)).toContain(word);
    }
    if (evidence.file?.after !== undefined) expect(await store.blob(evidence.file.after)).toBeDefined();
    for (const at of explains) await checkEdge(world, relation, event, (hops[at] as WhyHop).event);
  }
}

/** The record itself says that one led to the other. */
async function checkEdge(world: World, relation: WhyHop["relation"], cause: Event, effect: Event): Promise<void> {
  if (relation === "justified") {
    const session = await world.rath.open(effect.session);
    const { because = [] } = (effect.data ?? {}) as { readonly because?: readonly string[] };
    const stamped = session.memory.writes.find(({ event }) => event === effect.id)?.because ?? [];
    expect([...because, ...stamped]).toContain(cause.id);
  } else if (effect.kind === "recall.returned") {
    const hits = (effect.data?.value ?? []) as readonly { readonly event: string }[];
    expect(hits.map(({ event }) => event)).toContain(cause.id);
  } else if (cause.session === effect.session) expect(cause.step).toBeLessThan(effect.step + (effect.kind.endsWith(".called") ? 2 : 0));
  if (relation === "called")
    expect((cause.data as { readonly parts?: readonly { readonly type: string }[] }).parts?.some(({ type }) => type === "call")).toBe(true);
  if (relation === "decided" && cause.kind === "model.called") expect(effect.parents).toContain(cause.id);
}

/** What is reached from what was asked about without going over what was merely read. */
function causesIn(hops: readonly WhyHop[]): ReadonlySet<string> {
  const reached = new Set<number>(hops.flatMap(({ explains }, index) => (explains.length === 0 ? [index] : [])));
  for (const at of reached)
    for (const [index, { relation, explains }] of hops.entries())
      if (relation !== "was-in-context" && relation !== "compressed" && explains.includes(at)) reached.add(index);
  return new Set([...reached].map((index) => (hops[index] as WhyHop).event.id));
}

async function law(plan: readonly (readonly [string, string])[]): Promise<void> {
  await using rath = testRath({ memory: volatileMemory() });
  const world = await travel(rath, plan);
  const target = world.at.path === undefined ? undefined : (`${world.at.path}:2` as const);
  if (target === undefined) await stages["quote"]?.(world);
  const session = await rath.save(world.session);
  const { hops } = await why(session, target ?? { answer: word });
  const found = new Set(
    hops.flatMap(({ relation, event, explains }) => explains.map((at) => `${event.id} ${relation} ${hops[at]?.event.id}`)),
  );
  const missing = world.edges.filter(([cause, relation, effect]) => !found.has(`${cause} ${relation} ${effect}`));
  expect(missing).toEqual([]);
  await checkHops(world, hops);
  const causes = causesIn(hops);
  expect([...world.idle].filter((id) => causes.has(id))).toEqual([]);
  expect(hops.filter(({ event }) => world.unread.has(event.id))).toEqual([]);
  for (const { relation, event } of hops)
    if (world.idle.has(event.id)) expect(["was-in-context", "compressed", "wrote"]).toContain(relation);
}

const steps = fc.array(fc.tuple(fc.constantFrom(...Object.keys(stages)), fc.constantFrom(...Object.keys(noise))), { maxLength: 4 });

// Mutants: memories are not followed; only the first parent of a merge is; what was in context "called"; summaries are leaves; nested
// work is not looked into. Each of them fails one of the two tests.
test.each(Object.keys(stages))("a word that went by %s is followed back to where it comes from", async (stage) => {
  await law([[stage, "message"]]);
  await law([
    [stage, "result"],
    ["write", "unread"],
  ]);
});

test("why finds every hop of a known flow, and only what is on record", { timeout: 60_000 }, async () => {
  await fc.assert(fc.asyncProperty(steps, law), { numRuns: 40 });
});
