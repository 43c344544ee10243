import { expect, test } from "vitest";
import { volatileMemory } from "../memory/volatile.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";

/** How long it takes to publish so many memories, and to be refused for all of them, in milliseconds. */
async function published(count: number): Promise<{ readonly ms: number; readonly items: number; readonly refused: number }> {
  await using rath = testRath({ memory: volatileMemory() });
  const base = rath.session("Go.");
  const branches = await Promise.all(
    ["first", "second"].map(async (label) => {
      let at: Session = base.fork(label);
      for (let i = 0; i < count; i++) at = await at.remember({ key: `key ${i}`, content: `${label} ${i}` });
      return at;
    }),
  );
  await Promise.all(branches.map((branch) => rath.save(branch)));
  const start = performance.now();
  const { published: items } = await rath.memory.publish(branches[0] as Session);
  const refused = await rath.memory
    .publish(branches[1] as Session)
    .catch((error: { details: { refused: readonly unknown[] } }) => error.details.refused);
  return { ms: performance.now() - start, items: items.length, refused: Array.isArray(refused) ? refused.length : 0 };
}

test("publishing takes as long as there is to publish (mutants: each write is looked for among all; each refused one among all of the branch)", async () => {
  const [few, many] = [await published(750), await published(6000)];
  expect([few.items, few.refused, many.items, many.refused]).toEqual([750, 750, 6000, 6000]);
  // Eight times as much; a search of all for each would take sixty-four times as long.
  expect(many.ms / few.ms).toBeLessThan(28);
}, 120_000);
