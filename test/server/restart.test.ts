/** Two servers on one PostgreSQL behind a balancer: while one after the other is restarted, nobody who calls notices. */
import { createServer as createNetServer, connect as dial, type Socket } from "node:net";
import { expect, test } from "vitest";
import { connect } from "../../src/client/client.ts";
import { Called, cleaned, projectFolder } from "../support/called.ts";
import { gateConfig } from "../support/gate.ts";
import { following, hammer, missing } from "../support/load.ts";
import { until } from "../support/other-process.ts";
import { freshDatabase } from "../support/postgres.ts";

cleaned();

/** Passes each connection on to the next port that takes it. */
async function balancer(ports: readonly number[]): Promise<AsyncDisposable & { readonly url: string }> {
  let turn = 0;
  const sockets = new Set<Socket>();
  const server = createNetServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    const attempt = (left: number): void => {
      const behind = dial(ports[turn++ % ports.length] as number, "127.0.0.1");
      behind.once("connect", () => {
        behind.removeAllListeners("error").on("error", () => socket.destroy());
        behind.on("close", () => socket.destroy());
        socket.on("close", () => behind.destroy());
        socket.pipe(behind).pipe(socket);
      });
      behind.once("error", () => (left > 0 ? attempt(left - 1) : socket.destroy()));
    };
    attempt(2 * ports.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { readonly port: number }).port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("restarts are not noticed: no call fails, streams have no gap and nothing twice, every run ends", async () => {
  await using database = await freshDatabase();
  const folder = await projectFolder(gateConfig(`, store: ${JSON.stringify(database.url)}`));
  const start = (): Called => new Called(["serve", "--port", "0", "--auth", "none-on-loopback"], folder);
  const portOf = async (server: Called): Promise<number> => Number(new URL(await server.url()).port);
  const first = start();
  const ports = [await portOf(first)]; // makes the tables
  const second = start();
  ports.push(await portOf(second));
  await using front = await balancer(ports);
  const client = connect({ url: front.url, backoffMs: 50 });
  let cuts = 0;
  const onRetry = (): void => void cuts++;
  const told = [1, 2, 3].map(() => following(client.project.stream({ from: "start", onRetry })));
  const load = hammer(client, 3);
  const servers = [first, second];
  for (const [at, server] of servers.entries()) {
    const before = load.calls;
    await until("calls", () => load.calls > before + 20);
    expect(await server.ends("SIGTERM"), server.err).toBe(0);
    servers[at] = start();
    ports[at] = await portOf(servers[at] as Called);
  }
  const before = load.calls;
  await until("calls", () => load.calls > before + 20);
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(await missing(client, load)).toEqual([]);
  // Each stream told every event of the project, each once: what one has, all have.
  await until("the ends of the streams", () => new Set(told.map(({ events }) => events.length)).size === 1);
  for (const one of told) await one.leave();
  expect(told.flatMap(({ failed }) => failed)).toEqual([]);
  const sets = told.map(({ events }) => new Set(events));
  expect(told.map(({ events }, at) => events.length - (sets[at]?.size ?? 0))).toEqual([0, 0, 0]);
  expect(sets[1]).toEqual(sets[0]);
  expect(sets[2]).toEqual(sets[0]);
  for (const id of load.said.keys()) {
    const [event] = (await client.sessions.events(id, { fields: "index" }).page()).items;
    expect(sets[0]?.has(event?.id ?? "")).toBe(true);
  }
  expect(cuts).toBeGreaterThan(0);
}, 120_000);
