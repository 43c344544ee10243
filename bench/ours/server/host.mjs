// The server in a process of its own, with keys on, and beside it a bare handler on the same adapter that returns the same bytes.
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { openrath, Workflow } from "../../../dist/index.js";
import { listen } from "../../../dist/server/listen.js";
import { createServer } from "../../../dist/server/server.js";
import { answer } from "../../process.mjs";

class Idle extends Workflow {
  name = "idle";
  forward(session) {
    return session;
  }
}

const fromHere = { incoming: { socket: { remoteAddress: "127.0.0.1" } } };
const limits = { rate: 1e9, queue: 1e9, streams: 1e6, allStreams: 1e6 };
const bodies = new Map();
let [rath, server, listening, bare] = [];

answer({
  /** Opens the store, makes a key, and listens. */
  async start(store) {
    rath = openrath({ store, workflows: { idle: new Idle() }, implicitForks: "allow" });
    const open = createServer(rath, { auth: "none-on-loopback" });
    const made = await open.fetch(
      new Request("http://localhost/v1/keys", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ identity: "service:bench", roles: ["admin"] }),
      }),
      fromHere,
    );
    const { token } = await made.json();
    server = createServer(rath, { limits });
    listening = await listen(server);
    const app = new Hono();
    app.get("/*", (context) => context.body(bodies.get(context.req.path), 200, { "content-type": "application/json" }));
    bare = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false });
    await new Promise((resolve) => bare.listen(0, "127.0.0.1", resolve));
    return { port: Number(new URL(listening.url).port), bare: bare.address().port, token };
  },
  /** Sessions with about this many events each; their ids. */
  async fill({ sessions, events }) {
    const ids = [];
    for (let i = 0; i < sessions; i++) {
      let session = rath.session("Hello", { title: `Session ${i}` });
      for (let n = 2; n < events; n++) session = session.say(`Message ${n} of session ${i}: ${"x".repeat(200)}`);
      await rath.save(session);
      ids.push(session.id);
    }
    return ids;
  },
  /** The bare handler answers this from now on. */
  same({ path, body }) {
    bodies.set(path, body);
  },
  /** Adds a message to a session; it names when. */
  async say({ session, number }) {
    const opened = await rath.open(session);
    await rath.save(opened.say(`no=${number} at=${performance.timeOrigin + performance.now()};`));
  },
  /** What is in use once nothing more can be forgotten. */
  async memory() {
    for (let i = 0; i < 4; i++) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const { rss, heapUsed } = process.memoryUsage();
    return { rss, heap: heapUsed };
  },
  async stop() {
    bare?.closeAllConnections();
    bare?.close();
    await listening?.close(0);
    await rath?.close();
  },
});
