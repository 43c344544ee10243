/** A server on a free port of loopback, or on a given one. */
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import type { Server } from "../../src/server/server.ts";

export interface ServedHttp extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Connections are cut in the middle of whatever they do; the server behind them is not told. */
  kill(): Promise<void>;
}

export async function servedHttp(server: Server, port = 0): Promise<ServedHttp> {
  const http = await new Promise<ReturnType<typeof serve>>((resolve, reject) => {
    // Whoever shares the process keeps its Request and Response.
    const options = { port, hostname: "127.0.0.1", overrideGlobalObjects: false };
    const made = serve({ fetch: (request, env) => server.fetch(request, env), ...options }, () => resolve(made));
    made.on("error", reject);
  });
  const at = (http.address() as AddressInfo).port;
  const kill = async (): Promise<void> => {
    if ("closeAllConnections" in http) http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  };
  return { url: `http://127.0.0.1:${at}`, port: at, kill, [Symbol.asyncDispose]: kill };
}
