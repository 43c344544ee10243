import { hash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Envelope, envelopeText, facts } from "../session/codec.ts";
import { envelopeSchema } from "../session/schema.ts";
import { readCanonical } from "./canonical.ts";
import { envelopeReader } from "./envelope.ts";
import type { Flaw } from "./problem.ts";

const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 64, maxLength: 64 });
const envelope = fc.record({
  at: fc.date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true }).map((date) => date.toISOString()),
  by: fc.oneof(fc.constant("agent/inner"), fc.string({ unit: "grapheme" })),
  facts: fc.oneof(
    fc.constant(facts({})),
    fc.record({ ms: fc.nat(), outcome: fc.constant("ok" as const), call: hex }).map((given) => facts(given as never)),
    fc.nat().map((input) => facts({ usage: { cacheWrite: 0, cached: 0, input, output: 1, reasoning: 0, usd: 0.25 } })),
  ),
  kind: fc.constantFrom("do.called", "do.returned", "message.added", "future.happened"),
  parents: fc.array(hex, { maxLength: 3 }),
  session: fc.oneof(fc.uuid(), fc.string({ unit: "grapheme-ascii" })),
  step: fc.integer({ min: 1, max: 1e9 }),
  version: fc.integer({ min: 1, max: 3 }),
});

/** What the schema and the canonical text alone say. */
function plainly(bytes: Uint8Array): Envelope | undefined {
  const read = readCanonical(bytes);
  return "value" in read && envelopeSchema.safeParse(read.value).success ? (read.value as Envelope) : undefined;
}

describe("reading envelopes by a match", () => {
  const read = envelopeReader({ envelope: envelopeSchema, facts: envelopeSchema.shape.facts });
  const reading = (bytes: Uint8Array, place: { session: string; step: number }, data?: string): Envelope | undefined => {
    const flaws: Flaw[] = [];
    const hashes = { envelope: hash("sha256", bytes), data };
    const found = read({ id: hashes.envelope, ...place, run: undefined, order: 0, envelope: bytes, data: undefined }, hashes, flaws);
    expect(flaws.length).toBe(found === undefined ? 1 : 0);
    return found;
  };

  it("gives what parsing gives, for all that the codec writes and for whatever it is changed into", () => {
    fc.assert(
      fc.property(envelope, hex, fc.nat(), fc.nat(255), fc.boolean(), (fields, digest, at, byte, change) => {
        const bytes = Buffer.from(envelopeText(fields as never, digest));
        if (change) bytes[at % bytes.length] = byte;
        expect(reading(bytes, fields)).toEqual(plainly(bytes));
      }),
      { numRuns: 2000 },
    );
  });

  it("gives the same after any neighbour, which may be its parent and agree with it in anything", () => {
    fc.assert(
      fc.property(envelope, envelope, hex, hex, fc.nat(), fc.nat(255), fc.boolean(), (first, fields, digest, data, at, byte, change) => {
        const before = Buffer.from(envelopeText(first as never, digest));
        reading(before, first, digest);
        const next = { ...fields, by: at % 3 === 0 ? first.by : fields.by, session: at % 2 === 0 ? first.session : fields.session };
        const parents = [hash("sha256", before), ...fields.parents.slice(1)];
        const bytes = Buffer.from(envelopeText({ ...next, parents } as never, data));
        if (change) bytes[at % bytes.length] = byte;
        expect(reading(bytes, next, data)).toEqual(plainly(bytes));
      }),
      { numRuns: 1000 },
    );
  });

  it("is not taken in by texts that only look like it", () => {
    const good = envelopeText(
      {
        at: "2026-01-01T00:00:00.000Z",
        by: "x",
        facts: {},
        kind: "do.called",
        parents: ["a".repeat(64)] as never,
        session: "s" as never,
        step: 1,
        version: 1,
      },
      "b".repeat(64),
    );
    for (const bad of [
      good.replace('"facts":{}', '"facts":{"ms":1,"attempts":1}'),
      good.replace('"facts":{}', '"facts":{"ms":1},"facts":{}'),
      good.replace('"facts":{}', '"facts":{"ms":01}'),
      good.replace(`["${"a".repeat(64)}"]`, `["${"a".repeat(30)}","${"a".repeat(31)}"]`),
      good.replace(`["${"a".repeat(64)}"]`, `["${"a".repeat(64)}",]`),
      good.replace(`["${"a".repeat(64)}"]`, `["${"a".repeat(64)}","${"c".repeat(64)}",]`),
      good.replace(`["${"a".repeat(64)}"]`, `["${"a".repeat(64)}";"${"c".repeat(64)}"]`),
      good.replace("b".repeat(64), "b".repeat(63)),
      good.replace('"step":1', '"step":1.0'),
      `${good} `,
    ]) {
      expect(reading(Buffer.from(bad), { session: "s", step: 1 }), bad).toBeUndefined();
      expect(plainly(Buffer.from(bad)), bad).toBeUndefined();
    }
    expect(reading(Buffer.from(good), { session: "s", step: 1 })).toEqual(plainly(Buffer.from(good)));
    // Whatever place it is read at: it says what it says.
    for (const place of [
      { session: "t", step: 1 },
      { session: "s", step: 2 },
    ])
      expect(reading(Buffer.from(good), place)).toEqual(plainly(Buffer.from(good)));
    for (const [session, step] of [
      ["s", 1.5],
      ["s", 0],
      ["", 1],
      ['s","x":"', 1],
    ] as const) {
      const odd = Buffer.from(good.replace('"s"', `"${session}"`).replace('"step":1', `"step":${step}`));
      expect(reading(odd, { session, step }), String(odd)).toBeUndefined();
    }
  });
});

describe("canonical JSON", () => {
  it("is judged as the canonical text says, whatever the value and whatever became of its text", async () => {
    const { default: canonicalize } = await import("canonicalize");
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), fc.constantFrom("", " ", "0", "$", "\\ud800", '"10":1,"9":2'), (value, at, extra) => {
        const text = canonicalize(value) as string;
        const place = at % (text.length + 1);
        const bytes = Buffer.from(text.slice(0, place) + extra + text.slice(place));
        const read = readCanonical(bytes);
        let canonical = false;
        try {
          canonical = canonicalize(JSON.parse(bytes.toString())) === bytes.toString();
        } catch {}
        expect("value" in read).toBe(canonical);
        if ("value" in read) expect(canonicalize(read.value)).toBe(bytes.toString());
      }),
      { numRuns: 2000 },
    );
  });
});
