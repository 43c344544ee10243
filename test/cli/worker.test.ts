/** `openrath worker` as real processes on one store: shared work, a death, a takeover, cancelling from elsewhere, health, signals. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openrath } from "../../src/index.ts";
import { openDatabase } from "../../src/sqlite/driver.ts";
import { call } from "../golden-cli/world.ts";
import { Called, cleaned, projectFolder } from "../support/called.ts";
import { until } from "../support/other-process.ts";

/** Each effect leaves a line in a file that no store can take back. */
const config = `
class Quick extends Workflow {
  forward(session: Session) {
    return session.do("witness", () => void appendFileSync("witness", session.messages[0]?.text + "\\n"));
  }
}
class Slow extends Workflow {
  forward(session: Session) {
    return session.do("sleep", ({ signal }) => new Promise((resolve, reject) => {
      appendFileSync("witness", "sleeps in " + process.pid + "\\n");
      setTimeout(resolve, 30_000);
      signal.addEventListener("abort", () => reject(signal.reason));
    }), { repeat: "safe" });
  }
}
export const rath = openrath({ workflows: { quick: new Quick(), slow: new Slow() } });
`;

let folder = "";
cleaned();
beforeAll(async () => {
  folder = await projectFolder(config);
});

/** A call from another process than the workers': this one. */
const cli = (...argv: readonly string[]) =>
  call(undefined, argv, { terminal: false, cwd: tmpdir(), env: { OPENRATH_STORE: file(), USER: "ada" }, now: () => new Date() });
const file = (): string => join(folder, ".openrath/store.db");

async function queued(workflow: string, input = ""): Promise<string> {
  await using rath = openrath({ store: file() });
  return (await rath.run(workflow, rath.session(input), { queue: true })).id;
}
const witness = async (): Promise<readonly string[]> => (await readFile(join(folder, "witness"), "utf8")).trim().split("\n");

const asleep = async (): Promise<readonly string[]> => (await witness()).filter((line) => line.startsWith("sleeps"));

describe("workers", () => {
  test("share one store, take over from one that was killed, obey a cancel from elsewhere, and drain", async () => {
    const first = new Called(["worker", "--verbose", "--health", "0"], folder);
    const [, health = ""] = await first.says(/health: (\S+)/);
    const [, name] = await first.says(/^worker (\S+) works on .*store\.db, 16 runs at once\nworkflows: quick, slow$/m);
    expect(await (await fetch(health)).json()).toMatchObject({ status: "working", worker: name, executing: 0 });
    const slow = await queued("slow");
    await first.says(new RegExp(`${slow} slow taken`));
    const second = new Called(["worker", "--verbose", "--concurrency", "2"], folder);
    await second.says(/workflows/);
    const inputs = ["a", "b", "c", "d"];
    const runs = await Promise.all(inputs.map((input) => queued("quick", input)));
    for (const run of runs)
      await Promise.race([first, second].map((worker) => worker.says(new RegExp(`${run} quick done`)).catch(() => new Promise(() => {}))));
    expect((await witness()).filter((line) => !line.startsWith("sleeps")).sort()).toEqual(inputs);

    first.child.kill("SIGKILL");
    await second.says(new RegExp(`${slow} slow taken`));
    const listed = JSON.parse((await cli("ls", "--runs", "--status", "running", "--json")).out) as readonly { readonly owner: string }[];
    expect(listed).toMatchObject([{ id: slow, workflow: "slow", owner: (await second.says(/^worker (\S+)/))[1] }]);

    // Taken is not begun.
    await until("the sleep in the second worker", async () => (await asleep()).length === 2);
    expect(await cli("cancel", slow, "--reason", "enough")).toMatchObject({ exit: 0, err: expect.stringContaining("cancelled") });
    await second.says(new RegExp(`${slow} slow cancelled`));
    expect(await cli("cancel", slow)).toMatchObject({ exit: 4, out: "" });

    second.child.kill("SIGTERM");
    expect(await second.ended).toBe(0);
    expect(second.err).toMatch(/stopping: .*\nstopped: \d runs? taken\n$/);
    expect(await asleep()).toHaveLength(2);
  }, 60_000);

  test("a second signal ends one at once, and its run is there for others", async () => {
    const worker = new Called(["worker", "--verbose", "--jsonl"], folder);
    const run = await queued("slow");
    await worker.says(new RegExp(`${run} slow taken`));
    worker.child.kill("SIGTERM");
    await worker.says(/stopping/);
    const began = performance.now();
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toBe(143);
    expect(performance.now() - began).toBeLessThan(5000);
    const states = worker.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly status: string; readonly taken: number });
    expect(states.at(0)).toMatchObject({ status: "working", taken: 0 });
    expect(states.at(-1)).toMatchObject({ status: "draining", taken: 1 });
    expect(await cli("cancel", run, "--json")).toMatchObject({ exit: 0, out: expect.stringContaining('"cancelled": true') });
  }, 60_000);
});

describe("a worker that cannot work", () => {
  test("says so before it takes anything", async () => {
    const empty = await mkdtemp(join(tmpdir(), "openrath-empty-"));
    const none = new Called(["worker"], empty);
    expect([await none.ended, none.err]).toEqual([2, expect.stringContaining("names no workflows")]);
    await rm(empty, { recursive: true });

    const database = openDatabase(file());
    const format = database.prepare<{ user_version: number }>("PRAGMA user_version").get()?.user_version;
    database.exec("PRAGMA user_version = 99");
    const newer = new Called(["worker", "--json"], folder);
    expect([await newer.ended, JSON.parse(newer.err)]).toEqual([
      5,
      { error: expect.objectContaining({ code: "store.newer-format", exit: 5 }) },
    ]);
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 99 });
    database.exec(`PRAGMA user_version = ${format}`);
    database.close();
  }, 30_000);
});
