import { expect, test } from "vitest";
import { kept } from "../../test/support/other-process.ts";
import { composeRath, openrath } from "../openrath.ts";
import { memoryStore } from "../store/memory.ts";
import { writeFile } from "../tool/builtin/tools.ts";
import { nodePlatform } from "./platform.ts";

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

// Mutant: whatever a merge goes into is held, also a place that was continued before.
test("who continues a branch stays on it while an older place of it is merged into", async () => {
  await using rath = openrath({ store: "memory" });
  const old = await rath.session("begin").to("memory").call(writeFile, { path: "a.txt", content: "root\n" });
  const side = await old.fork("side").call(writeFile, { path: "b.txt", content: "side\n" });
  const newer = await old.do("look", () => 1);
  const merging = old.merge(side);
  const next = await newer.do("look again", () => 2);
  expect(next.id).toBe(newer.id);
  const merged = await merging;
  expect(merged.id).not.toBe(newer.id);
  expect(await merged.files.text("b.txt")).toBe("side\n");
});

test("forks, merges and what is detached outside a run have the time at which they were made", async () => {
  let now = Date.parse("2026-01-01T00:00:00.000Z");
  await using rath = composeRath(
    { store: "memory", implicitForks: "allow" },
    {
      platform: {
        ...nodePlatform,
        time: () => {
          now += 1000;
          return new Date(now).toISOString();
        },
      },
    },
  );
  const root = await rath.session("begin").do("one", () => 1);
  const before = now;
  const fork = root.fork("a");
  const merged = await root.merge(await fork.do("two", () => 2));
  const times = [fork, merged, root.detach()].map((session) => Date.parse([...session.events()].at(-1)?.at ?? ""));
  expect(times[0]).toBeGreaterThan(before);
  expect(times).toEqual([...times].sort((a, b) => a - b));
});
