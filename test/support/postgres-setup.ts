/** Lends all test files of one run the same PostgreSQL: `TEST_DATABASE_URL`, or a server that is started when the first file asks. */
import type { TestProject } from "vitest/node";
import { lend } from "./lender.ts";
import { type PostgresServer, startServer } from "./postgres-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the URL of the server is told; asking starts it. */
    readonly postgresPort: number;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const lender = await lend(async () => {
    const given = process.env["TEST_DATABASE_URL"];
    if (given !== undefined && given !== "") return given;
    // Nobody kills it: what it keeps need not outlive a loss of power.
    server ??= startServer(["-c", "fsync=off", "-c", "full_page_writes=off"]);
    return (await server).url;
  });
  project.provide("postgresPort", lender.port);
  return async () => {
    lender.close();
    await (await server)?.[Symbol.asyncDispose]();
  };
}
