/** `openrath serve` as a real process: greeted, let in by a key, runs executed, ended by a signal, refused when it cannot be. */
import { writeFile } from "node:fs/promises";
import { createServer as createNetServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../src/client/client.ts";
import { Called, cleaned, projectFolder } from "../support/called.ts";
import { gateConfig, linesOf } from "../support/gate.ts";
import { freshDatabase } from "../support/postgres.ts";

cleaned();
let folder = "";
beforeAll(async () => {
  folder = await projectFolder(gateConfig());
});

/** As whoever operates it makes one. */
async function key(...argv: readonly string[]): Promise<string> {
  const made = new Called(["keys", "create", ...argv], folder);
  expect(await made.ended, made.err).toBe(0);
  return made.out.trim();
}

describe("openrath serve", () => {
  test("says where it is and how to get a key, executes runs of its project and of others, and answers what is under way before it ends", async () => {
    const [server, token, other] = await Promise.all([
      new Called(["serve", "--port", "0", "--log-level", "info"], folder),
      key("--role", "operator"),
      key("--role", "operator", "--project", "elsewhere"),
    ]);
    const url = await server.url();
    await server.says(/answers for .*store\.db\nworks on quick, slow, asks, 16 runs at once\ncalls need a key: openrath keys create/);
    const client = connect({ url, key: token });
    const run = await client.runs.start({ workflow: "quick", message: "mine", key: "secret-looking-key" });
    expect(await client.runs.done(run.id)).toMatchObject({ status: "done" });
    const elsewhere = connect({ url, key: other });
    const theirs = await elsewhere.runs.start({ workflow: "quick", message: "theirs" });
    expect(await elsewhere.runs.done(theirs.id)).toMatchObject({ status: "done" });
    await expect(client.runs.get(theirs.id)).rejects.toMatchObject({ code: "run.not-found" });
    expect([...(await linesOf(folder, "witness"))].sort()).toEqual(["mine", "theirs"]);

    const slow = await client.runs.start({ workflow: "slow", message: "wait" });
    const told: string[] = [];
    let heard = (): void => {};
    const began = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const streaming = (async () => {
      for await (const { type } of client.runs.stream(slow.id, { onRetry: ({ error }) => void told.push(error.message) }))
        if (type === "event") heard();
    })();
    await began;
    const result = client.runs.result(slow.id, { wait: 30 });
    const line = (await server.says(/\{.*"msg":"POST \/v1\/runs 201"\}/))[0];
    expect(JSON.parse(line)).toMatchObject({ method: "POST", route: "/v1/runs", status: 201, identity: expect.stringMatching(/^human:/) });
    server.child.kill("SIGTERM");
    await server.says(/stopping: nothing new is begun, what is under way has 10\.0 s; once more stops at once/);
    expect(await result).toMatchObject({ status: "running" });
    await writeFile(join(folder, "gate"), "");
    expect(await server.ended).toBe(0);
    expect(server.err).toMatch(/stopped\n$/);
    expect(server.err).not.toContain(token.slice(16));
    // Whoever comes next goes on with it, and the stream with them.
    const next = new Called(["serve", "--port", new URL(url).port], folder);
    await next.url();
    await streaming;
    expect(told.length).toBeGreaterThan(0);
    expect((await client.runs.get(slow.id)).status).toBe("done");
    expect(await next.ends("SIGINT")).toBe(0);
  }, 90_000);

  test("without a worker leaves runs to openrath worker, on PostgreSQL", async () => {
    await using database = await freshDatabase();
    const there = await projectFolder(gateConfig(`, store: ${JSON.stringify(database.url)}`));
    const server = new Called(["serve", "--port", "0", "--no-worker", "--auth", "none-on-loopback"], there);
    const url = await server.url();
    await server.says(/does not work on runs: openrath worker does\ncalls from this machine need no key and may do everything/);
    const client = connect({ url });
    const run = await client.runs.start({ workflow: "quick", message: "elsewhere" });
    const worker = new Called(["worker"], there);
    expect(await client.runs.done(run.id)).toMatchObject({ status: "done" });
    expect(await Promise.all([server.ends("SIGTERM"), worker.ends("SIGTERM")])).toEqual([0, 0]);
  }, 60_000);

  // Mutants: the worker works for its own project alone; it looks for others only when it begins.
  test("without a worker, runs of other projects and tenants are executed by openrath worker, also of those that come later", async () => {
    await using database = await freshDatabase();
    const there = await projectFolder(gateConfig(`, store: ${JSON.stringify(database.url)}`));
    const keyOf = async (...argv: readonly string[]): Promise<string> => {
      const made = new Called(["keys", "create", "--role", "operator", ...argv], there);
      expect(await made.ended, made.err).toBe(0);
      return made.out.trim();
    };
    const early = await keyOf("--project", "two");
    const server = new Called(["serve", "--port", "0", "--no-worker"], there);
    const worker = new Called(["worker", "--verbose", "--health", "0"], there);
    const url = await server.url();
    const [, health = ""] = await worker.says(/health: (\S+)/);
    await worker.says(/^works for project two too$/m);
    const late = await keyOf("--tenant", "other");
    const runs: string[] = [];
    for (const key of [early, late, await keyOf()]) {
      const client = connect({ url, key });
      const { id } = await client.runs.start({ workflow: "quick", message: `run ${runs.length}` });
      expect(await client.runs.done(id)).toMatchObject({ status: "done" });
      runs.push(id);
    }
    await worker.says(new RegExp(`${runs[0]} quick done project two$`, "m"));
    await worker.says(new RegExp(`${runs[1]} quick done project default of tenant other$`, "m"));
    await worker.says(new RegExp(`${runs[2]} quick done$`, "m"));
    expect(await (await fetch(health)).json()).toMatchObject({ status: "working", executing: 0, taken: 3 });
    expect([...(await linesOf(there, "witness"))].sort()).toEqual(["run 0", "run 1", "run 2"]);
    expect(await Promise.all([server.ends("SIGTERM"), worker.ends("SIGTERM")])).toEqual([0, 0]);
    expect(worker.err).toMatch(/stopped: 3 runs taken\n$/);
  }, 60_000);

  test("says why it cannot serve", async () => {
    const taken = createNetServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { readonly port: number };
    const server = new Called(["serve", "--port", `${port}`], folder);
    expect(await server.ended).toBe(1);
    taken.close();
    expect(server.err).toMatch(/cannot listen on 127\.0\.0\.1:\d+: address already in use\. Choose another port/);
  }, 60_000);
});
