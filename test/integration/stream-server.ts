/**
 * A server in a process of its own, and a writer that never rests: events of several sessions, in the same process. Says its port on
 * stdout, and goes on until it is killed.
 *
 * node --import tsx stream-server.ts STORE
 */
import { serve } from "@hono/node-server";
import { openrath } from "../../src/openrath.ts";
import { createServer } from "../../src/server/server.ts";

const [store = ""] = process.argv.slice(2);
const rath = openrath({ store });
const server = createServer(rath, { auth: "none-on-loopback" });
serve({ fetch: server.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => process.stdout.write(`${port}\n`));

let session = await rath.save(rath.session("begin"));
for (let i = 0; ; i++) {
  if (i % 20 === 0) session = await rath.save(rath.session(`session ${i}`));
  session = session.say(`message ${i}`).say("another");
  await rath.save(session);
  if (i % 5 === 0) await rath.save(session.fork("try").say("in a fork"));
  await new Promise((resolve) => setTimeout(resolve, 2));
}
