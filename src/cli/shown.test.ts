import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { neutral } from "../wire/neutral.ts";
import { clip, json, show, widthOf } from "./shown.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: what must never reach a terminal
const acts = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const anything = fc.string({ unit: "binary", maxLength: 40 });

describe("what is printed", () => {
  test("holds nothing that acts on a terminal, whatever was put into it", () => {
    fc.assert(
      fc.property(anything, (text) => {
        expect(show`said: ${text}`.text).not.toMatch(acts);
        expect(clip(text, 20)).not.toMatch(acts);
        expect(json({ [text]: [text] }).text).not.toMatch(acts);
      }),
    );
  });

  test("JSON stays the same value", () => {
    fc.assert(
      fc.property(anything, (text) => {
        expect(JSON.parse(json({ text }).text)).toEqual({ text });
      }),
    );
  });

  test("shows control characters instead of obeying them, and keeps lines", () => {
    expect(neutral("a\u001b[31mb\u009bc\u202ed\r\ne\tf\rg")).toBe("a\\x1b[31mb\\x9bc\\u202ed\ne\tf\\x0dg");
  });

  test("says in words what JSON cannot", () => {
    expect(json({ bytes: new Uint8Array([1, 2]), endless: Number.POSITIVE_INFINITY, big: 10n }).text).toBe(
      '{"bytes":{"$":"bytes","base64":"AQI="},"endless":{"$":"number","text":"Infinity"},"big":"10"}',
    );
    expect(json(undefined).text).toBe("null");
  });
});

describe("width", () => {
  test.each([
    ["plain", 5],
    ["日本", 4],
    ["😀", 2],
    ["e\u0301", 1],
    ["→ …", 3],
    ["👩‍👩‍👧", 2],
  ])("of %j is %i", (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  test("is never more than asked for after clipping", () => {
    fc.assert(
      fc.property(anything, fc.integer({ min: 1, max: 30 }), (text, columns) => {
        expect(widthOf(clip(text, columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });

  test("is kept by what is put together", () => {
    expect(show`${"日本"} and ${show`${12} more`}`.width).toBe(4 + 5 + 7);
  });
});
