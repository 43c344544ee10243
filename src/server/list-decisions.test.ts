import { expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { openrath } from "../openrath.ts";
import { runtimeOf } from "../runtime/replay.ts";
import { RathError } from "../session/errors.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { newestDecisions } from "./list-decisions.ts";

// Mutant: what is damaged ends the list.
test("a decision that is damaged is left out, and so is one whose question is; what a store has no answer to is told", async () => {
  const store = memoryStore();
  const broken = new Map<string, string>();
  const failing: Store = {
    ...store,
    events: (query) => {
      const code = "ids" in query ? query.ids.map((id) => broken.get(id)).find((one) => one !== undefined) : undefined;
      if (code !== undefined) throw new RathError(code as "store.corrupt", "It cannot be read.");
      return store.events(query);
    },
  };
  await using rath = openrath({ store: failing });
  const runtime = runtimeOf(rath.session());
  const flow = new Flow((session) => session.ask("May I?"));
  for (const answer of ["one", "two", "three"]) {
    const run = await rath.run(flow, rath.session());
    await run.settle();
    const [pending] = await rath.pending({ run: run.id });
    await rath.decide(pending?.id as string, { by: "human:ada", answer });
    await run.result();
  }
  const listed = async (): Promise<readonly unknown[]> => (await newestDecisions(runtime, { limit: 10 })).items.map(({ answer }) => answer);
  const { items } = await newestDecisions(runtime, { limit: 10 });
  expect(await listed()).toEqual(["three", "two", "one"]);
  broken.set(items[0]?.id as string, "store.corrupt");
  expect(await listed()).toEqual(["two", "one"]);
  broken.set(items[2]?.pending.id as string, "event.invalid");
  expect(await listed()).toEqual(["two"]);
  broken.set(items[1]?.id as string, "store.unavailable");
  await expect(listed()).rejects.toThrow("It cannot be read.");
});
