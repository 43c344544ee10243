/** Laws of memory, on generated programs: who sees what under any tree of forks, merges and rejections; rollback; trust; the past. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Session } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { fetchPage, published, seen } from "../support/memory.ts";

/** What was written, null when it was forgotten, and by which write. */
interface Held {
  readonly text: string | null;
  readonly write: number;
}

/** A branch as the model sees it: what it holds, and where it comes from. */
interface Place {
  readonly id: number;
  readonly parents: readonly Place[];
  readonly holds: ReadonlyMap<string, Held>;
  readonly rejected: boolean;
}

type Op =
  | { readonly do: "fork" | "reject"; readonly on: number }
  | { readonly do: "remember"; readonly on: number; readonly key: string; readonly content: string }
  | { readonly do: "forget"; readonly on: number; readonly key: string }
  | { readonly do: "merge"; readonly on: number; readonly with: number; readonly take: "ours" | "theirs" };

const key = fc.constantFrom("a", "b");
const content = fc.constantFrom("1", "2", "3");
const on = fc.nat(20);
const op: fc.Arbitrary<Op> = fc.oneof(
  fc.record({ do: fc.constant("fork" as const), on }),
  fc.record({ do: fc.constant("reject" as const), on }),
  { weight: 6, arbitrary: fc.record({ do: fc.constant("remember" as const), on, key, content }) },
  fc.record({ do: fc.constant("forget" as const), on, key }),
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("merge" as const), on, with: on, take: fc.constantFrom("ours" as const, "theirs" as const) }),
  },
);

class Model {
  #ids = 0;
  /** After a write. */
  written(before: Place, name: string, text: string | null): Place {
    const write = ++this.#ids;
    return this.place([before], new Map([...before.holds, [name, { text, write }]]));
  }
  place(parents: readonly Place[], holds: ReadonlyMap<string, Held>, rejected = false): Place {
    return { id: ++this.#ids, parents, holds, rejected };
  }
}

function pastOf(place: Place, found = new Set<Place>()): ReadonlySet<Place> {
  if (found.has(place)) return found;
  found.add(place);
  for (const parent of place.parents) pastOf(parent, found);
  return found;
}

/** The best common ancestors. */
function basesOf(a: Place, b: Place): readonly Place[] {
  const theirs = pastOf(b);
  const common = [...pastOf(a)].filter((place) => theirs.has(place));
  return common.filter((place) => !common.some((other) => other !== place && pastOf(other).has(place)));
}

/** All writes up to a place. */
function writesOf(place: Place): readonly number[] {
  return [...pastOf(place)].flatMap(({ holds }) => [...holds.values()].map(({ write }) => write));
}

/** What is there to be seen. */
function visible({ holds }: Pick<Place, "holds">): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, { text }] of [...holds].sort()) if (text !== null) found[name] = text;
  return found;
}

/** Three ways for each key; undefined when there is no one base. */
function merged(a: Place, b: Place, take: "ours" | "theirs"): ReadonlyMap<string, Held> | undefined {
  if (b.rejected) return a.holds;
  const bases = basesOf(a, b);
  if (new Set(bases.map((place) => JSON.stringify(visible(place)))).size > 1) return undefined;
  const base = bases[0]?.holds ?? new Map<string, Held>();
  const result = new Map(a.holds);
  const same = (x: Held | undefined, y: Held | undefined): boolean => (x?.text ?? null) === (y?.text ?? null);
  // What came with an earlier merge and was not taken then, because its branch was rejected, is not taken now either.
  const known = new Set(writesOf(a));
  for (const [name, theirs] of b.holds) {
    const [was, ours] = [base.get(name), a.holds.get(name)];
    const unchanged = same(theirs, was) || same(theirs, ours) || (!same(ours, was) && take === "ours");
    if (ours === undefined ? known.has(theirs.write) : unchanged) continue;
    result.set(name, theirs);
  }
  return result;
}

interface Live {
  session: Session;
  place: Place;
}

async function apply(model: Model, branches: Live[], one: Op, index: number): Promise<void> {
  const live = branches[one.on % branches.length] as Live;
  const { session, place } = live;
  switch (one.do) {
    case "fork":
      branches.push({ session: session.fork(`f${index}`), place: model.place([place], place.holds) });
      return;
    case "reject":
      live.session = session.reject("no");
      live.place = model.place([place], place.holds, true);
      return;
    case "remember":
      live.session = await session.remember({ key: one.key, content: one.content });
      live.place = model.written(place, one.key, one.content);
      return;
    case "forget": {
      if ((place.holds.get(one.key)?.text ?? null) === null) return;
      live.session = await session.forget(one.key, "old");
      live.place = model.written(place, one.key, null);
      return;
    }
    case "merge": {
      const other = branches[one.with % branches.length] as Live;
      // What a rejected branch held is not taken, and merging on both sides of that again has no one answer.
      const rejections = [...pastOf(place), ...pastOf(other.place)].filter(({ rejected }) => rejected);
      if (other === live || rejections.some((one) => one !== other.place)) return;
      const holds = merged(place, other.place, one.take);
      const known = pastOf(place).has(other.place);
      const result = await session.merge(other.session, { conflicts: one.take }).catch((error: unknown) => error);
      if (holds === undefined && !known) {
        // Where the other side wrote nothing new, no base is needed.
        if (writesOf(other.place).every((write) => writesOf(place).includes(write)) && !(result instanceof Error)) {
          live.session = result as Session;
          live.place = model.place([place, other.place], place.holds);
        } else expect(result).toMatchObject({ code: "merge.refused" });
        return;
      }
      live.session = result as Session;
      if (!known) live.place = model.place([place, other.place], holds ?? place.holds);
      return;
    }
  }
}

