/** A picture stands for all branches, however many there are. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readMarkup } from "../../test/support/markup.ts";
import type { GraphEdge, GraphNode } from "./graph-data.ts";
import { foldGraph } from "./graph-fold.ts";
import { toSvg } from "./graph-svg.ts";
import { fitted } from "./svg.ts";

interface Shape {
  readonly parent: number;
  readonly kind: "fork" | "nested" | "implicit";
  readonly status: "idle" | "rejected";
  readonly label: string;
  readonly merged: boolean;
}

const shapes = fc.array(
  fc.record({
    parent: fc.nat(),
    kind: fc.constantFrom("fork", "fork", "fork", "nested", "implicit") as fc.Arbitrary<Shape["kind"]>,
    status: fc.constantFrom("idle", "rejected") as fc.Arbitrary<Shape["status"]>,
    label: fc.constantFrom("try 1", "try 2", "try 33", "other", "<b>&\u202e"),
    merged: fc.boolean(),
  }),
  { maxLength: 120, size: "max" },
);

function graphOf(all: readonly Shape[]): { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] } {
  const node = (index: number, kind: GraphNode["kind"], shape?: Shape): GraphNode => ({
    ...{
      id: `branch-${index}`,
      label: shape?.label ?? "root",
      kind,
      status: shape?.status ?? "idle",
      reason: shape?.status === "rejected" ? `slow by ${index}` : undefined,
    },
    ...{
      events: 3,
      first: index + 1,
      step: 2 * index + 3,
      head: `head-${index}`,
      by: "flow",
      current: index === 0,
      won: shape !== undefined && index === all.length,
    },
  });
  const edge = (kind: GraphEdge["kind"], from: number, to: number, step: number): GraphEdge => ({
    kind,
    from: `branch-${from}`,
    to: `branch-${to}`,
    parent: "p",
    event: "e",
    left: step - 1,
    step,
  });
  return {
    nodes: [node(0, "root"), ...all.map((shape, index) => node(index + 1, shape.kind, shape))],
    edges: all.flatMap((shape, index) => {
      const parent = shape.parent % (index + 1);
      return [
        edge(shape.kind === "nested" ? "nested" : "forked", parent, index + 1, index + 2),
        ...(shape.merged ? [edge("merged", index + 1, parent, 2 * index + 5)] : []),
      ];
    }),
  };
}

describe("a folded graph", () => {
  test("counts every branch once, keeps what became the result, and joins only lanes that it has", () => {
    fc.assert(
      fc.property(shapes, (all) => {
        const { nodes, edges } = graphOf(all);
        const folded = foldGraph(nodes, edges);
        const ids = new Set(folded.lanes.map(({ id }) => id));
        expect(folded.lanes.reduce((sum, { size, inner }) => sum + size + inner, 0)).toBe(nodes.length);
        for (const { id, current, won, kind } of nodes) if ((current || won) && kind !== "nested") expect(ids).toContain(id);
        for (const { from, to } of folded.edges) expect([ids.has(from), ids.has(to)]).toEqual([true, true]);
        expect(folded.lanes.length).toBeLessThan(60);
      }),
    );
  });

  test("draws well-formed pictures of any of them", () => {
    fc.assert(
      fc.property(shapes, (all) => {
        const { nodes, edges } = graphOf(all);
        expect(() => readMarkup(toSvg(nodes, edges))).not.toThrow();
      }),
      { numRuns: 40 },
    );
  });

  test("of a thousand branches that are alike shows a few, and says how many the others are", () => {
    const { nodes, edges } = graphOf(
      Array.from(
        { length: 1000 },
        (_, index): Shape => ({ parent: 0, kind: "fork", status: "rejected", label: `try ${index}`, merged: false }),
      ),
    );
    const { lanes } = foldGraph(nodes, edges);
    expect(lanes.map(({ label }) => label)).toEqual(["root", "try 0", "try 1", "997 more like “try 2”", "try 999"]);
    expect(toSvg(nodes, edges).length).toBeLessThan(10_000);
  });
});

describe("a text in a drawing", () => {
  test("takes no more room than it has, and is whole where it fits", () => {
    expect(fitted("round half up", 300, 13)).toBe("round half up");
    const cut = fitted("Möwen fliegen über das Wasser ".repeat(20), 300, 13);
    expect(cut.endsWith("…")).toBe(true);
    expect(cut.length).toBeLessThan(50);
    expect([...fitted("日本語の長い名前がここにあります".repeat(5), 130, 13)].length).toBeLessThanOrEqual(11);
    expect(fitted("\u202eabc\u001b[2J", 300, 13)).toBe("\\u202eabc\\x1b[2J");
  });
});
