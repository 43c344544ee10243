import { describe, expect, test } from "vitest";
import type { VerificationResource } from "../../../../src/client/client.ts";
import { checklistOf, commandOf, signedText, verdictOf } from "./checklist.ts";

const clean: VerificationResource = {
  ok: true,
  problems: [],
  unknownKeys: [],
  events: 244,
  unsigned: 1,
  erased: 0,
  erasures: [],
  checked: { events: 244, blobs: 9, trees: 6, files: 6, runs: 2, statements: 7, answers: 5, replayed: 0 },
  unchecked: [
    { part: "signatures", count: 1, why: "events that no signed statement covers" },
    { part: "anchor", count: 1, why: "no anchor was given" },
  ],
  replays: [],
};
const problem = (kind: string, text = "it is wrong") => ({ kind, event: "e", problem: text, means: "m", next: "n" });
const results = (found: VerificationResource, asked = { anchored: false, replayed: false }): Record<string, string> =>
  Object.fromEntries(checklistOf(found, asked).map(({ name, result }) => [name, result]));

describe("the checklist", () => {
  test("of a clean record leaves open what was not asked for", () => {
    expect(results(clean)).toEqual({ chain: "ok", contents: "ok", order: "ok", signatures: "ok", anchor: "open", replay: "open" });
    expect(results(clean, { anchored: true, replayed: true })).toMatchObject({ anchor: "ok", replay: "ok" });
    expect(checklistOf(clean, { anchored: false, replayed: false }).map(({ left }) => left.length)).toEqual([0, 0, 0, 1, 1, 0]);
  });

  test("puts every problem in exactly one place", () => {
    const kinds = [
      "changed",
      "missing",
      "moved",
      "order",
      "signature",
      "malformed",
      "newer",
      "listed",
      "unreadable",
      "cut-back",
      "anchor",
      "unfinished",
      "unwritten",
      "diverged",
      "of another day",
    ];
    const found = { ...clean, ok: false, problems: kinds.map((kind) => problem(kind)) };
    const all = checklistOf(found, { anchored: true, replayed: true }).flatMap(({ problems }) => problems.map(({ kind }) => kind));
    expect(all.sort()).toEqual([...kinds].sort());
  });

  test("tells a changed event from a changed content", () => {
    expect(results({ ...clean, problems: [problem("changed", "its data was changed")] })).toMatchObject({ chain: "bad", contents: "ok" });
    expect(results({ ...clean, problems: [problem("changed", "blob abc was changed")] })).toMatchObject({ chain: "ok", contents: "bad" });
  });

  test("does not call signatures of unknown keys good", () => {
    const found = { ...clean, ok: false, unknownKeys: ["k"], unsigned: 244, checked: { ...clean.checked, statements: 0 } };
    const signatures = checklistOf(found, { anchored: false, replayed: false }).find(({ name }) => name === "signatures");
    expect(signatures).toMatchObject({
      result: "open",
      said: "244 without a signature of a key that is known here",
      // They may be signed: nothing says that they came after the newest statement.
      left: [],
    });
    expect([signedText(found), signedText(clean), signedText({ ...clean, unsigned: 0 })]).toEqual([
      signatures?.said,
      "1 not signed yet",
      "all signed",
    ]);
  });
});

test("the verdict says what is wrong, or what is missing for a proof", () => {
  expect(verdictOf(clean)).toBe("intact");
  expect(verdictOf({ ...clean, ok: false, unknownKeys: ["k"] })).toBe("not proven");
  expect(verdictOf({ ...clean, ok: false, problems: [problem("diverged")] })).toBe("does not replay");
  expect(verdictOf({ ...clean, ok: false, problems: [problem("diverged"), problem("changed")] })).toBe("not intact");
});

test("the command does the same, whatever the file is called", () => {
  expect(commandOf("0192f3a4", { replay: false, keys: [] })).toBe("openrath verify 0192f3a4");
  expect(commandOf("0192f3a4", { anchor: "it's here.jsonl", replay: true, keys: ["abc"] })).toBe(
    "openrath verify 0192f3a4 --anchor 'it'\\''s here.jsonl' --key abc --replay",
  );
});
