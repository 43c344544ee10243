import { expect, test } from "vitest";
import type { MemoryRecordResource } from "../../../../src/client/client.ts";
import { rollbackPreview } from "./rollback-preview.ts";

const memory = (uri: string, version: number, content: string, state: "published" | "retracted" = "published"): MemoryRecordResource =>
  ({ uri, version, content, state, trust: "trusted" }) as MemoryRecordResource;

test("a preview says what would be as it was, and what would be taken back", () => {
  const then = [memory("same", 1, "x"), memory("changed", 1, "old"), memory("gone", 1, "y"), memory("ended", 1, "z", "retracted")];
  const now = [
    memory("same", 1, "x"),
    memory("changed", 2, "new"),
    memory("gone", 2, "y", "retracted"),
    memory("ended", 2, "again"),
    memory("since", 1, "w"),
    memory("since and gone", 2, "w", "retracted"),
  ];
  const { restored, retracted } = rollbackPreview(then, now);
  expect(restored.map(({ now: { uri } }) => uri)).toEqual(["changed", "gone"]);
  expect(retracted.map(({ uri }) => uri)).toEqual(["ended", "since"]);
});

test("what was written again as it was stays", () => {
  expect(rollbackPreview([memory("k", 1, "x")], [memory("k", 3, "x")])).toEqual({ restored: [], retracted: [] });
});
