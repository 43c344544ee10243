/** `/v1/ready` of a server whose database goes away and comes back: who keeps watch is answered soon, and told why. */
import { type AddressInfo, connect, createServer as listener, type Socket } from "node:net";
import { expect, test } from "vitest";
import { openrath } from "../../src/index.ts";
import { createServer } from "../../src/server/server.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { answer } from "../support/guarded.ts";
import { freshDatabase } from "../support/postgres.ts";

/** A way to a database that can be closed: nobody is let in any more, and who was is cut off. */
async function wayTo(url: string): Promise<{ readonly url: string; open(): Promise<void>; close(): Promise<void> }> {
  const there = new URL(url);
  const sockets = new Set<Socket>();
  const way = listener((socket) => {
    const onward = connect(Number(there.port), there.hostname);
    for (const [one, other] of [[socket, onward] as const, [onward, socket] as const]) {
      sockets.add(one);
      one.on("error", () => {}).on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  const here = new URL(url);
  const open = (): Promise<void> => new Promise((resolve) => way.listen(Number(here.port), "127.0.0.1", resolve));
  here.port = "0";
  await open();
  here.port = String((way.address() as AddressInfo).port);
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      way.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return { url: here.href, open, close };
}

// Mutants: it waits as long as the store does; it does not say why; it remembers what is over.
test("with its database away it answers within seconds and says why, tells its own people where, and is ready again when it is back", async () => {
  await using database = await freshDatabase();
  const way = await wayTo(database.url);
  const store = postgresStore(way.url, { patienceMs: 5000 });
  await using rath = openrath({ store });
  await using server = createServer(rath);
  expect(await answer(server, "GET /v1/ready")).toMatchObject({ status: 200 });
  const warned: string[] = [];
  const hear = ({ message }: Error): void => void warned.push(message);
  process.on("warning", hear);
  await way.close();
  const asked = async (): Promise<{ readonly seconds: number; readonly message: string }> => {
    const began = performance.now();
    const { status, body } = await answer(server, "GET /v1/ready");
    expect(status).toBe(503);
    return { seconds: (performance.now() - began) / 1000, message: (body as { error: { message: string } }).error.message };
  };
  const said: string[] = [];
  while (said.length < 10 && said.at(-1)?.includes("cannot be reached") !== true) {
    const { seconds, message } = await asked();
    expect(seconds).toBeLessThan(4); // the store itself waits for 5 s
    said.push(message);
  }
  expect(said[0]).toBe("This server is not ready: its store or its memory has not answered for 2 s. Ask another one, or again later.");
  const place = new URL(way.url);
  expect(said.at(-1)).toBe("This server is not ready: its store or its memory cannot be reached. Ask another one, or again later.");
  expect((await asked()).message).toBe(said.at(-1)); // and so it stays while it is looked at again
  const told = warned.filter((message) => message.startsWith("This server is not ready: "));
  expect(told).toEqual([expect.stringContaining(place.host) as string]);
  expect(said.join()).not.toContain(place.port);
  expect(told.join()).not.toContain(place.password);
  await way.open();
  await expect.poll(async () => (await answer(server, "GET /v1/ready")).status, { timeout: 20_000 }).toBe(200);
  await way.close();
  // What was wrong before is not what is wrong now.
  expect((await asked()).message).toContain("has not answered for 2 s");
  process.off("warning", hear);
}, 60_000);
