/**
 * Lends all test files of one run the same PostgreSQL: `DATABASE_URL`, or a server that is started when the first file asks.
 *
 * Test files run in processes of their own that end before the run does, so the server belongs to the process that outlives them.
 * They ask over a socket, whose port they are given.
 */
import { createServer } from "node:net";
import type { TestProject } from "vitest/node";
import { type PostgresServer, startServer } from "./postgres-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the URL of the server is told; asking starts it. */
    readonly postgresPort: number;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const urlOf = async (): Promise<string> => {
    const given = process.env["DATABASE_URL"];
    if (given !== undefined && given !== "") return given;
    server ??= startServer();
    return (await server).url;
  };
  const lender = createServer((socket) => {
    socket.on("error", () => {});
    urlOf().then(
      (url) => socket.end(url),
      (error: unknown) => socket.end(`failed: ${String(error)}`),
    );
  });
  await new Promise<void>((resolve) => lender.listen(0, "127.0.0.1", resolve));
  lender.unref();
  project.provide("postgresPort", (lender.address() as { port: number }).port);
  return async () => {
    lender.close();
    await (await server)?.[Symbol.asyncDispose]();
  };
}
