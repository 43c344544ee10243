/** A process dies around a command of its run: nothing of it goes on, and another process comes to the same files. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openrath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Settled } from "../../src/runtime/run.ts";
import type { CommandResult } from "../../src/session/session.ts";
import { orphans } from "../../src/workspace/owner.ts";
import { bundled } from "../support/bundled.ts";
import { leftIn, mountsWith, processesWith, whyNoLocal } from "../support/leftovers.ts";
import { until } from "../support/other-process.ts";
import { type Point, placed, points, Work } from "./sandbox-work.ts";

const noLocal = await whyNoLocal();
const script = await bundled(new URL("sandbox-child.ts", import.meta.url));

let folder: string;
let workspace: string;
/** The files at the end of a run that nobody disturbed. */
const undisturbed = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rath-sandbox-crash-"));
  workspace = join(folder, "repo");
  await mkdir(join(workspace, "given"), { recursive: true });
  await writeFile(join(workspace, "given/kept.txt"), "kept\n");
  await writeFile(join(workspace, "given/removed.txt"), "removed\n");
  process.env["SLEEP"] = "0";
});
afterAll(async () => {
  delete process.env["SLEEP"];
  await rm(folder, { recursive: true, force: true });
});

async function calm(placement: string): Promise<string> {
  const known = undisturbed.get(placement);
  if (known !== undefined) return known;
  await using rath = openrath({ store: join(folder, `calm-${placement}.db`) });
  const { files } = await (await rath.run(new Work("calm"), placed(rath, placement, workspace))).result();
  undisturbed.set(placement, files.hash);
  return files.hash;
}

let deaths = 0;

interface Died {
  readonly store: string;
  readonly home: string;
  readonly work: Work;
}

/** Runs it in a process that dies at a point, and sees to it that nothing is left of that but files. */
async function dying(placement: string, point: Point): Promise<Died> {
  const death = 1000 + deaths++;
  const temporary = join(folder, `death-${death}`);
  await mkdir(temporary);
  const store = join(temporary, "store.db");
  const marker = `marker-${basename(folder)}-${basename(temporary)}`;
  // Only where it dies in the middle of a command that has to last.
  const sleep = point === "during the command" ? `77.${death}` : "0";
  const child = spawn(process.execPath, [script, store, workspace, placement, marker, point], {
    env: { ...process.env, SLEEP: sleep, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (bytes: Buffer) => {
    said += bytes.toString();
  });
  const [, signal] = (await once(child, "exit")) as [number | null, string | null];
  expect([signal, said]).toEqual(["SIGKILL", ""]);
  // Its helper, the keeper of its namespaces, its commands and what those started.
  for (const trace of [temporary, marker, `sleep 77.${death}`])
    await until(`the end of all with ${trace}`, () => processesWith(trace).length === 0);
  expect(mountsWith(temporary)).toEqual([]);
  return { store, home: `${store}-workspaces`, work: new Work(marker) };
}

async function resumed(rath: Rath): Promise<Settled> {
  for await (const run of rath.runs()) return (await rath.resume(run.id)).settle();
  throw new Error("there is no run");
}

function ofSecond(settled: Settled): CommandResult {
  if (settled.status !== "done") throw new Error(`not done: ${JSON.stringify(settled)}`);
  const outcome = settled.session.calls[2]?.outcome;
  return (outcome as { readonly value: CommandResult }).value;
}

const opened: ReadonlySet<Point> = new Set(points.filter((point) => !point.includes("directory")));

describe.skipIf(noLocal !== undefined)("a process that dies", () => {
  test.concurrent.each(points)("%s leaves nothing but files, and the run ends with the same files", { timeout: 60_000 }, async (point) => {
    const { store, home, work } = await dying("local", point);
    const left = await orphans(home);
    expect(left.length).toBe(opened.has(point) ? 1 : 0);
    {
      await using rath = openrath({ store, workflows: { work } });
      const settled = await resumed(rath);
      // It begins again with the files on record: what was half written is not there.
      expect(ofSecond(settled).stdout).toBe("count.txt\ngiven\nsrc\nhalf\n");
      expect(settled.session.files.hash).toBe(await calm("local"));
      expect(await settled.session.files.text("sum.txt")).toBe("half whole1\n2\n");
    }
    expect(await leftIn(home)).toEqual([]);
  });

  test.concurrent.each(["host", "network"])(
    "in the middle of a command that may reach other things (%s) waits for a decision, and runs again with the recorded files",
    { timeout: 60_000 },
    async (placement) => {
      const { store, home, work } = await dying(placement, "during the command");
      expect((await orphans(home)).length).toBe(1);
      await using rath = openrath({ store, workflows: { work } });
      const waiting = await resumed(rath);
      expect(waiting).toMatchObject({ status: "waiting", pending: [{ kind: "unknown", op: "shell" }] });
      const [pending] = (waiting as Extract<Settled, { status: "waiting" }>).pending;
      await rath.decide(pending?.id as string, { by: "human:test", outcome: "run-again" });
      const settled = await until("the end", async () => {
        const now = await resumed(rath);
        return now.status === "done" && now;
      });
      expect(ofSecond(settled).stdout).toBe("count.txt\ngiven\nsrc\nhalf\n");
      expect(settled.session.files.hash).toBe(await calm("local"));
    },
  );
});
