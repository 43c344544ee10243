/** Streams over real connections: servers that are killed, several servers on one store, readers that do not read, and many of them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { serve } from "@hono/node-server";
import { afterAll, expect, test } from "vitest";
import { openrath } from "../../src/openrath.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { hubOf } from "../../src/server/feed-hub.ts";
import { createServer, type Server, type ServerOptions } from "../../src/server/server.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store, StoredEvent } from "../../src/store/store.ts";
import { storedChain } from "../../src/testing/stored-event.ts";
import { bundled } from "../support/bundled.ts";
import { sharedPostgres, withClient } from "../support/postgres.ts";
import { eventsIn, listen } from "../support/sse.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-streams-"));
const children: ChildProcess[] = [];
const databases: string[] = [];
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
  for (const name of databases) await withClient(await sharedPostgres(), (client) => client.query(`DROP DATABASE "${name}" WITH (FORCE)`));
});

/** A database of its own, which a store is opened on by its URL alone. */
async function ownDatabase(): Promise<string> {
  const name = `streams${process.pid}_${Date.now().toString(36)}`;
  const url = new URL(await sharedPostgres());
  await withClient(url.href, (client) => client.query(`CREATE DATABASE "${name}"`));
  databases.push(name);
  url.pathname = `/${name}`;
  return url.href;
}

const program = await bundled(new URL("stream-server.ts", import.meta.url));

async function startChild(store: string): Promise<{ readonly child: ChildProcess; readonly origin: string }> {
  const child = spawn(process.execPath, [program, store], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [port] = (await once(child.stdout as NonNullable<typeof child.stdout>, "data")) as [Buffer];
  return { child, origin: `http://127.0.0.1:${String(port).trim()}` };
}

async function serving(server: Server): Promise<AsyncDisposable & { readonly origin: string; readonly port: number }> {
  const http = serve({ fetch: server.fetch, port: 0, hostname: "127.0.0.1" }) as HttpServer;
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

for (const [name, address] of [
  ["SQLite", async () => join(folder, "killed.db")],
  ["PostgreSQL", ownDatabase],
] as const)
  test(`a reader misses nothing and gets nothing twice, whichever server it comes back to and however they die: ${name}`, async () => {
    const store = await address();
    await using rath = openrath({ store });
    await using server = createServer(rath, { auth: "none-on-loopback" });
    await using here = await serving(server);
    const seen: string[] = [];
    let after: string | undefined;
    let there = startChild(store);
    for (let visit = 0; visit < 6; visit++) {
      const { child } = await there;
      const { origin } = visit % 2 === 0 ? await there : here;
      // Killed under its reader, with events under way. Another one writes on at once: who reads elsewhere would wait for ever.
      if (visit === 2 || visit === 4)
        setTimeout(() => {
          child.kill("SIGKILL");
          there = startChild(store);
        }, 30);
      try {
        await using stream = await listen(fetch, `${origin}/v1/stream${after === undefined ? "?from=start" : ""}`, after);
        for (let i = 0; i < 40; i++) {
          const told = await stream.next();
          if (told === undefined) break;
          after = told.id ?? after;
          seen.push(...eventsIn([told]));
        }
      } catch {
        // It was cut off: whoever reads comes back.
      }
    }
    (await there).child.kill("SIGKILL");
    const stored: StoredEvent[] = [];
    const runtime = runtimeOf(rath.session());
    for await (const { events } of (await runtime.store()).feed({})) stored.push(...events);
    expect(seen.length).toBeGreaterThan(100);
    expect(seen).toEqual(stored.slice(0, seen.length).map(({ id }) => id));
  }, 120_000);

/** Appends as another process does, so that nothing of it is in the memory of the server. */
async function fill(store: Store, session: string, count: number, bytes: number): Promise<string[]> {
  let last: StoredEvent | undefined;
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const [event] = storedChain([{ data: JSON.stringify({ text: "x".repeat(bytes) }) }], session, last) as [StoredEvent];
    await store.append({ branches: [{ session, expectedHead: last?.id, events: [event] }], relaxed: true });
    ids.push(event.id);
    last = event;
  }
  return ids;
}

async function fileServer(name: string, options: ServerOptions = {}) {
  const path = join(folder, name);
  const rath = openrath({ store: path });
  await rath.save(rath.session("first"));
  const server = createServer(rath, { auth: "none-on-loopback", ...options });
  const writer = sqliteStore(path, { durability: "relaxed" });
  const { origin, port, [Symbol.asyncDispose]: stop } = await serving(server);
  return {
    ...{ origin, port, writer },
    hub: hubOf(runtimeOf(rath.session())),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await stop();
      await writer[Symbol.asyncDispose]();
      await rath.close();
    },
  };
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("a reader that does not read is let go with a code, memory stays flat, and it comes back without a gap", async () => {
  await using served = await fileServer("slow.db", { limits: { unread: 256 << 10 } });
  const { hub, port, writer, origin } = served;
  const socket = connect(port, "127.0.0.1");
  socket.write("GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await once(socket, "readable");
  socket.pause();
  while (hub.followers === 0) await sleep(5);
  const before = process.memoryUsage();
  const ids = await fill(writer, "s", 220, 64 << 10); // 14 MB, more than any socket holds
  while (hub.followers > 0) await sleep(10);
  // What is only waiting to be collected goes; what the paused connection holds would stay.
  await expect
    .poll(
      () => {
        collect();
        return process.memoryUsage().arrayBuffers - before.arrayBuffers;
      },
      { timeout: 10_000 },
    )
    .toBeLessThan(4 << 20);
  let text = "";
  socket.on("data", (piece) => {
    text += piece.toString();
  });
  socket.resume();
  await once(socket, "close");
  expect(text).toMatch(/event: error\ndata: \{"code":"stream.slow","message":"[^\n]*","retryable":true\}\n\n/);
  const got = [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id);
  await using again = await listen(fetch, `${origin}/v1/stream`, got.at(-1));
  const rest = ids.slice(got.length - 1);
  const told = await again.until(({ data }) => data.event?.id === ids.at(-1));
  expect(eventsIn(told)).toEqual(rest);
});

test("two hundred readers are each sent everything in order, and the feed is read for all of them at once", async () => {
  await using served = await fileServer("many.db");
  const { hub, writer, origin } = served;
  const readers = 200;
  const streams = await Promise.all(Array.from({ length: readers }, () => listen(fetch, `${origin}/v1/stream`)));
  while (hub.followers < readers) await sleep(5);
  const ids = await fill(writer, "s", 60, 200);
  const got = await Promise.all(streams.map(async (stream) => eventsIn(await stream.until(({ data }) => data.event?.id === ids.at(-1)))));
  for (const seen of got) expect(seen).toEqual(ids);
  await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()));
  while (hub.followers > 0) await sleep(5);
});
