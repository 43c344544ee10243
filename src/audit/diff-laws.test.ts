/** What holds of every diff, over any forks, merges, detaches, nested work and reruns. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { composeRath } from "../openrath.ts";
import type { Session, Totals } from "../session/session.ts";
import { type Diff, diff } from "./diff.ts";

const on = fc.nat(20);
const value = fc.nat(2);
/** One step of a program over a growing list of branches; numbers choose among those there are. */
const step = fc.oneof(
  fc.record({ type: fc.constant("say" as const), on, value }),
  fc.record({ type: fc.constant("do" as const), on, value }),
  fc.record({ type: fc.constant("batch" as const), on, value }),
  fc.record({ type: fc.constant("check" as const), on, value }),
  fc.record({ type: fc.constant("nested" as const), on, value }),
  fc.record({ type: fc.constant("ask" as const), on, value }),
  fc.record({ type: fc.constant("fork" as const), on, value }),
  fc.record({ type: fc.constant("detach" as const), on, value }),
  fc.record({ type: fc.constant("merge" as const), on, value }),
);

async function play(session: Session, steps: readonly { type: string; on: number; value: number }[]): Promise<readonly Session[]> {
  const branches: Session[] = [session];
  for (const { type, on: which, value: given } of steps) {
    const index = which % branches.length;
    const at = branches[index] as Session;
    const usage = { input: 10 + given, output: 1 };
    if (type === "fork") branches.push(at.fork());
    else if (type === "detach") branches.push(at.detach());
    else if (type === "merge") branches[index] = await at.merge(branches[given % branches.length] as Session);
    else if (type === "say") branches[index] = at.say(`message ${given}`);
    else if (type === "do") branches[index] = await at.do("effect", () => given, { repeat: "safe" });
    else if (type === "check") branches[index] = await at.check("tests", () => given > 0);
    else if (type === "ask")
      branches[index] = await new Agent({ name: "one", model: scripted({ text: `said ${given}`, usage }) }).forward(at);
    else if (type === "batch") {
      const calls = [0, 1].map((k) => ({ tool: "help", input: { task: String(k + given) } }));
      const help = new Agent({ name: "inner", model: scripted({ text: "x", usage }) }).asTool({ name: "help", description: "x" });
      branches[index] = await new Agent({ name: "two", model: scripted({ calls, usage }, { text: "y", usage }), tools: [help] }).forward(
        at,
      );
    } else
      branches[index] = await at.do("outer", async ({ session: inner }) => (await inner.say("in").do("inner", () => given)).output, {
        repeat: "nested",
      });
  }
  return branches;
}

/** Where something is on both sides, the two rows change places; what is on one side alone changes its side. */
function sides(found: Diff, a: "a" | "b", b: "a" | "b"): unknown {
  const pairs = found.events.flatMap((row) => (row.relation === "only" ? [] : [[row.relation, row[a]?.id, row[b]?.id]]));
  const side = (one: "a" | "b"): unknown => ({
    place: found[one],
    events: found.events.flatMap((row) => row[one]?.id ?? []),
    first: found.first[one]?.id,
    messages: found.messages.flatMap((row) => row[one]?.event ?? []),
    calls: found.calls.flatMap((row) => row[one]?.event ?? []),
    checks: found.checks.flatMap((row) => row[one]?.event ?? []),
    models: found.models.map((row) => row[one]),
    spent: found.spent[one],
    usage: found.usage[one],
    reused: found.reused[one],
  });
  return { pairs, a: side(a), b: side(b), ancestors: found.ancestors, detached: found.detached, identical: found.identical };
}

const fields = ["input", "output", "cached", "cacheWrite", "reasoning", "usd"] as const;

