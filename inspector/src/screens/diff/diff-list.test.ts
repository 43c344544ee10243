import { describe, expect, test } from "vitest";
import type { DiffResource } from "../../../../src/client/client.ts";
import { foldsOf, listOf } from "./diff-list.ts";

const events = (relations: string): DiffResource["events"] =>
  [...relations].map((one) => ({ relation: one === "=" ? "same" : one === "~" ? "changed" : "only" }) as DiffResource["events"][number]);

const shown = (relations: string, open: readonly number[] = []): string =>
  listOf(events(relations), [], new Set(open))
    .entries.map((entry) => {
      if (entry.type === "event") return relations[entry.index];
      return entry.type === "fold" ? `(${entry.to - entry.from})` : "";
    })
    .join("");

describe("the list of a diff", () => {
  test("folds equal events, unless they are few", () => {
    expect(shown("====~==+===")).toBe("(4)~==+(3)");
    expect(shown("==")).toBe("==");
  });

  test("shows a fold that was opened, which stays where it is", () => {
    expect(shown("====~===", [0])).toBe("(4)====~(3)");
    expect(shown("====~===", [5])).toBe("(4)~(3)===");
    expect(shown("====~===", [...foldsOf(events("====~==="))])).toBe("(4)====~(3)===");
  });

  test("knows where sections begin, and how much differs in each", () => {
    const rows = [{ what: "x", a: { text: "1" } }, { what: "y" }];
    const { entries, places } = listOf(events("~="), [{ name: "files", title: "Files", rows }], new Set());
    expect(places).toEqual([
      { section: "files", title: "Files", count: 2, at: 1 },
      { section: "events", title: "Events", count: 1, at: 4 },
    ]);
    for (const { at, section } of places) expect(entries[at]).toMatchObject({ type: "heading", section });
  });

  test("of nothing is the summary alone", () => {
    expect(listOf([], [], new Set()).entries).toEqual([{ type: "summary" }]);
  });

  test("of fifty thousand events is made in no time", () => {
    const many = events("==~=+====-".repeat(5000));
    const start = performance.now();
    expect(listOf(many, [], foldsOf(many)).entries.length).toBeGreaterThan(50_000);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
