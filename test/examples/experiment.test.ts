/** R59, research: the dossier of an experiment has its inputs, its state, its log, its memory, its decisions and its metrics. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { dossier } from "../../src/audit/audit.ts";
import { openrath } from "../../src/index.ts";

let folder: string;
let page: string;
let calls: readonly Record<string, unknown>[];

beforeAll(async () => {
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  const { Windows } = await import("../../docs/snippets/guide-experiment.ts");
  vi.restoreAllMocks();
  folder = await mkdtemp(join(tmpdir(), "openrath-experiment-"));
  const tide = [10.2, 10.6, 10.3, 10.7, 10.4, 10.8, 10.5, 10.9];
  const windows = new Windows({ past: tide.slice(0, 4), held: tide.slice(4) });
  await using rath = openrath({ store: "memory" });
  await (await rath.run(windows, rath.session("Which window forecasts the tide?"))).result();
  const session = await (await rath.run(windows, rath.session("Is that still so?"))).result();
  const { verified, replayed } = await dossier(session, join(folder, "tide"), { workflow: windows });
  expect([verified, replayed]).toEqual([true, true]);
  page = textOf(await readFile(join(folder, "tide", "index.html"), "utf8"));
  const lines = (await readFile(join(folder, "tide", "calls.jsonl"), "utf8")).trimEnd().split("\n");
  calls = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What a page says, without its markup. */
function textOf(markup: string): string {
  const entities: Record<string, string> = { "&#34;": '"', "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">" };
  return markup
    .replace(/<[^>]*>/g, " ")
    .replace(/&#?\w+;/g, (entity) => entities[entity] ?? entity)
    .replace(/\s+/g, " ");
}

test("inputs: every measurement with its data and its setting, also those that lost", () => {
  const past = [10.2, 10.6, 10.3, 10.7];
  expect(calls).toMatchObject([
    { do: "measure", branch: "window 1", inResult: false, input: { window: 1, data: { past } }, outcome: { type: "ok", value: 0.35 } },
    { do: "measure", branch: "window 2", inResult: true, input: { window: 2, data: { past } }, outcome: { type: "ok", value: 0.175 } },
    { do: "measure", branch: "window 4", inResult: false, input: { window: 4, data: { past } }, outcome: { type: "ok", value: 0.175 } },
  ]);
  expect(page).toContain('"window":4');
});

test("state and decisions: the branches that were left, each with the reason", () => {
  expect(page).toMatch(/window 1 \S+ "window 2" was better; "error below 0.2" failed/);
  expect(page).toMatch(/window 4 \S+ "window 2" was better/);
});

test("metrics: the score of every branch", () => {
  expect(page).toMatch(/error below 0.2 failed score -0.35 step \d+ on “window 1”, not part of the result/);
  expect(page).toMatch(/error below 0.2 passed score -0.175 step \d+ on “window 2”/);
});

test("memory: what was read, and what was written with the verdict it stands on", () => {
  expect(page).toMatch(/which window forecasts the tide windows tide-window version 1 A window 2 forecasts the tide best\./);
  expect(page).toMatch(
    /tide-window project A window 2 forecasts the tide best\. validation trusted \S+ check error below 0.2 → passed \(-0.175\) published/,
  );
});
