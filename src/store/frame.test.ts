import { hash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nodePlatform } from "../runtime/platform.ts";
import { envelopeOf } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import { storedChain } from "../testing/stored-event.ts";
import { decodeFrame, encodeFrame, frameEnd, frameIdPrefixes, frameNumbers, idPrefix, sealFrame } from "./frame.ts";
import type { StoredEvent } from "./store.ts";

const session = "0192f0aa-7777-7000-8000-000000000001";
const run = "0192f0aa-7777-7000-8000-000000000002";
const place = { session, run, seq: 17 };

const hex = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const hostileText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom('","kind":"', '}],"session":"', '{"at":"', "\\", '"', "é", "{}", "", '"},"kind":"x","parents":["'),
);
const plainTime = fc.date({ noInvalidDate: true, min: new Date(-1e12), max: new Date(5e12) }).map((date) => date.toISOString());
const hostileTime = fc.constantFrom(
  "2026-02-30T00:00:00.000Z",
  "2026-01-01T24:00:00.000Z",
  "2026-01-01T00:00:00Z",
  "+010000-01-01T00:00:00.000Z",
  "1970-01-01T00:00:00.1e2Z",
  "1970-01-01T00:00:00. 12Z",
  "",
);
const number = fc.oneof(fc.nat(300), fc.nat(2 ** 31), fc.constantFrom(2 ** 32, 2 ** 47));

/** Envelopes mostly on the template; each field is hostile now and then. `chain` is a marker for the event before. */
const chain = "c".repeat(64);
const mostly = <T, U>(plain: fc.Arbitrary<T>, hostile: fc.Arbitrary<U>): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: 12, arbitrary: plain }, { weight: 1, arbitrary: hostile });
const envelope = fc
  .record({
    at: mostly(plainTime, hostileTime),
    by: mostly(fc.constantFrom("fix/coder", "runtime"), hostileText),
    data: mostly(hex, fc.constantFrom("AB".repeat(32), "ab")),
    facts: mostly(fc.constantFrom({}, { ms: 3, outcome: "ok" }), fc.dictionary(hostileText, hostileText)),
    kind: mostly(fc.constantFrom("tool.called", "tool.returned", "note.added"), hostileText),
    parents: mostly(
      fc.array(fc.oneof(hex, fc.constant(chain)), { maxLength: 3 }),
      fc.array(fc.constantFrom("ab", "F".repeat(64), `${"a".repeat(63)},`), { maxLength: 2 }),
    ),
    session: mostly(fc.constant(session), hostileText),
    step: mostly(fc.constant("step"), fc.oneof(number, fc.constant(1.5))),
    version: mostly(fc.nat(3), fc.constantFrom(2 ** 40, -1, 0.5)),
  })
  .map((fields) => JSON.stringify(fields));
const damage = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  text: fc.constantFrom("", " ", '"', ",", "0", "\n", "é"),
  cut: fc.nat(2),
});

const draft = fc.record({
  id: hex,
  step: number,
  order: fc.oneof(
    number,
    number.map((value) => 0 - value),
  ),
  text: fc.oneof(
    { weight: 5, arbitrary: envelope },
    {
      weight: 2,
      arbitrary: fc
        .tuple(envelope, damage)
        .map(([text, { at, text: added, cut }]) => text.slice(0, at * text.length) + added + text.slice(at * text.length + cut)),
    },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  ),
  bytes: fc.option(fc.uint8Array({ maxLength: 40 }), { nil: undefined }),
  raw: mostly(fc.constant(undefined), fc.uint8Array({ maxLength: 60 })),
});

function eventsOf(drafts: readonly (typeof draft extends fc.Arbitrary<infer T> ? T : never)[], after: string | undefined): StoredEvent[] {
  let previous = after ?? "0".repeat(64);
  return drafts.map(({ id, step, order, text, bytes, raw }) => {
    const envelope = raw ?? Uint8Array.from(Buffer.from(text.replaceAll(chain, previous).replace('"step":"step"', `"step":${step}`)));
    previous = id;
    return { id, session, step, run, order, envelope, data: bytes };
  });
}

const bare = (events: readonly StoredEvent[]) =>
  events.map(({ parts: _, ...event }) => ({
    ...event,
    envelope: Buffer.from(event.envelope).toString("hex"),
    data: event.data && Buffer.from(event.data).toString("hex"),
  }));

/** What an envelope says, or why it says nothing. */
function said(event: Pick<StoredEvent, "envelope" | "parts">): unknown {
  try {
    return envelopeOf(nodePlatform, event);
  } catch (error) {
    return RathError.is(error) ? [error.code, error.message] : error;
  }
}

