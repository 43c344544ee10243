/** Whatever is erased of whichever session: the rest is as it was, and everything that reads sessions still can. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { graph } from "../audit/audit.ts";
import { verify } from "../audit/verify.ts";
import { Agent } from "../index.ts";
import { scripted } from "../model/scripted.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import { collect } from "../testing/store-case.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { eventLine } from "../wire/event-line.ts";
import { lasting as lastingKinds } from "./erase-find.ts";
import type { Rath } from "./rath.ts";

const put = tool({
  name: "put",
  description: "Writes a file.",
  input: z.object({ path: z.string(), text: z.string() }),
  writes: "files",
  run: ({ path, text }, { sandbox }) => sandbox.write(path, text),
});
const who = { by: "human:ada", reason: "asked to" };
const lasting = (store: Store): Store => ({ ...store, [Symbol.asyncDispose]: async () => {} });

const act = fc.constantFrom(
  "say",
  "long",
  "do",
  "fail",
  "put",
  "check",
  "note",
  "fork",
  "merge",
  "detach",
  "agent",
  "remember",
  "recall",
  "reject",
);
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

async function play(rath: Rath, acts: readonly Act[]): Promise<void> {
  const waiting: Session[] = [];
  let session: Session = rath.session("begin", { title: "t", tags: ["x"] }).to("memory");
  for (const [index, one] of acts.entries()) {
    session = await step(session, waiting, one, index);
    await rath.save(session);
  }
}

async function step(session: Session, waiting: Session[], one: Act, index: number): Promise<Session> {
  switch (one) {
    case "say":
      return session.say(`said ${index}`);
    case "long":
      return session.say(`long ${index} `.repeat(800));
    case "do":
      return session.do("work", () => ({ index }), { input: { index } });
    case "fail":
      return session.do("fail", () => Promise.reject(new Error(`no ${index}`))).catch((error: { session: Session }) => error.session);
    case "put":
      return session.call(put, { path: `f${index % 3}`, text: `content ${index}` });
    case "check":
      return session.check("right", () => index % 2 === 0);
    case "note":
      return session.note(`noted ${index}`);
    case "fork":
      waiting.push(session);
      return session.fork(`f${index}`).say("fork");
    case "merge": {
      const other = waiting.pop();
      return other === undefined
        ? session
        : (await other.fork().do("side", () => index)).merge(session, { reason: `m${index}`, conflicts: "ours" });
    }
    case "detach":
      return session.detach().say("detached");
    case "agent":
      return new Agent({ name: "a", model: scripted({ text: `reply ${index}` }) }).forward(session);
    case "remember":
      return session.remember({ key: `k${index % 3}`, content: `fact ${index}`, publish: "now" });
    case "recall":
      return session.recall("fact");
    case "reject":
      return session.reject(`rejected ${index}`);
  }
}

const all = async (store: Store): Promise<StoredEvent[]> => {
  const events: StoredEvent[] = [];
  for (const { id, log } of await collect(store.sessions({})))
    if (log !== "erasure") events.push(...(await collect(store.events({ session: id }))));
  return events;
};
const plain = ({ data, erased, ...event }: StoredEvent) => ({ ...event, envelope: Buffer.from(event.envelope).toString() });

/** Everything that reads a session at every step; what was erased may be missed by name only. */
async function readAll(rath: Rath): Promise<void> {
  for await (const session of rath.sessions()) {
    for (const event of session.events()) eventLine(event, () => undefined);
    for (const at of [session, ...[...session.events()].slice(-6).map(({ step }) => placeAt(session, step))]) {
      if (at === undefined) continue;
      for (const view of [
        "messages",
        "status",
        "usage",
        "placement",
        "lineage",
        "pending",
        "checks",
        "toolCalls",
        "text",
        "stop",
        "reads",
        "writes",
        "compressions",
        "routes",
        "request",
      ] as const)
        mayMiss(() => JSON.stringify((at as unknown as Record<string, unknown>)[view]));
      mayMiss(() => at.output);
      String(at);
      await readFiles(at).catch(onlyErased);
    }
    String(await graph(session));
    expect(await verify(session)).toMatchObject({ ok: true, problems: [] });
  }
}

async function readFiles(session: Session): Promise<void> {
  for await (const path of session.files.list()) await session.files.text(path).catch(onlyErased);
}

function placeAt(session: Session, step: number): Session | undefined {
  try {
    return session.at(step);
  } catch {
    return undefined; // a step of another branch
  }
}
function mayMiss(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    onlyErased(error);
  }
}
function onlyErased(error: unknown): void {
  if (!["event.erased", "session.no-output"].includes((error as { code?: string }).code ?? "")) throw error;
}

describe("erasing any events of any session", () => {
  test("keeps the rest, its envelopes and its proof, and nothing that reads it fails", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 14 }), fc.infiniteStream(fc.nat(3)), async (acts, chance) => {
        const store = memoryStore();
        await using rath = testRath({ store: lasting(store), implicitForks: "allow" });
        await play(rath, acts);
        const before = await all(store);
        const picked = before.filter((event) => {
          const { kind } = JSON.parse(Buffer.from(event.envelope).toString());
          return !lastingKinds.has(kind) && chance.next().value === 0;
        });
        if (picked.length === 0) return;
        const ids = new Set(picked.map(({ id }) => id));
        const would = await rath.erase({ events: [...ids] }, { ...who, dryRun: true });
        expect(await all(store)).toEqual(before);
        const report = await rath.erase({ events: [...ids] }, who);
        expect({ ...report, entries: [], dryRun: true, toString: undefined }).toEqual({ ...would, toString: undefined });
        const after = await all(store);
        expect(after.map(plain)).toEqual(before.map(plain));
        for (const [index, event] of after.entries()) {
          if (ids.has(event.id)) expect([event.data, event.erased]).toEqual([undefined, report.entries[0]]);
          else expect(event).toEqual(before[index]);
        }
        await readAll(rath);
        await using again = testRath({ store: lasting(store) });
        await readAll(again);
      }),
      { numRuns: 25 },
    );
  });
});
