/** `openrath dev`: a change restarts the server and open runs go on; what ends is replayed; a link lets one browser in, for good. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/client.ts";
import { Called, cleaned, command, projectFolder } from "../support/called.ts";
import { gateConfig } from "../support/gate.ts";
import { until } from "../support/other-process.ts";

cleaned();
let folder = "";
beforeAll(async () => {
  folder = await projectFolder(gateConfig(), "ts");
});

test("serves the project while it is written", async () => {
  const inside = join(folder, "inside");
  await mkdir(inside);
  // A path in the environment means the folder of the call, wherever the project's file lies.
  const dev = new Called(["dev", "--no-open", "--port", "0"], inside, { OPENRATH_STORE: "kept.db" });
  const [, url = "", code] = await dev.says(/open (http:\/\/127\.0\.0\.1:\d+)\/#code=(\S+) \(it lets one browser in\)/);
  const exchange = (): Promise<Response> =>
    fetch(`${url}/v1/keys/exchange`, {
      ...{ method: "POST", body: JSON.stringify({ code }) },
      headers: { "content-type": "application/json" },
    });
  const invited = await exchange();
  expect(invited.status).toBe(201);
  const { token, roles } = (await invited.json()) as { readonly token: string; readonly roles: readonly string[] };
  expect(roles).toEqual(["admin"]);
  expect((await exchange()).status).toBe(401);
  expect(existsSync(join(inside, "kept.db"))).toBe(true);

  const client = connect({ url, key: token });
  const quick = await client.runs.start({ workflow: "quick", message: "hello" });
  await dev.says(new RegExp(`quick ${quick.id.slice(0, 8)} done, replayed: identical`));
  const slow = await client.runs.start({ workflow: "slow", message: "wait" });
  const told: string[] = [];
  const streaming = (async () => {
    for await (const { type } of client.runs.stream(slow.id)) told.push(type);
  })();
  const before = dev.err.length;
  await writeFile(join(folder, "notes.ts"), "export const changed = true;\n");
  await dev.says(/notes\.ts changed: starting again/, before);
  await dev.url(before);
  // The key of the browser that was let in still counts, and what it follows goes on.
  expect(["running", "queued"]).toContain((await client.runs.get(slow.id)).status);
  await writeFile(join(folder, "gate"), "");
  expect((await client.runs.done(slow.id)).status).toBe("done");
  await streaming;
  expect((await client.runs.get(slow.id)).takenUp.length).toBeGreaterThan(1);

  // What does not start is not started again before it was changed.
  const broken = dev.err.length;
  await writeFile(join(folder, "openrath.config.ts"), "export const rath = ;\n");
  await dev.says(/waiting for a change/, broken);
  expect(await dev.ends("SIGTERM")).toBe(0);
}, 90_000);

test("runs the newest session again when it is asked to", async () => {
  const there = await projectFolder(gateConfig());
  const child = spawn(process.execPath, [command, "serve", "--dev", "--link", "--port", "0", "--auth", "none-on-loopback"], {
    ...{ cwd: there, stdio: ["ignore", "ignore", "pipe", "ipc"] },
  });
  try {
    let err = "";
    child.stderr?.on("data", (piece: Buffer) => {
      err += piece.toString();
    });
    const says = async (what: RegExp): Promise<string> => (await until(String(what), () => what.exec(err) ?? undefined))[1] ?? "";
    const client = connect({ url: await says(/open (\S+)\/#code=/) });
    child.send("rerun");
    await says(/there is nothing to run again/);
    const run = await client.runs.start({ workflow: "quick", message: "hello" });
    await client.runs.done(run.id);
    child.send("rerun");
    await says(/[0-9a-f]{8}: 2 of 2 results reused/);
    child.send("link");
    await says(/#code=.*#code=/s);
    const gone = once(child, "exit");
    child.disconnect(); // whoever started it is gone
    await gone;
  } finally {
    child.kill("SIGKILL");
  }
}, 60_000);
