/** Two machines start one run by its key: who is second stands in for the first, and only when that one is gone. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { process, stopped } from "../../test/support/processes.ts";
import { standingClock } from "../../test/support/standing-clock.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";

afterEach(stopped);

/** Both know the flow; `by` says who did the second half of it. */
function pair(store: Store, waits = (session: Session): Promise<Session> => session.ask("Go on?")) {
  const by: string[] = [];
  const clock = standingClock();
  const machine = (who: string) => {
    const flow = new Flow(async (session) => {
      const one = await session.do("one", () => sleep(60), { repeat: "safe" });
      return (await waits(one)).do("two", () => by.push(who), { repeat: "safe" });
    }, "flow");
    return process(store, { workflows: { flow } }, {}, clock);
  };
  return { by, clock, first: machine("first"), second: machine("second") };
}

// Mutant: a run that waits is taken up as soon as nobody holds it.
test("a run that parks stays with its owner, who goes on when it is answered from the other", async () => {
  const { by, first, second } = pair(memoryStore());
  const run = await first.run("flow", first.session("go"), { key: "k" });
  await second.run("flow", second.session("go"), { key: "k" });
  expect((await run.settle()).status).toBe("waiting");
  await sleep(150);
  const [asked] = await second.pending();
  await second.decide(asked?.id as string, { answer: "yes", by: "human:ada" });
  await run.result();
  expect(by).toEqual(["first"]);
});

test("and goes on with the other when its owner is gone", async () => {
  const { by, first, second } = pair(memoryStore());
  const run = await first.run("flow", first.session("go"), { key: "k" });
  const same = await second.run("flow", second.session("go"), { key: "k" });
  expect((await run.settle()).status).toBe("waiting");
  await first.close();
  const [asked] = await second.pending();
  await second.decide(asked?.id as string, { answer: "yes", by: "human:ada" });
  await same.result();
  expect(by).toEqual(["second"]);
});

// Mutant: only news count, not the time.
test("a run that its owner parked for a timer and left goes on with the other at its time", async () => {
  const { by, clock, first, second } = pair(memoryStore(), (session) => session.wait("2s"));
  const run = await first.run("flow", first.session("go"), { key: "k" });
  const same = await second.run("flow", second.session("go"), { key: "k" });
  expect((await run.settle()).status).toBe("waiting");
  clock.go();
  await first.close();
  await same.result();
  expect(by).toEqual(["second"]);
});
