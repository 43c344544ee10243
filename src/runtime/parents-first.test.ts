/** Whoever follows the feed is given an event after its parents, also where one commit brings several logs that stand on each other. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { write } from "../audit/audit.ts";
import { parseEnvelope } from "../session/codec.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { piecesOf } from "./parents-first.ts";
import { runtimeOf } from "./replay.ts";

/** An event of a history: the log it is in, and which events before it it stands on beside the one before it there. */
const history = fc.array(fc.record({ log: fc.nat(4), on: fc.array(fc.nat(1000), { maxLength: 2 }) }), { maxLength: 40 });

describe("pieces of logs", () => {
  test("have parents first, everything once, and each log in its order", () => {
    fc.assert(
      fc.property(history, (given) => {
        const events = given.map(({ log, on }, id) => ({
          id,
          log,
          parents:
            id === 0 ? [] : [...on.map((one) => one % id), ...given.slice(0, id).flatMap((one, at) => (one.log === log ? [at] : []))],
        }));
        const pieces = piecesOf(events, (event) => event);
        const order = pieces.flatMap((piece) => piece.events.map(({ id }) => id));
        const place = new Map(order.map((id, at) => [id, at]));
        expect([...order].sort((a, b) => a - b)).toEqual(events.map(({ id }) => id));
        for (const { id, parents } of events) for (const parent of parents) expect(place.get(parent)).toBeLessThan(place.get(id) as number);
        for (const piece of pieces) for (const { log } of piece.events) expect(log).toBe(piece.log);
      }),
    );
  });

  test("are as many as logs where none stands on another that stands on it", () => {
    const events = [0, 1, 0, 1, 2, 0].map((log, id) => ({ id, log, parents: id === 4 ? [3] : [] }));
    expect(piecesOf(events, (event) => event).map(({ log, events: { length } }) => [log, length])).toEqual([
      [0, 3],
      [1, 2],
      [2, 1],
    ]);
  });
});

async function late(store: Store): Promise<readonly string[]> {
  const [seen, found] = [new Set<string>(), [] as string[]];
  for await (const { events } of store.feed({}))
    for (const { id, envelope } of events) {
      const { parents, kind } = parseEnvelope(new TextDecoder().decode(envelope));
      if (parents.some((parent) => !seen.has(parent))) found.push(`${kind} ${id}`);
      seen.add(id);
    }
  return found;
}

describe("the feed", () => {
  const woven = async (session: Session): Promise<Session> => {
    let line = session.say("begin");
    for (let i = 0; i < 3; i++) {
      const left = line.fork("left").say("l");
      const right = line.fork("right").say("r");
      line = (await (await line.merge(left)).merge(right)).say(`after ${i}`);
    }
    return line;
  };

  test("has parents first of what one commit brings, and of what is imported", async () => {
    await using rath = testRath({ implicitForks: "allow" });
    const saved = await woven(rath.session("woven"));
    await rath.save(saved);
    const store = await runtimeOf(saved).store();
    expect(await late(store)).toEqual([]);
    const folder = await mkdtemp(join(tmpdir(), "openrath-woven-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await write(saved, join(folder, "woven.jsonl"));
    await using elsewhere = testRath();
    const imported = await elsewhere.import(join(folder, "woven.jsonl"));
    expect(imported.head).toBe(saved.head);
    expect(await late(await runtimeOf(imported).store())).toEqual([]);
  });
});
