import { expect, test } from "vitest";
import { repeatWords } from "./words.ts";

// Mutant: a nested effect is said to have no repeat class on record.
test("each repeat class has words of its own, apart from those for none", () => {
  const said = ["safe", "keyed", "once", "nested", undefined].map((repeat) => repeatWords({ repeat }));
  expect(new Set(said).size).toBe(said.length);
  expect(repeatWords({ repeat: "nested" })).toBe("Entered again: what happened inside is taken from the record.");
});
