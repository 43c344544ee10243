import { expect, test } from "vitest";
import { type Piece, wordChanges } from "./word-changes.ts";

const shown = (pieces: readonly Piece[]): string =>
  pieces.map(({ kind, text }) => (kind === "same" ? text : kind === "removed" ? `[-${text}-]` : `{+${text}+}`)).join("");

test("words that were changed are told apart from those that stayed", () => {
  expect(shown(wordChanges("Slugs keep accents here.", "Slugs drop accents now."))).toBe(
    "Slugs [-keep-]{+drop+} accents [-here.-]{+now.+}",
  );
  expect(shown(wordChanges("a b", "a b"))).toBe("a b");
  expect(shown(wordChanges("", "new"))).toBe("{+new+}");
  expect(shown(wordChanges("gone", ""))).toBe("[-gone-]");
  expect(wordChanges("", "")).toEqual([]);
});

test("both texts can be put together again from what is shown", () => {
  const texts = ["one two  three", "two three four", "three\nfour one", "", "one one one"];
  for (const a of texts)
    for (const b of texts) {
      const pieces = wordChanges(a, b);
      const without = (kind: string): string => pieces.flatMap((piece) => (piece.kind === kind ? [] : [piece.text])).join("");
      expect([without("added"), without("removed")]).toEqual([a, b]);
    }
});

test("of texts that are too long it is only said that they differ", () => {
  const [a, b] = ["x ", "y "].map((one) => one.repeat(20_000)) as [string, string];
  const start = performance.now();
  expect(wordChanges(a, b).length).toBeLessThan(5);
  expect(performance.now() - start).toBeLessThan(2000);
});
