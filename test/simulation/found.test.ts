/** What the simulation found, each as small as it could be made. */
import { afterEach, expect, test } from "vitest";
import { RathError } from "../../src/session/errors.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Flow } from "../support/flow.ts";
import { process, stopped, until, working } from "../support/processes.ts";

afterEach(stopped);

const away = (): RathError => new RathError("store.unavailable", "The connection was lost.", { retryable: true });

/** The store, with calls that are slow or fail as the test says. */
function disturbed(store: Store, change: (store: Store) => Partial<Store>): Store {
  return { ...store, ...change(store) };
}

/** Reads of the logs of answers and mailboxes wait until they may go on. */
function slowReads(store: Store, isSlow: () => boolean): Store {
  return disturbed(store, () => ({
    events: (query) =>
      (async function* () {
        if (isSlow() && "session" in query) await new Promise((resolve) => setTimeout(resolve, 60));
        yield* store.events(query);
      })(),
  }));
}

test("a run is not parked while it still looks whether what it waits for has come", async () => {
  const store = memoryStore();
  const flow = new Flow((session) => session.receive("paid"));
  const client = process(store);
  const run = await client.run("flow", client.session("go"), { queue: true });
  await client.send(run.id, "paid", 3);
  // Longer than the grace after which a run that waits is parked.
  working(
    process(
      slowReads(store, () => true),
      { workflows: { flow } },
    ),
  );
  expect((await run.result()).output).toBe(3);
});

test("an effect and a question outlive a store that is away for a moment", async () => {
  const store = memoryStore();
  const happened: string[] = [];
  let failures = 0;
  const flaky = disturbed(store, () => ({
    append: (write) =>
      // The call of the effect and the question fail the first times they are written.
      write.branches.some(({ events }) => events.some(({ envelope }) => /"(do|ask)\.called"/.test(Buffer.from(envelope).toString()))) &&
      failures++ % 3 < 2
        ? Promise.reject(away())
        : store.append(write),
  }));
  const flow = new Flow(async (session) => (await session.do("pay", () => happened.push("paid"))).ask("sure?"));
  const rath = process(flaky, { workflows: { flow } });
  const run = await rath.run("flow", rath.session("go"));
  const settled = await run.settle();
  expect(settled.status).toBe("waiting");
  expect(happened).toEqual(["paid"]);
});

test("a park that cannot be written gives the worker its place back", async () => {
  const store = memoryStore();
  let fenced = false;
  const other = disturbed(store, () => ({
    append: async (write) => {
      const parks = write.run?.status === "waiting";
      // Somebody takes the run over just before.
      if (parks && !fenced) {
        fenced = true;
        await store.claim(write.run?.id as string, "elsewhere:1:other", 1, {
          from: write.lease === undefined ? undefined : await ownerOf(store),
        });
      }
      return store.append(write);
    },
  }));
  const flow = new Flow((session) => session.ask("sure?"));
  const rath = process(other, { workflows: { flow } });
  working(rath, { concurrency: 1 });
  const client = process(store);
  await client.run("flow", client.session("first"), { queue: true });
  const second = await client.run("flow", client.session("second"), { queue: true });
  // Its only place would be taken for ever.
  await until(async () => (await second.status()) === "waiting", "the second run waits");
  expect(fenced).toBe(true);
});

async function ownerOf(store: Store): Promise<string | undefined> {
  for await (const { owner } of store.runs({})) if (owner !== undefined) return owner;
  return undefined;
}

test("who starts a run that a worker has ended meanwhile does not execute it again", async () => {
  const store = memoryStore();
  const happened: string[] = [];
  const flow = new Flow((session) => session.do("pay", () => happened.push("paid")));
  working(process(store, { workflows: { flow } }));
  const slow = disturbed(store, () => ({
    claim: async (run, worker, forMs, options) => {
      await until(() => happened.length > 0, "the worker was faster");
      await until(async () => (await ownerOf(store)) === undefined, "it has ended");
      return store.claim(run, worker, forMs, options);
    },
  }));
  const client = process(slow, { workflows: { flow } });
  const run = await client.run("flow", client.session("go"));
  expect((await run.settle()).status).toBe("done");
  expect(happened).toEqual(["paid"]);
  expect(await run.status()).toBe("done");
});

test("cancelling a run that ends meanwhile writes nothing after its end", async () => {
  const store = memoryStore();
  const flow = new Flow((session) => session.ask("sure?"));
  const first = process(store, { workflows: { flow } });
  const run = await first.run("flow", first.session("go"));
  await run.settle();
  let ended = false;
  const slow = disturbed(store, () => ({
    claim: async (id, worker, forMs, options) => {
      if (!ended) {
        ended = true;
        await run.cancel("first"); // somebody else was faster, after the request was written
      }
      return store.claim(id, worker, forMs, options);
    },
  }));
  await (await process(slow).attach(run.id)).cancel("second");
  await new Promise((resolve) => setTimeout(resolve, 20));
  const kinds: string[] = [];
  for await (const { envelope } of store.events({ session: run.id }))
    kinds.push((JSON.parse(Buffer.from(envelope).toString()) as { readonly kind: string }).kind);
  expect(kinds.slice(-2)).toEqual(["run.ended", "run.signed"]);
});
