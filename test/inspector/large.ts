/**
 * A session of about 100 000 events on 1 000 branches, written in seconds: two branches of it really happened (one was merged, one
 * rejected), all others are copies of these with ids of their own.
 *
 * node --import tsx test/inspector/large.ts FOLDER [PORT]   serves one until it is stopped, for whoever wants to look
 */
import { hash, randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { Agent, openrath, type Session, tool, Workflow } from "../../src/index.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { listen } from "../../src/server/listen.ts";
import { createServer } from "../../src/server/server.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { BranchWrite, StoredEvent } from "../../src/store/store.ts";

const rounds = 24;

const look = tool({
  name: "look",
  description: "Looks something up.",
  input: { type: "object", properties: { round: { type: "number" } } },
  repeat: "safe",
  run: (input) => `gauge ${(input as { readonly round: number }).round} says ${"high water ".repeat(20)}`,
});

class Once extends Workflow {
  async forward(session: Session): Promise<Session> {
    const branches = await Promise.all(["merged", "rejected"].map((label) => worker().forward(session.fork(label).say(`Part ${label}`))));
    const [merged, rejected] = branches as [Session, Session];
    await rejected.reject("the other one is better").do("close", () => "closed");
    return session.say("Under way.").merge(merged);
  }
}

function worker(): Agent {
  let turn = 0;
  const model = {
    id: "worker",
    free: true,
    async *stream() {
      const round = turn++;
      const text = { type: "text" as const, text: `Round ${round}: ${"the tide turns at noon ".repeat(4)}` };
      const call = { type: "call" as const, id: `call_${round}`, tool: "look", input: JSON.stringify({ round }) };
      const usage = { input: 1800, output: 120, cached: 1500, cacheWrite: 0, reasoning: 0 };
      yield {
        type: "reply" as const,
        reply: { parts: round < rounds ? [text, call] : [text], finish: round < rounds ? ("calls" as const) : ("stop" as const), usage },
      };
    },
  };
  return new Agent({ name: "worker", model, tools: [look], limits: { rounds: rounds + 1 } });
}

interface Template {
  readonly line: string;
  /** The line before the branches, and what belongs to one branch: its own events and those of the line. */
  readonly before: readonly StoredEvent[];
  readonly units: readonly (readonly StoredEvent[])[];
  readonly blobs: readonly { readonly hash: string; readonly bytes: Uint8Array }[];
}

async function template(): Promise<Template> {
  await using rath = openrath({ store: "memory" });
  const run = await rath.run(new Once(), rath.session("A large session", { title: "A large session" }));
  const session = await run.result();
  const store = await runtimeOf(session).store();
  const events: StoredEvent[] = [];
  for await (const { events: some } of store.feed({})) events.push(...some);
  const ofSessions = events.filter((event) => about(event).kind.split(".")[0] !== "run");
  const line = session.id;
  const onLine = ofSessions.filter((event) => event.session === line);
  const split = onLine.findIndex((event) => about(event).kind === "message.added" && event.step > 3);
  const labels = new Map(
    ofSessions.filter((event) => about(event).kind === "session.forked").map((event) => [label(event), event.session]),
  );
  const branch = (name: string): StoredEvent[] => ofSessions.filter((event) => event.session === labels.get(name));
  const [before, after] = [onLine.slice(0, split), onLine.slice(split)];
  const blobs: { hash: string; bytes: Uint8Array }[] = [];
  for (const named of new Set(
    ofSessions.flatMap(
      ({ data }) =>
        Buffer.from(data ?? [])
          .toString()
          .match(/[0-9a-f]{64}/g) ?? [],
    ),
  )) {
    const bytes = await store.blob(named);
    if (bytes !== undefined) blobs.push({ hash: named, bytes });
  }
  return { line, before, units: [[...branch("merged"), ...after], branch("rejected")], blobs };
}

interface About {
  readonly kind: string;
  readonly parents: readonly string[];
}

function about(event: StoredEvent): About {
  return JSON.parse(Buffer.from(event.envelope).toString()) as About;
}

function label(event: StoredEvent): string {
  return (JSON.parse(Buffer.from(event.data?.subarray(16) ?? []).toString()) as { label?: string }).label ?? "";
}

/** Copies events with other ids; whatever they name that was copied has its new name in them. */
class Copying {
  readonly #names = new Map<string, string>();
  readonly #steps = new Map<string, number>();
  #time = Date.parse("2026-11-01T08:00:00.000Z");

  rename(from: string, to: string, step?: number): void {
    this.#names.set(from, to);
    if (step !== undefined) this.#steps.set(to, step);
  }

  copy(event: StoredEvent): StoredEvent {
    const envelope = JSON.parse(this.#renamed(Buffer.from(event.envelope).toString())) as Record<string, unknown> & About;
    const data = Buffer.concat([randomBytes(16), Buffer.from(this.#renamed(Buffer.from(event.data?.subarray(16) ?? []).toString()))]);
    const step = 1 + Math.max(0, ...envelope.parents.map((parent) => this.#steps.get(parent) ?? 0));
    this.#time += 40;
    const bytes = Buffer.from(JSON.stringify({ ...envelope, at: new Date(this.#time).toISOString(), data: hash("sha256", data), step }));
    const id = hash("sha256", bytes);
    this.rename(event.id, id, step);
    return { id, session: String(envelope["session"]), step, run: undefined, order: 0, envelope: bytes, data };
  }

  #renamed(text: string): string {
    return text.replace(/[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (name) => this.#names.get(name) ?? name);
  }
}

/** Writes one into a folder; gives its id. */
export async function writeLarge(folder: string, branches = 1000): Promise<string> {
  const { line, before, units, blobs } = await template();
  const copying = new Copying();
  await using store = sqliteStore(join(folder, "rath.db"), { durability: "relaxed" });
  const id = randomUUID();
  copying.rename(line, id);
  let head: string | undefined;
  const write = async (events: readonly StoredEvent[]): Promise<void> => {
    const bySession = new Map<string, StoredEvent[]>();
    for (const event of events) bySession.set(event.session, [...(bySession.get(event.session) ?? []), event]);
    const writes = [...bySession].map(([session, some]): BranchWrite => {
      const isLine = session === id;
      const first = { log: "session" as const, ...(isLine ? { title: "A large session" } : { parent: id }) };
      return { session, expectedHead: isLine ? head : undefined, events: some, about: first };
    });
    const written = await store.append({ branches: writes, relaxed: true, ...(head === undefined ? { blobs } : {}) });
    if (!written.ok) throw new Error(`not written: ${JSON.stringify(written)}`);
    head = bySession.get(id)?.at(-1)?.id ?? head;
  };
  await write(before.map((event) => copying.copy(event)));
  const start = before.at(-1)?.id ?? "";
  for (let index = 0; index < branches; index++) {
    const unit = units[index % 4 === 3 ? 1 : 0] ?? [];
    const branch = unit[0]?.session ?? "";
    copying.rename(branch, randomUUID());
    const copies = unit.map((event) => copying.copy(event));
    await write(copies);
    // What comes next begins where the line is now.
    const tip = copies.findLast(({ session }) => session === id);
    if (tip !== undefined) copying.rename(start, tip.id, tip.step);
  }
  return id;
}

if (process.argv[1] === import.meta.filename) {
  const [folder = ".", port = "0"] = process.argv.slice(2);
  const began = Date.now();
  const id = await writeLarge(folder);
  console.log(`written in ${Date.now() - began} ms`);
  const rath = openrath({ store: join(folder, "rath.db") });
  const { url } = await listen(createServer(rath, { auth: "none-on-loopback" }), { port: Number(port) });
  console.log(`${url}/#/s/${id}/graph`);
}
