import { expect, test } from "vitest";
import { renewed } from "./live-rows.ts";

const row = (id: string, state = "old") => ({ id, state });
const pages = { pageParams: [undefined, "b"], pages: [{ items: [row("a"), row("b")], next: "b" }, { items: [row("c")] }] };

test("rows are changed in their places, and what is new comes on top of all", () => {
  const changed = new Map([row("z", "new"), row("b", "new"), row("c", "new")].map((one) => [one.id, one]));
  const { pages: after } = renewed(pages, { newest: [row("z", "new"), row("a")], changed });
  expect(after.map(({ items, next }) => [items.map(({ id, state }) => `${id} ${state}`), next])).toEqual([
    [["z new", "a old", "b new"], "b"],
    [["c new"], undefined],
  ]);
});
