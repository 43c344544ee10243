/** Retention against a simple model: whatever hangs together with something young stays and verifies, everything else goes. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { verify } from "../audit/verify.ts";
import { Workflow } from "../index.ts";
import { composeRath } from "../openrath.ts";
import { dataText } from "../session/codec.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { collect } from "../testing/store-case.ts";
import { nodePlatform } from "./platform.ts";
import { replay } from "./replay.ts";

class Work extends Workflow {
  override async forward(session: Session): Promise<Session> {
    // Nobody merges it, and still it belongs to what the run signed.
    await session.fork("left").do("left", () => "left");
    const side = await session.fork("side").do("side", () => "s".repeat(5000));
    const done = await session.do("work", () => 1);
    return done.merge(side);
  }
}
class Outer extends Workflow {
  override async forward(session: Session): Promise<Session> {
    return new Work().forward(await session.do("outer", () => 2));
  }
}
class Asks extends Workflow {
  override forward(session: Session): Promise<Session> {
    return session.ask("May I?");
  }
}

const pick = fc.nat(1000);
const act = fc.oneof(
  fc.record({ kind: fc.constant("new" as const), flow: fc.constantFrom("work", "outer", "asks") }),
  fc.record({ kind: fc.constantFrom("fork" as const, "detach" as const), of: pick, flow: fc.constantFrom("work", "outer", undefined) }),
  fc.record({ kind: fc.constant("merge" as const), of: pick, with: pick }),
);
const step = fc.record({ act, day: fc.constantFrom(0, 100) });

test("what hangs together with a young session stays, verifies and replays; the rest goes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 9 }), async (steps) => {
      let now = 0;
      const start = Date.parse("2026-01-01T00:00:00.000Z");
      const platform = { ...nodePlatform, time: () => new Date(start + now++).toISOString() };
      const store = memoryStore({ clock: () => start + now });
      const workflows = { work: new Work(), outer: new Outer(), asks: new Asks() };
      await using rath = composeRath({ store, workflows, implicitForks: "allow" }, { platform });
      const made: { session: Session; day: number; group: number; flow: string | undefined }[] = [];
      const ended = async (flow: string, session: Session): Promise<Session> => {
        const run = await rath.run(flow, session);
        for (let settled = await run.settle(); ; settled = await run.settle()) {
          if (settled.status !== "waiting") return settled.session;
          for (const { id } of settled.pending) await rath.decide(id, { by: "human:ada", answer: "yes" });
        }
      };
      // Old ones first, as time goes.
      for (const { act: one, day } of [...steps].sort((a, b) => a.day - b.day)) {
        now = Math.max(now, day * 86_400_000);
        const other = "of" in one && made.length > 0 ? made[one.of % made.length] : undefined;
        if (one.kind === "new" || other === undefined) {
          const flow = ("flow" in one ? one.flow : undefined) ?? "work";
          made.push({ session: await ended(flow, rath.session(`session ${made.length}`)), day, group: made.length, flow });
        } else if (one.kind === "merge") {
          const second = made[one.with % made.length] as (typeof made)[number];
          if (second.session.id === other.session.id) continue;
          // Two that were merged hang together, whichever way.
          const [into, from] = [other.session.fork(), second.session];
          const merged = await into.merge(from);
          await rath.save(merged);
          const joined = second.group;
          for (const each of made) if (each.group === joined) each.group = other.group;
          made.push({ session: merged, day, group: other.group, flow: undefined });
        } else {
          const from = one.kind === "fork" ? other.session.fork() : other.session.detach();
          if (one.flow === undefined) await rath.save(from);
          made.push({ session: one.flow === undefined ? from : await ended(one.flow, from), day, group: other.group, flow: one.flow });
        }
      }
      now = 120 * 86_400_000;
      const before = new Map<string, number>();
      for (const { session } of made) before.set(session.id, (await verify(await rath.open(session.id))).unsigned);
      const report = await rath.gc({ sessionsOlderThan: "90d" });
      for (const { session, day, group, flow } of made) {
        const gone = report.sessions.includes(session.id);
        if (day === 100) {
          expect(gone, session.id).toBe(false);
          const opened = await rath.open(session.id);
          expect(await verify(opened)).toMatchObject({ problems: [], unsigned: before.get(session.id) });
          if (flow !== undefined && flow !== "asks")
            expect(await replay(opened, workflows[flow as "work"])).toMatchObject({ identical: true });
        } else if (made.every((each) => each.group !== group || each.day === 0)) expect(gone, session.id).toBe(true);
      }
      // No record points to what is not there any more, and no answer stays without its question.
      const logs = await collect(store.sessions({}));
      const events = new Set<string>();
      for (const { id } of logs) for (const event of await collect(store.events({ session: id }))) events.add(event.id);
      for (const { id, log } of logs) {
        if (log === "session") expect(await verify(await rath.open(id))).toMatchObject({ problems: [] });
        if (log !== "answer") continue;
        const [given] = await collect(store.events({ session: id }));
        expect(events).toContain((JSON.parse(dataText(platform, given?.data as Uint8Array)) as { question: string }).question);
      }
    }),
    { numRuns: 25 },
  );
}, 60_000);
