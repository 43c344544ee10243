/** A server that is killed under load: whatever it acknowledged is there when it comes back, and those who follow come back by themselves. */
import { expect, test } from "vitest";
import { connect, RathError } from "../../src/client/client.ts";
import { Called, cleaned, projectFolder } from "../support/called.ts";
import { gateConfig, linesOf } from "../support/gate.ts";
import { following, hammer, missing } from "../support/load.ts";
import { until } from "../support/other-process.ts";
import { freshDatabase } from "../support/postgres.ts";

cleaned();

test.each(["SQLite", "PostgreSQL"])(
  "nothing that was acknowledged is lost, on %s",
  async (kind) => {
    const database = kind === "SQLite" ? undefined : await freshDatabase();
    try {
      const folder = await projectFolder(gateConfig(database === undefined ? "" : `, store: ${JSON.stringify(database.url)}`, "safe"));
      const argv = ["serve", "--auth", "none-on-loopback", "--port"];
      const server = new Called([...argv, "0"], folder);
      const url = await server.url();
      const client = connect({ url, backoffMs: 50, retries: 2 });
      const question = await client.runs.start({ workflow: "asks", message: "ask", key: "question" });
      const told = following(client.project.stream({ from: "start" }));
      const asked = await until("the question", async () => (await client.pending.list({ kind: "question" }).page()).items[0]);
      // Who was cut off does not know whether it was done; whoever was told so does.
      const load = hammer(client, 3, (error) => RathError.is(error, "server.unreachable"));
      await until("calls", () => load.calls > 30);
      await client.pending.decide(asked.id, { answer: "yes", reason: "because" });
      await server.ends("SIGKILL");
      const next = new Called([...argv, new URL(url).port], folder);
      await next.url();
      const before = load.calls;
      await until("calls", () => load.calls > before + 5);
      await load.stop();
      expect(load.failures).toEqual([]);
      expect(await missing(client, load)).toEqual([]);
      expect(await client.pending.decision(asked.id)).toMatchObject({
        answer: "yes",
        reason: "because",
        by: expect.stringMatching(/^human:/),
      });
      expect((await client.runs.done(question.id)).status).toBe("done");
      // The same key is the same run, also for a server that was not there when it was started.
      expect((await client.runs.start({ workflow: "asks", message: "ask", key: "question" })).id).toBe(question.id);
      const [last] = (await client.sessions.list({ limit: 1 }).page()).items;
      await until("the stream to come back", () => told.events.includes(last?.head ?? ""));
      await told.leave();
      expect(told.failed).toEqual([]);
      expect(new Set(told.events).size).toBe(told.events.length);
      expect(new Set(await linesOf(folder, "witness")).size).toBeGreaterThanOrEqual(load.runs.size);
      expect(await next.ends("SIGTERM")).toBe(0);
    } finally {
      await database?.[Symbol.asyncDispose]();
    }
  },
  90_000,
);
