import { expect, test } from "vitest";
import { kept } from "../../test/support/other-process.ts";
import { openrath } from "../openrath.ts";
import { memoryStore } from "../store/memory.ts";
import { writeFile } from "../tool/builtin/tools.ts";

test("what was merged outside a workflow is stored when one holds it, with what was settled", async () => {
  const store = memoryStore();
  await using rath = openrath({ store: kept(store) });
  const root = await rath.session("begin").to("memory").call(writeFile, { path: "a.txt", content: "root\n" });
  const left = await root.fork("left").call(writeFile, { path: "a.txt", content: "left\n" });
  const right = await root.fork("right").call(writeFile, { path: "a.txt", content: "right\n" });
  const merged = await left.merge(right, { conflicts: () => ({ content: "both\n" }), reason: "settled by hand" });
  const plain = await root.merge(await root.fork("note").do("look", () => 1));

  // Another process, while this one has closed nothing.
  await using other = openrath({ store: kept(store) });
  const again = await other.open(merged.id);
  expect({ head: again.head, step: again.step }).toEqual({ head: merged.head, step: merged.step });
  expect(await again.files.text("a.txt")).toBe("both\n");
  expect((await other.open(plain.id)).head).toBe(plain.head);
});