describe("frame", () => {
  test("decode(encode(x)) = x for any envelope", () => {
    let onTemplate = 0;
    fc.assert(
      fc.property(fc.array(draft, { minLength: 1, maxLength: 6 }), fc.option(hex, { nil: undefined }), (drafts, after) => {
        const events = eventsOf(drafts, after);
        const body = sealFrame(encodeFrame(events, after), place);
        expect(bare(decodeFrame(Uint8Array.from(body), place, after))).toEqual(bare(events));
        expect(frameEnd(body, place)).toEqual({ count: events.length, head: events.at(-1)?.id });
        expect(frameIdPrefixes(body, place)).toEqual(events.map(({ id }) => idPrefix(id)));
        const numbers = events.map(({ step, order }) => ({ step, order }));
        expect(frameNumbers(body, place)).toEqual({ count: events.length, first: numbers[0], last: numbers.at(-1) });
        onTemplate += events.filter(
          (event) => encodeFrame([event], undefined).length < event.envelope.length + (event.data?.length ?? 0),
        ).length;
      }),
      { numRuns: 1500 },
    );
    // The law is cheap if everything is kept verbatim: make sure that the short form was tried as well.
    expect(onTemplate).toBeGreaterThan(500);
  });

  test("where an event comes in parts, they say what its envelope says", () => {
    let inParts = 0;
    fc.assert(
      fc.property(fc.array(draft, { minLength: 1, maxLength: 6 }), fc.option(hex, { nil: undefined }), (drafts, after) => {
        const events = decodeFrame(sealFrame(encodeFrame(eventsOf(drafts, after), after), place), place, after);
        for (const event of events) {
          expect(said(event)).toEqual(said({ envelope: event.envelope }));
          if (event.parts !== undefined) inParts++;
        }
      }),
      { numRuns: 1500 },
    );
    expect(inParts).toBeGreaterThan(200);
  });

  test("a flipped byte, a missing byte or another place is an error", () => {
    const events = storedChain([{ data: "{}" }, { data: '{"a":1}', facts: { ms: 1 } }], session);
    const body = sealFrame(encodeFrame(events, undefined), place);
    for (let i = 0; i < body.length; i++) {
      const flipped = Buffer.from(body);
      flipped[i] = (flipped[i] as number) ^ (1 << (i % 8));
      expect(() => decodeFrame(flipped, place, undefined)).toThrow();
      expect(() => decodeFrame(body.subarray(0, i), place, undefined)).toThrow();
    }
    for (const elsewhere of [
      { ...place, seq: 18 },
      { ...place, session: "other" },
      { ...place, run: undefined },
    ])
      expect(() => decodeFrame(body, elsewhere, undefined)).toThrow("checksum");
  });

  test("lengths that do not add up are an error even under a right checksum", () => {
    const body = encodeFrame(storedChain([{}, {}], session), undefined);
    for (let i = 4; i < 9; i++) {
      for (const value of [0, 1, 3, 127]) {
        const wrong = Buffer.from(body);
        if (wrong[i] === value) continue;
        wrong[i] = value;
        expect(() => decodeFrame(sealFrame(wrong, place), place, undefined)).toThrow();
      }
    }
    expect(() => decodeFrame(sealFrame(Buffer.concat([body, Buffer.from("x")]), place), place, undefined)).toThrow("add up");
  });

  test("a tool round of four events takes at most 2000 bytes", () => {
    const data = (length: number) => JSON.stringify({ text: "x".repeat(length - 11) });
    const at = (ms: number) => `2026-11-15T12:00:00.${ms}Z`;
    const before = hash("sha256", "before");
    const drafts = [
      { kind: "model.called", data: data(150), at: at(100), order: 1001 },
      { kind: "model.returned", data: data(150), at: at(140), order: 1002, facts: { attempts: 1, ms: 40, outcome: "ok", usage: 1234 } },
      { kind: "tool.called", data: data(150), at: at(141), order: 1003 },
      { kind: "tool.returned", data: data(1000), at: at(190), order: 1004, facts: { attempts: 1, ms: 49, outcome: "ok" } },
    ];
    const events = storedChain(
      drafts.map((draft) => ({ ...draft, by: "fix/coder", run })),
      session,
      { id: before, step: 4000 },
    );
    expect(encodeFrame(events, before).length).toBeLessThanOrEqual(2000);
  });

  test("an id that is no hash, or a step that is no integer, is refused", () => {
    const [event] = storedChain([{}], session) as [StoredEvent];
    for (const wrong of [{ id: event.id.toUpperCase() }, { id: "ab" }, { step: 1.5 }, { step: -1 }, { order: Number.NaN }]) {
      expect(() => encodeFrame([{ ...event, ...wrong }], undefined)).toThrow(expect.objectContaining({ code: "event.invalid" }));
    }
  });
});
