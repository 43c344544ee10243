/** Calls about the server itself. */
import type { Health, Info, Readiness } from "../wire/api/info.ts";
import type { CallOptions } from "./call.ts";
import type { Connection } from "./connection.ts";

/**
 * Calls about the server itself.
 *
 * @example
 * const { server } = connect({ url: "http://127.0.0.1:7284", key: token });
 * const { version, caller } = await server.info();
 */
export interface ServerCalls {
  /** What it is, and what the caller may do there. */
  info(options?: CallOptions): Promise<Info>;
  /** Whether the process answers. Needs no key. */
  health(options?: CallOptions): Promise<Health>;
  /** Whether it should be sent calls; rejects with `server.busy` where it should not. Needs no key, and is asked once. */
  ready(options?: CallOptions): Promise<Readiness>;
  /** Numbers about the server and the project, as Prometheus reads them. */
  metrics(options?: CallOptions): Promise<string>;
}

export function serverCalls(connection: Connection): ServerCalls {
  return {
    info: async (options) => connection.get("/v1/info", options),
    health: async (options) => connection.get("/v1/health", options),
    ready: async ({ signal } = {}) => connection.json({ method: "GET", path: "/v1/ready", repeatable: false, signal }),
    metrics: async (options) => (await connection.download("/v1/metrics", options)).text(),
  };
}
