import { expect, test } from "vitest";
import type { EventResource } from "../../../src/client/client.ts";
import { lineageOf } from "./lineage-of.ts";

function event(id: string, session: string, parent: string): EventResource {
  const at = new Date(5000).toISOString();
  return {
    id: id.repeat(64),
    session,
    step: 9,
    kind: "note.added",
    by: "new",
    at,
    parents: [parent],
    facts: {},
    data: {},
  } as unknown as EventResource;
}

test("branches, kinds and writers are known by their names as they come, each once", () => {
  const lineage = lineageOf([{ kind: "message.added", at: 1 }]);
  expect(lineage.add(event("a", "s", lineage.id(0)))).toBe(true);
  expect(lineage.add(event("b", "fork", lineage.id(0)))).toBe(true);
  expect(lineage.add(event("b", "fork", lineage.id(0)))).toBe(false);
  expect([lineage.sessions, lineage.kinds, lineage.writers]).toEqual([
    ["s", "fork"],
    ["message.added", "note.added"],
    ["agent", "new"],
  ]);
  expect([lineage.newestOn("s"), lineage.newestOn("fork"), lineage.newestOn("other")]).toEqual([1, 2, undefined]);
  expect([lineage.hasBranch("fork"), lineage.hasBranch("other")]).toEqual([true, false]);
  expect(lineage.branch(2)).toBe("fork");
});

test("the call behind a result is found past the mark that it was started", () => {
  const lineage = lineageOf([
    { kind: "tool.called", at: 1 },
    { kind: "tool.started", at: 2 },
    { kind: "tool.returned", at: 3 },
  ]);
  expect([lineage.callBehind(2), lineage.callBehind(1)]).toEqual([0, 0]);
});
