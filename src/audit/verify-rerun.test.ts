/** Records of reruns whose results people answered: intact as they are, and found when an answer is not that of the source. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Flow } from "../../test/support/flow.ts";
import { dataOf, envelopeOf, Forgery } from "../../test/support/forgery.ts";
import { composeRath } from "../openrath.ts";
import { rerun } from "../runtime/rerun.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import { tool } from "../tool/tool.ts";
import { write } from "./audit.ts";
import { verify } from "./verify.ts";

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: z.object({ amount: z.int() }),
  needsApproval: true,
  run: ({ amount }) => `paid ${amount}`,
});
const flow = new Flow(async (session) => {
  const asked = await (await session.ask("Publish?")).ask("To everybody?");
  return (await asked.call(pay, { amount: 1 })).do("publish", () => "published");
});

/** A run that people answered, done again without them, and again from that. */
async function answered(store: Store): Promise<readonly Session[]> {
  const rath = composeRath({ store }, {});
  // Written before the run, so that nothing but the source leads to it.
  const input = await rath.save(rath.session("go"));
  const run = await rath.run(flow, input);
  for (let at = await run.settle(); at.status === "waiting"; at = await run.settle())
    for (const { id, kind } of at.pending)
      await rath.decide(id, kind === "question" ? { by: "p", answer: "yes" } : { by: "p", approve: true });
  const first = await run.result();
  const again = await rerun(first, flow);
  const third = await rerun(again.session, flow);
  expect([again.reused, third.reused, third.split]).toEqual([4, 4, undefined]);
  return [first, again.session, third.session];
}

/** What is found in a store that a forger filled. */
async function foundIn(forgery: Forgery, id: string): Promise<readonly string[]> {
  const store = memoryStore();
  await forgery.into(store);
  await using rath = composeRath({ store }, {});
  return (await verify(await rath.open(id))).problems.map(({ field, problem }) => `${field}: ${problem}`);
}

const notTheAnswer = /data\.answer: it names [0-9a-f]{64} as its answer, which is not the answer to its question/;
const answerOf = (event: StoredEvent) => /"answer":"([0-9a-f]{64})"/.exec(dataOf(event))?.[1] as string;
const takenFrom = (event: StoredEvent, source: string) => ({ facts: { ...envelopeOf(event).facts, source: source as never } });
const sourceOf = (event: StoredEvent) => envelopeOf(event).facts.source;

describe("a rerun of what people answered", () => {
  // Mutant: an answer must be that to the result's own call, which nobody was asked about.
  test("is intact, with the run it was taken from", async () => {
    const sessions = await answered(memoryStore());
    for (const session of sessions) expect(await verify(session)).toMatchObject({ ok: true, problems: [] });
  });

  // Mutant: a bundle has the answers and not what was answered.
  test("is intact where a bundle of it was imported", async () => {
    const folder = await mkdtemp(join(tmpdir(), "rath-rerun-"));
    try {
      const [, , third] = await answered(memoryStore());
      const path = join(folder, "third.rath");
      await write(third as Session, path);
      await using rath = composeRath({ store: memoryStore() }, {});
      expect((await verify(await rath.import(path))).problems).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  // Mutants: an erased source names no answer, so none fits; what an erased source was answered may be anything.
  test("is intact when its source was erased, where another answer is still found", async () => {
    const store = memoryStore();
    const [first, again, third] = (await answered(store)) as readonly [Session, Session, Session];
    await using rath = composeRath({ store }, {});
    const asked = (session: Session) => [...session.events()].filter(({ kind }) => kind === "ask.returned").map(({ id }) => id);
    await rath.erase({ events: asked(first) }, { by: "human:ada", reason: "asked to" });
    for (const { id } of [first, again, third]) expect((await verify(await rath.open(id))).problems).toEqual([]);
    const forgery = await Forgery.of(store);
    const [one, other] = forgery.ofKind("ask.returned").filter(({ session }) => session === again.id) as [StoredEvent, StoredEvent];
    forgery.rewrite(one, {}, dataOf(one).replace(answerOf(one), answerOf(other)));
    expect((await foundIn(forgery, again.id)).join("\n")).toMatch(notTheAnswer);
    await rath.erase({ events: asked(again) }, { by: "human:ada", reason: "asked to" });
    for (const { id } of [first, again, third]) expect((await verify(await rath.open(id))).problems).toEqual([]);
  });

  type Two = readonly [StoredEvent, StoredEvent];
  const forged: readonly [string, (forgery: Forgery, reused: Two, sources: Two) => void, RegExp][] = [
    [
      // Mutant: where there is a source, any answer is one.
      "the answer to another question",
      (forgery, [one, other]) => forgery.rewrite(one, {}, dataOf(one).replace(answerOf(one), answerOf(other))),
      notTheAnswer,
    ],
    [
      // Mutant: a source need not be there.
      "a source that there is not",
      (forgery, [one]) => forgery.rewrite(one, takenFrom(one, "0".repeat(64))),
      /envelope\.facts\.source: the result it was taken from, which was answered, is missing/,
    ],
    [
      // Mutant: any answered result passes as a source.
      "another source",
      (forgery, [one], [, other]) => forgery.rewrite(one, takenFrom(one, other.id)),
      notTheAnswer,
    ],
    [
      // Mutant: a source need only name the same answer, and what was approved is what somebody said.
      "a source of another kind and its answer",
      (forgery, [one]) => {
        const approved = forgery.ofKind("tool.returned").find((event) => sourceOf(event) === undefined) as StoredEvent;
        forgery.rewrite(one, takenFrom(one, approved.id), dataOf(one).replace(answerOf(one), answerOf(approved)));
      },
      notTheAnswer,
    ],
  ];
  test.each(forged)("with %s is found", async (_, forge, found) => {
    const store = memoryStore();
    const [, again] = (await answered(store)) as readonly [Session, Session];
    const forgery = await Forgery.of(store);
    const results = forgery.ofKind("ask.returned");
    const reused = results.filter(({ session }) => session === again.id);
    expect(reused).toHaveLength(2);
    forge(forgery, reused as never, results.filter((event) => sourceOf(event) === undefined) as never);
    expect((await foundIn(forgery, again.id)).join("\n")).toMatch(found);
  });
});