test("a diff is empty against itself, mirrors, holds each event once in both orders, and its usage is that of its events", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), on, on, async (steps, one, other) => {
      await using rath = composeRath({ store: "memory", implicitForks: "allow" }, {});
      const branches = await play(rath.session("go"), steps);
      const [a, b] = [branches[one % branches.length], branches[other % branches.length]] as [Session, Session];

      const self = await diff(a, a);
      expect(self).toMatchObject({ identical: true, events: [], messages: [], files: [], calls: [], first: {}, ancestor: a.head });

      const [found, mirrored] = [await diff(a, b), await diff(b, a)];
      expect(sides(mirrored, "b", "a")).toEqual(sides(found, "a", "b"));

      // Against a model: sets of ids, found by reading everything, over the beginnings of detached sessions too.
      const [ours, theirs] = [await past(a), await past(b)];
      for (const [side, mine, others] of [
        ["a", ours, theirs],
        ["b", theirs, ours],
      ] as const) {
        const own = found.events.flatMap((row) => row[side] ?? []);
        expect(own.map(({ id }) => id).sort()).toEqual([...mine.keys()].filter((id) => !others.has(id)).sort());
        // Parents before children; only results of one batch stand in the order of their calls.
        const places = new Map(own.map(({ id, kind }, index) => [id, { index, result: /\.(?:returned|started)$/.test(kind) }]));
        for (const { id } of own)
          for (const parent of mine.get(id) ?? []) {
            const [at, before] = [places.get(id), places.get(parent)];
            if (!(at?.result && before?.result)) expect(before?.index ?? -1).toBeLessThan(at?.index ?? 0);
          }
      }
      for (const { session, event } of found.ancestors)
        expect([ours.has(event), theirs.has(event), session !== ""]).toEqual([true, true, true]);
      expect(found.ancestors.length > 0).toBe([...ours.keys()].some((id) => theirs.has(id)));

      // Usage begins anew where a session was detached: what came before is behind it and not in it.
      const detached = steps.some(({ type }) => type === "detach");
      if (!detached && found.ancestors.length > 0)
        for (const field of fields)
          expect(found.usage.a[field] - found.usage.b[field]).toBe(found.spent.a.usage[field] - found.spent.b.usage[field]);
      if (!detached)
        for (const side of ["a", "b"] as const) expect(found.spent[side].usage).toEqual(usageOf(found, side, side === "a" ? a : b));

      expect(JSON.parse(JSON.stringify(found))).toMatchObject({ a: { event: a.head }, b: { event: b.head } });
      expect(String(found)).toContain("common ancestor");
      expect(found.toHtml()).toContain("</html>");

      async function past(session: Session): Promise<ReadonlyMap<string, readonly string[]>> {
        const known = new Map<string, readonly string[]>();
        const waiting = [session];
        for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
          for (const event of at.events()) {
            if (known.has(event.id)) continue;
            const origin = event.kind === "session.detached" ? event.data.from : undefined;
            known.set(event.id, origin === undefined ? event.parents : [origin.head]);
            const from = origin === undefined ? undefined : branches.find(({ id }) => id === origin.session);
            if (from !== undefined) waiting.push(from.at(origin?.head ?? ""));
          }
        return known;
      }
    }),
    { numRuns: 60 },
  );
});

function usageOf(found: Diff, side: "a" | "b", session: Session): Totals {
  const ids = new Set(found.events.flatMap((row) => row[side]?.id ?? []));
  const total = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 };
  for (const { id, facts } of session.events()) if (ids.has(id)) for (const field of fields) total[field] += facts.usage?.[field] ?? 0;
  return total;
}

test("the same program played twice is identical, whatever its ids and whichever result of a batch came first", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), on, async (steps, one) => {
      await using rath = composeRath({ store: "memory", implicitForks: "allow" }, {});
      const plain = steps.filter(({ type }) => type !== "detach");
      const [first, second] = [await play(rath.session("go"), plain), await play(rath.session("go"), plain)];
      const found = await diff(first[one % first.length] as Session, second[one % second.length] as Session);
      expect(found.ancestor).toBeUndefined();
      expect(found.identical).toBe(true);
      expect(found.events.every(({ relation }) => relation === "same")).toBe(true);
    }),
    { numRuns: 30 },
  );
});