describe("visibility", () => {
  test("what a branch sees is what the model says, under any tree of forks, merges and rejections", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, { minLength: 4, maxLength: 16 }), async (ops) => {
        await using rath = testRath({ implicitForks: "allow" });
        const model = new Model();
        const root = { session: rath.session("x"), place: model.place([], new Map()) };
        const branches: Live[] = [root];
        for (const label of ["left", "right"])
          branches.push({ session: root.session.fork(label), place: model.place([root.place], new Map()) });
        for (const [index, one] of ops.entries()) await apply(model, branches, one, index);
        for (const { session, place } of branches) expect(await seen(session)).toEqual(visible(place));
        expect(await published(rath)).toEqual({});
        // Publishing a branch gives everybody what it holds; a rejected one gives nothing.
        const last = branches.at(-1) as Live;
        await rath.memory.publish(last.session);
        expect(await published(rath)).toEqual(last.place.rejected ? {} : visible(last.place));
      }),
      { numRuns: 200 },
    );
  });
});

type Write =
  | { readonly do: "put" | "retract"; readonly key: string; readonly content: string }
  | { readonly do: "rollback"; readonly to: number };

const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("put" as const), key, content }) },
  fc.record({ do: fc.constant("retract" as const), key, content }),
  fc.record({ do: fc.constant("rollback" as const), to: fc.nat(12) }),
);

const decision = { by: "ada", reason: "a test" };

async function put(rath: Rath, name: string, text: string): Promise<void> {
  await rath.memory.publish(await rath.session("w").remember({ key: name, content: text }));
}

test("rolling back gives exactly the earlier view, whatever happened since, and every revision reads as it was", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(write, { maxLength: 10 }), async (writes) => {
      await using rath = testRath();
      const views = new Map<number, Record<string, string>>([[0, {}]]);
      for (const one of writes) {
        if (one.do !== "rollback") {
          if (one.do === "put") await put(rath, one.key, one.content);
          else if ((await rath.memory.get(one.key))?.state === "published") await rath.memory.retract(one.key, decision);
        } else {
          const to = one.to % ((await rath.memory.revision()) + 1);
          const view = await asOf(rath, to);
          await rath.memory.rollback(to, decision);
          expect(await published(rath)).toEqual(view);
        }
        views.set(await rath.memory.revision(), await published(rath));
      }
      for (const [revision, view] of views) expect(await asOf(rath, revision)).toEqual(view);
    }),
    { numRuns: 60 },
  );
});

async function asOf(rath: Rath, revision: number): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const item of rath.memory.list({ state: "published", asOf: revision })) found[item.key] = item.content;
  return found;
}

test("trust never rises along a lineage: whoever read something untrusted writes nothing trusted, unless a person says it", async () => {
  const step = fc.constantFrom(
    "fetch" as const,
    "recall" as const,
    "remember" as const,
    "fork" as const,
    "say" as const,
    "publish" as const,
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }), async (lines) => {
      await using rath = testRath({ implicitForks: "allow" });
      for (const [number, line] of lines.entries()) {
        let session: Session = rath.session("go");
        let tainted = false;
        for (const [index, one] of line.entries()) {
          if (one === "fetch") {
            session = await session.call(fetchPage, {});
            tainted = true;
          } else if (one === "recall") {
            const recalled = await session.recall("memory fact", { limit: 50 });
            tainted ||= recalled.output.some(({ trust }) => trust === "untrusted");
            session = recalled;
          } else if (one === "remember") {
            session = await session.remember({ key: `k${number}-${index}`, content: "a memory fact" });
            expect(session.memory.writes.at(-1)?.trust).toBe(tainted ? "untrusted" : "trusted");
          } else if (one === "fork") session = session.fork(`f${index}`);
          else if (one === "say") session = session.say("more");
          else await rath.memory.publish(session);
        }
        await rath.memory.publish(session);
      }
      // What was made of something untrusted is untrusted, however far away.
      const trusts = new Map<string, string>();
      for await (const item of rath.memory.list()) trusts.set(`${item.uri}@${item.version}`, item.trust);
      for await (const item of rath.memory.list())
        if (item.from.some((name) => trusts.get(name) === "untrusted")) expect(item.trust).toBe("untrusted");
    }),
    { numRuns: 60 },
  );
});

test("forks from the past read as of the revision that was read there, however much was written since", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(key, content), { minLength: 1, maxLength: 8 }), fc.nat(7), async (writes, at) => {
      await using rath = testRath({ implicitForks: "allow" });
      let session: Session = rath.session("x");
      const views: { readonly step: number; readonly view: Record<string, string> }[] = [];
      for (const [name, text] of writes) {
        await put(rath, name, text);
        session = await session.recall({}, { limit: 50 });
        views.push({ step: session.step, view: await published(rath) });
      }
      session = await session.do("work", () => 1);
      await put(rath, "later", "x");
      const { step, view } = views[at % views.length] as (typeof views)[number];
      expect(await seen(session.at(step).fork("then"))).toEqual(view);
      expect(await seen(session)).toEqual(await published(rath));
    }),
    { numRuns: 40 },
  );
});
