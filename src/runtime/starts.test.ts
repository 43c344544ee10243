import { expect, test } from "vitest";
import { kept } from "../../test/support/other-process.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";

const agent = (): Agent => new Agent({ name: "agent", model: scripted("hi") });

/** How many timers keep this process alive. */
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

// Mutants: closing does not wait for starts; a start does not look whether it was closed meanwhile; its lease is not given back.
test("a run that is being started when its Rath is closed is left for others, and nothing of it goes on", async () => {
  const before = timers();
  for (let turns = 0; turns < 25; turns++) {
    const store = kept(memoryStore());
    const one = testRath({ store });
    const starting = one.run(agent(), one.session("go"), { key: "k" }).then(
      () => "started",
      (error: { readonly code: string }) => error.code,
    );
    for (let n = 0; n < turns; n++) await Promise.resolve();
    await one.close();
    expect(["started", "rath.closed"], `after ${turns} turns`).toContain(await starting);
    expect(await owners(store), `after ${turns} turns`).toEqual([]);
    await using two = testRath({ store });
    expect((await (await two.run(agent(), two.session("go"), { key: "k" })).result()).text).toBe("hi");
  }
  expect(timers()).toBeLessThanOrEqual(before);
});

test("a store that is slow to give the lease is waited for", async () => {
  const store = memoryStore();
  const ends: string[] = [];
  let close: Promise<void> | undefined;
  const slow = new Proxy(kept(store), {
    get: (target, name) => {
      const member = Reflect.get(target, name) as unknown;
      if (name !== "claim") return member;
      return async (...given: Parameters<Store["claim"]>) => {
        close = one.close().finally(() => ends.push("close"));
        await new Promise((resolve) => setTimeout(resolve, 30));
        return target.claim(...given);
      };
    },
  });
  const one = testRath({ store: slow });
  await expect(one.run(agent(), one.session("go")).finally(() => ends.push("run"))).rejects.toMatchObject({ code: "rath.closed" });
  await close;
  expect(ends).toEqual(["run", "close"]);
  expect(await owners(store)).toEqual([]);
});

async function owners(store: Store): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { owner } of store.runs({})) if (owner !== undefined) found.push(owner);
  return found;
}
