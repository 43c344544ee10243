import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Agent, openrath, scripted } from "openrath";
import { createServer } from "openrath/server";

const writer = new Agent({ model: scripted("A value that holds its past.") });
await using rath = openrath({ store: "memory", workflows: { writer } });

// #region serve
await using server = createServer(rath); // server.fetch is a web-standard handler; it was tried on Node alone
const http = serve({ fetch: server.fetch, hostname: "127.0.0.1", port: 0, overrideGlobalObjects: false }); // 0: any free port
const stop = new AbortController();
const working = rath.work({ signal: stop.signal }); // the server itself only queues runs
// #endregion serve

await once(http, "listening");
const { port } = http.address() as AddressInfo;
const answer = await fetch(`http://127.0.0.1:${port}/v1/health`);
console.log(answer.status); // → 200

stop.abort();
await working;
http.close();
