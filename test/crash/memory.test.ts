/**
 * Processes that recall, remember and publish on the same files are killed around every kind of write, and their runs are taken up by
 * others. What everybody reads must be on record, once, and nothing that anybody wrote may be lost unsaid. Each law has a mutant.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, test } from "vitest";
import { Key } from "../../src/runtime/key.ts";
import { bundled } from "../support/bundled.ts";
import type { Mutant } from "./memory-mutants.ts";
import { type Found, inspect } from "./memory-record.ts";

const script = await bundled(new URL("memory-worker.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "rath-memory-kill-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Where a life ends: at the n-th point of a name, or whenever the parent likes. */
type Death = readonly [point: string, nth: number] | "any";

interface Report extends Found {
  /** How many lives ended at each point. */
  readonly landed: Readonly<Record<string, number>>;
}

/** Each list is one process after the other on the same runs; the lists go on beside one another. The last life of each is not ended. */
async function carnage(lists: readonly (readonly Death[])[], runsEach: number, mutant: Mutant = "none"): Promise<Report> {
  const place = mkdtempSync(join(folder, "case-"));
  writeFileSync(join(place, "signing-key.pem"), new Key(undefined).pem, { mode: 0o600 });
  const landed: Record<string, number> = {};
  const stuck: string[] = [];
  const live = async (list: readonly Death[], slot: number): Promise<void> => {
    const runs = Array.from({ length: runsEach }, (_, n) => slot * runsEach + n);
    for (const death of [...list, undefined]) {
      const end = await life(place, runs, death, mutant);
      if (end.point !== undefined) landed[end.point] = (landed[end.point] ?? 0) + 1;
      // Whoever is killed may have said so of a run that went on.
      if (death === undefined) stuck.push(...end.stuck);
    }
  };
  await Promise.all(lists.map(live));
  const found = await inspect(
    place,
    Array.from({ length: lists.length * runsEach }, (_, n) => n),
    mutant,
  );
  return { ...found, faults: [...stuck, ...found.faults], landed };
}

function life(
  place: string,
  runs: readonly number[],
  death: Death | undefined,
  mutant: Mutant,
): Promise<{ readonly point: string | undefined; readonly stuck: readonly string[] }> {
  const [point, nth] = death === undefined || death === "any" ? ["never", 1] : death;
  const child = spawn(process.execPath, [script, place, runs.join(","), point, String(nth), mutant]);
  const stuck: string[] = [];
  let ended: string | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.startsWith("DYING ")) ended = line.slice(6);
    if (line.startsWith("STUCK ")) stuck.push(line);
    if (line === "READY" && death === "any") setTimeout(() => child.kill("SIGKILL"), 20 + Math.random() * 150);
  });
  child.stderr.pipe(process.stderr);
  return new Promise((resolve) =>
    child.on("close", (code, signal) => {
      if (signal === null && code !== 0) stuck.push(`STUCK a process ended with ${code}`);
      resolve({ point: signal === "SIGKILL" ? (ended ?? "any") : undefined, stuck });
    }),
  );
}

const points: readonly (readonly Death[])[] = [
  [
    ["before used", 1],
    ["after append", 3],
    ["after publish", 1],
    ["before now", 1],
    ["before end", 1],
  ],
  [["after append", 2], ["after used", 2], ["before publish", 1], ["after now", 1], "any"],
  [
    ["after used", 1],
    ["before append", 4],
    ["after publish", 2],
    ["before end", 1],
    ["after end", 1],
  ],
];
const rounds = Number(process.env["MEMORY_KILL_ROUNDS"] ?? 1);

describe("processes that die while they remember", () => {
  test("publish what is on record, once, and go on with what they had read", { timeout: 60_000 + rounds * 120_000 }, async () => {
    for (let round = 0; round < rounds; round++) {
      const report = await carnage(points, 4);
      const { landed, faults, ...counts } = report;
      console.log("memory kill:", JSON.stringify({ ...counts, landed }));
      expect(faults).toEqual([]);
      expect(counts.published).toBeGreaterThan(40);
      expect(counts.refused).toBeGreaterThan(0);
      expect(counts.lostUses).toBeGreaterThan(0);
      expect(counts.readAgain).toBeGreaterThan(0);
      for (const [point] of points.flat().filter((death) => death !== "any")) expect(landed[point] ?? 0, point).toBeGreaterThan(0);
    }
  });

  // The mutant, what is killed of how many runs, and the law that it breaks.
  const broken: readonly (readonly [Mutant, readonly (readonly Death[])[], number, string])[] = [
    ["no idempotency", [[["after publish", 1]]], 2, "was published twice"],
    ["early publication", [[["after publish", 1]]], 2, "has no event on disk"],
    ["no pin", [[["after now", 1]]], 2, "it read revisions"],
    ["no comparison", [[["before publish", 1]], [["before publish", 1]], []], 2, "was written over what it had not seen"],
  ];
  test.concurrent.each(broken)("are caught when there is %s (mutant)", { timeout: 180_000 }, async (mutant, lists, runs, fault) => {
    let caught = 0;
    // Whether two processes meet is up to them.
    for (let tries = 0; tries < 5 && caught === 0; tries++) {
      const { faults } = await carnage(lists, runs, mutant);
      caught = faults.filter((text) => text.includes(fault)).length;
    }
    console.log(`memory kill, mutant "${mutant}": caught ${caught} times`);
    expect(caught).toBeGreaterThan(0);
  });
});
