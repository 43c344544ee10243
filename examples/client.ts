import { serve } from "@hono/node-server";
import { Agent, openrath, scripted } from "openrath";
import { connect } from "openrath/client";
import { createServer } from "openrath/server";

/** A server and its client. They could be two machines; the client could be a browser. */
const writer = new Agent({ model: scripted("A value that holds its past.") });
await using rath = openrath({ store: "memory", workflows: { writer } });
await using server = createServer(rath, { auth: "none-on-loopback" });
const stop = new AbortController();
const working = rath.work({ signal: stop.signal });
const { port, http } = await new Promise<{ port: number; http: ReturnType<typeof serve> }>((resolve) => {
  const http = serve({ fetch: server.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve({ port, http }));
});

const client = connect({ url: `http://127.0.0.1:${port}` }); // elsewhere: with the key of `openrath keys create`
const run = await client.runs.start({ workflow: "writer", message: "What is a session?", key: "monday" });
for await (const part of client.runs.stream(run.id)) if (part.type === "text-delta") console.log(part.text);
const { status } = await client.runs.done(run.id);
for await (const { role, text } of client.sessions.messages(run.session)) console.log(`${role}: ${text}`);
console.log(status); // done

stop.abort();
await working;
http.close();
