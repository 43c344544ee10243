/** News and wake-ups between processes, and how sparingly they are told. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { until } from "../../test/support/other-process.ts";
import { ownSchemas, withClient } from "../../test/support/postgres.ts";
import { Connection } from "../postgres/connection.ts";
import { storedChain } from "../testing/stored-event.ts";
import { postgresFormat } from "./migrations/postgres-format.ts";
import { postgresStore } from "./postgres.ts";
import { sharedPool } from "./postgres-pool.ts";
import { openWakeups } from "./postgres-wakeups.ts";
import type { News, RunRow, Store } from "./store.ts";

const run: RunRow = { id: "r", key: undefined, session: "s", workflow: "w", status: "running", wakeAt: undefined };
const past = "2020-01-01T00:00:00.000Z";
let url = "";
const schema = ownSchemas((shared) => {
  url = shared;
});

test("appends tell of themselves a few times a second, whatever their number", async () => {
  const name = schema();
  await using store = postgresStore(url, { schema: name });
  await withClient(url, async (client) => {
    const told: string[] = [];
    client.on("notification", ({ payload }) => told.push(payload ?? ""));
    await client.query(`LISTEN """${name}"".news"`);
    const began = performance.now();
    const events = storedChain(
      Array.from({ length: 300 }, () => ({})),
      "s",
    );
    for (let i = 0; i < events.length; i++)
      await store.append({ branches: [{ session: "s", expectedHead: events[i - 1]?.id, events: events.slice(i, i + 1) }] });
    await store[Symbol.asyncDispose]();
    const took = performance.now() - began;
    await until("the news", () => told.length > 0);
    await client.query("SELECT 1");
    expect(told.length).toBeLessThanOrEqual(Math.ceil(took / 100) + 1);
    expect(told.every((payload) => payload === JSON.stringify(["default", "default", ["s"]]))).toBe(true);
  });
});

test("due news comes with the commit that queues or wakes a run, and with no other", async () => {
  const name = schema();
  await using store = postgresStore(url, { schema: name });
  await using other = postgresStore(url, { schema: name, project: "other" });
  const heard: News[] = [];
  await using _watching = await (store as Required<Store>).watch((news) => heard.push(news));
  const due = () => heard.filter((news) => news.due).length;
  await other.append({ branches: [], run: { ...run, wakeAt: past } });
  await store.append({ branches: [], run });
  await store.append({ branches: [], run: { ...run, wakeAt: "2090-01-01T00:00:00.000Z" } });
  const lease = await store.claim("r", "w", 60_000);
  await store.append({ branches: [], run: { ...run, wakeAt: past }, lease });
  await store.append({ branches: [], wake: ["r"], lease: { run: "r", epoch: 77, expires: past } });
  await store.append({ branches: [], wake: ["r"] });
  await until("the wake", () => due() === 1);
  await store.append({ branches: [], run: { ...run, wakeAt: past }, lease, release: true });
  await until("the release", () => due() === 2);
  await store.append({ branches: [], run: { ...run, id: "q", wakeAt: past } });
  await until("the queued run", () => due() === 3);
});

test("projects that share a pool listen on one connection, which stays when one of them leaves and is opened again when it breaks", async () => {
  const name = schema();
  const pool = sharedPool(url);
  const heard: Record<string, News[]> = { a: [], b: [] };
  const projects = ["a", "b"].map((project) => {
    const store = postgresStore(pool, { schema: name, project });
    return { store: store as Required<Store>, watching: store.watch?.((news) => heard[project]?.push(news)) };
  });
  await Promise.all(projects.map(({ watching }) => watching));
  const [first, second] = projects as [(typeof projects)[0], (typeof projects)[0]];
  await withClient(url, async (client) => {
    const listening = `FROM pg_stat_activity WHERE query LIKE 'LISTEN%${name}%' AND pid <> pg_backend_pid()`;
    const count = async () => (await client.query(`SELECT pid ${listening}`)).rows.length;
    expect(await count()).toBe(1);
    await second.store.append({ branches: [], run: { ...run, wakeAt: past } });
    await until("the run of b", () => heard["b"]?.length === 1);
    expect(heard["a"]).toEqual([]);
    await first.store[Symbol.asyncDispose]();
    expect(await count()).toBe(1);
    await client.query(`SELECT pg_terminate_backend(pid) ${listening}`);
    await until("that something was missed", () => heard["b"]?.length === 2);
    await second.store.append({ branches: [], wake: ["r"] });
    await until("the wake", () => heard["b"]?.length === 3);
    await second.store[Symbol.asyncDispose]();
    await until("that nobody listens", async () => (await count()) === 0);
  });
  expect(heard["a"]).toEqual([]);
});

test("a wake-up outlives who asked for it, is heard by one of those who listen, and by nobody of another project", async () => {
  const name = schema();
  const heard = { a: 0, b: 0, other: 0 };
  const asking = postgresStore(url, { schema: name });
  const asked = await (asking as Required<Store>).wakeups(() => {});
  await using first = postgresStore(url, { schema: name });
  await using second = postgresStore(url, { schema: name });
  await using others = postgresStore(url, { schema: name, project: "other" });
  const time = new Date(Date.now() + 1500).toISOString();
  await asked.at("r", new Date(Date.now() + 86_400_000).toISOString());
  await asked.at("r", time);
  await asked.at("r", time);
  const began = performance.now();
  await asked[Symbol.asyncDispose]();
  await asking[Symbol.asyncDispose]();
  expect(performance.now() - began).toBeLessThan(5000);
  const hearing = [
    await (first as Required<Store>).wakeups(() => heard.a++),
    await (second as Required<Store>).wakeups(() => heard.b++),
    await (others as Required<Store>).wakeups(() => heard.other++),
  ];
  await until("the wake-up", () => heard.a + heard.b > 0);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(time) - 50);
  await sleep(100);
  expect(heard.a + heard.b).toBe(1);
  expect(heard.other).toBe(0);
  await Promise.all(hearing.map((one) => one[Symbol.asyncDispose]()));
});

test("those who begin at once on a new database all hear wake-ups", async () => {
  const name = schema();
  const stores = Array.from({ length: 6 }, (_, at) => postgresStore(url, { schema: name, project: `p${at}` }));
  await Promise.all(stores.map((store) => store.append({ branches: [] })));
  const heard = new Set<number>();
  const wakeups = await Promise.all(stores.map((store, at) => (store as Required<Store>).wakeups(() => heard.add(at))));
  for (const one of wakeups) await one.at("r", past);
  await until("the wake-up of each", () => heard.size === stores.length);
  for (const one of [...wakeups, ...stores]) await one[Symbol.asyncDispose]();
});

test("a connection that breaks while a wake-up is finished ends nothing: the next one is heard", async () => {
  const connection = new Connection(url, { schema: schema() }, postgresFormat);
  let broken = 0;
  const breaking = new Proxy(connection, {
    get: (target, name) => {
      const own = Reflect.get(target, name, target) as unknown;
      if (name !== "raw") return typeof own === "function" ? own.bind(target) : own;
      return async (text: string, values?: unknown[]) => {
        if (broken > 0 || !text.includes("completed_on = now()")) return target.raw(text, values);
        broken++;
        throw new Error("Connection terminated unexpectedly");
      };
    },
  });
  let heard = 0;
  const wakeups = await openWakeups(breaking, () => heard++);
  await wakeups.at("r", past);
  await until("the job that could not be finished", () => broken === 1 && heard === 1);
  await wakeups.at("q", past);
  await until("the next one", () => heard === 2);
  await wakeups[Symbol.asyncDispose]();
  await connection.close();
});
