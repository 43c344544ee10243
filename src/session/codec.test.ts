/** Laws of events in bytes: an id is the hash of canonical bytes, the data digest is salted, and readers know what they cannot read. */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nodePlatform } from "../runtime/platform.ts";
import { dataText, type Envelope, envelopeText, facts, parseEnvelope, seal, type Upcasters, upcast } from "./codec.ts";
import { RathError } from "./errors.ts";
import { type EventKind, versions } from "./event.ts";
import { encode } from "./json.ts";
import { type Platform, saltBytes } from "./platform.ts";

const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

/** A platform whose salt is known. */
function salting(salt: Uint8Array): Platform {
  return { ...nodePlatform, salted: (text) => Buffer.concat([salt, Buffer.from(text)]) };
}

const id = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const count = fc.nat();
const someFacts = fc
  .record(
    {
      attempts: fc.integer({ min: 1, max: 9 }),
      call: id,
      closed: fc.constant(true as const),
      counted: fc.integer({ min: 1, max: 9 }),
      ms: fc.double({ min: 0, max: 1e9, noNaN: true }),
      outcome: fc.constantFrom("ok" as const, "error" as const, "unknown" as const),
      redacted: fc.integer({ min: 0, max: 3 }),
      source: id,
      started: fc.constant(true as const),
      usage: fc.record({
        usd: fc.double({ min: 0, max: 9, noNaN: true }),
        reasoning: count,
        output: count,
        input: count,
        cached: count,
        cacheWrite: count,
      }),
    },
    { requiredKeys: [] },
  )
  .map(facts);
const fields: fc.Arbitrary<Omit<Envelope, "data">> = fc.record({
  at: fc.date({ min: new Date(0), max: new Date("9999-01-01"), noInvalidDate: true }).map((date) => date.toISOString()),
  by: fc.string({ unit: "grapheme" }),
  facts: someFacts,
  kind: fc.constantFrom(...(Object.keys(versions) as EventKind[])),
  parents: fc.array(id, { maxLength: 3 }),
  session: fc.uuid(),
  step: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  version: fc.constant(1),
});
const content = fc.jsonValue().map((value) => encode({ value }, nodePlatform, () => undefined).text);
const salt = fc.uint8Array({ minLength: saltBytes, maxLength: saltBytes });

