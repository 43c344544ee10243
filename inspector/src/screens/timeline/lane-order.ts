/** Lanes in the order of who began first, those of nested agents below whoever they work for. */

export interface PlacedLane {
  readonly lane: number;
  readonly by: string;
  /** What is not in the name of the lane above. */
  readonly name: string;
  readonly depth: number;
}

export function laneOrder(lanes: readonly { readonly by: string }[]): readonly PlacedLane[] {
  const known = new Map(lanes.map(({ by }, lane) => [by, lane]));
  const inside = new Map<string, string[]>();
  for (const { by } of lanes) {
    const above = nearest(by, known);
    const below = inside.get(above) ?? [];
    below.push(by);
    inside.set(above, below);
  }
  const placed: PlacedLane[] = [];
  const place = (above: string, depth: number): void => {
    for (const by of inside.get(above) ?? []) {
      placed.push({ lane: known.get(by) as number, by, name: above === "" ? by : by.slice(above.length + 1), depth });
      place(by, depth + 1);
    }
  };
  place("", 0);
  return placed;
}

function nearest(by: string, known: ReadonlyMap<string, number>): string {
  for (let end = by.lastIndexOf("/"); end > 0; end = by.lastIndexOf("/", end - 1)) if (known.has(by.slice(0, end))) return by.slice(0, end);
  return "";
}