describe("an id", () => {
  test("is the SHA-256 of the canonical envelope, which holds the SHA-256 of salt and data", () => {
    fc.assert(
      fc.property(fields, content, salt, (given, text, bytes) => {
        const sealed = seal(salting(bytes), given, text);
        expect(sealed.digest).toBe(sha256(Buffer.concat([bytes, Buffer.from(text)])));
        expect(sealed.envelope).toBe(canonicalize({ ...given, data: sealed.digest }));
        expect(sealed.id).toBe(sha256(sealed.envelope));
        expect(dataText(nodePlatform, sealed.data)).toBe(text);
      }),
    );
  });

  test("changes with every part of the event", () => {
    const given: Omit<Envelope, "data"> = {
      at: "2026-01-01T00:00:00.000Z",
      by: "a",
      facts: {},
      kind: "note.added",
      parents: ["0".repeat(64)],
      session: "s",
      step: 2,
      version: 1,
    };
    const platform = salting(new Uint8Array(saltBytes));
    const idOf = (change: Partial<Envelope>, text = "{}"): string => seal(platform, { ...given, ...change }, text).id;
    const ids = [
      idOf({}),
      idOf({}, '{"text":"x"}'),
      idOf({ at: "2026-01-01T00:00:00.001Z" }),
      idOf({ by: "b" }),
      idOf({ facts: { started: true } }),
      idOf({ kind: "message.added" }),
      idOf({ parents: ["1".repeat(64)] }),
      idOf({ parents: ["0".repeat(64), "1".repeat(64)] }),
      idOf({ session: "t" }),
      idOf({ step: 3 }),
      idOf({ version: 2 }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(idOf({})).toBe(ids[0]);
  });

  test("differs for equal content under another salt", () => {
    fc.assert(
      fc.property(fields, content, salt, salt, (given, text, a, b) => {
        const [one, other] = [seal(salting(a), given, text), seal(salting(b), given, text)];
        expect(one.id === other.id).toBe(Buffer.from(a).equals(b));
        expect(one.digest === other.digest).toBe(Buffer.from(a).equals(b));
      }),
    );
  });

  test("never comes twice from the machine's own salt", () => {
    const given = fc.sample(fields, 1)[0] as Omit<Envelope, "data">;
    const ids = Array.from({ length: 2000 }, () => seal(nodePlatform, given, "{}").id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("an envelope", () => {
  test("is read as it was written", () => {
    fc.assert(
      fc.property(fields, id, (given, digest) => {
        expect(parseEnvelope(envelopeText(given, digest))).toStrictEqual({ ...given, data: digest });
      }),
    );
  });

  test("of an unknown kind is refused by name", () => {
    for (const kind of ["tool.dreamt", "toString", "constructor", "__proto__", ""]) {
      const text = JSON.stringify({ ...fc.sample(fields, 1)[0], data: "0".repeat(64) }).replace(
        /"kind":"[^"]*"/,
        `"kind":${JSON.stringify(kind)}`,
      );
      expect(
        refusal(() => parseEnvelope(text)),
        kind,
      ).toMatchObject({ code: "event.unknown-kind", details: { kind } });
    }
  });

  test("of a newer version is refused, naming what can be read", () => {
    for (const kind of Object.keys(versions) as EventKind[]) {
      const newer = versions[kind] + 1;
      const text = envelopeText({ ...(fc.sample(fields, 1)[0] as Envelope), kind, version: newer }, "0".repeat(64));
      expect(refusal(() => parseEnvelope(text))).toMatchObject({
        code: "event.newer-version",
        details: { kind, version: newer, known: versions[kind] },
      });
    }
  });

  test("that is no JSON object is refused", () => {
    for (const text of ["", "{", "null", "5", "[]", '"text"']) expect(RathError.is(refusal(() => parseEnvelope(text))), text).toBe(true);
  });
});

describe("upcasting", () => {
  /** A made-up history of one kind: each version adds a field that says it was there, and renames the one before. */
  const newest = 5;
  const steps = Object.fromEntries(
    Array.from({ length: newest - 1 }, (_, index) => [index + 1, (data: unknown) => ({ of: data, since: index + 2 })]),
  );
  const table: Upcasters = { "note.added": steps };
  const up = (version: number, data: unknown, to = newest): unknown => upcast("note.added", version, data, table, to);
  const version = fc.integer({ min: 1, max: newest });

  test("twice is once", () => {
    fc.assert(
      fc.property(version, fc.jsonValue(), (from, data) => {
        const once = up(from, data);
        expect(up(newest, once)).toStrictEqual(once);
      }),
    );
    // The mutant that does not look at the version upcasts what is new already.
    const mutant = (data: unknown): unknown => Object.values(steps).reduce((current, step) => step(current), data);
    expect(mutant(mutant("x"))).not.toStrictEqual(mutant("x"));
  });

  test("goes through any version on the way", () => {
    fc.assert(
      fc.property(version, version, fc.jsonValue(), (a, b, data) => {
        const [from, via] = [Math.min(a, b), Math.max(a, b)];
        expect(up(via, up(from, data, via))).toStrictEqual(up(from, data));
      }),
    );
  });

  test("refuses a version there is no way from", () => {
    expect(refusal(() => upcast("note.added", 1, {}, { "note.added": { 2: (data) => data } }, 3))).toMatchObject({
      code: "event.invalid",
      details: { kind: "note.added", version: 1 },
    });
  });

  test("leaves every kind that this version writes as it is", () => {
    for (const kind of Object.keys(versions) as EventKind[]) expect(upcast(kind, versions[kind], { a: 1 })).toStrictEqual({ a: 1 });
  });
});

function refusal(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was refused");
}
