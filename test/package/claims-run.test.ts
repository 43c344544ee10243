/** `npm run claims`: what it makes of the ledger and of what commands have shown. It runs no test itself here. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { chosen, readLedger } from "../../scripts/claims-ledger.mjs";
import { ledger, writePackets } from "../../scripts/claims-packet.mjs";
import { judge } from "../../scripts/claims-verdict.mjs";

const folder = mkdtempSync(join(tmpdir(), "openrath-packets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rows = readLedger(`
| R | claim | status | command | does not prove |
|---|---|---|---|---|
| R1 | It adds | supported | \`npx vitest run src/add.test.ts test/sums\`; \`npm start\` | that it subtracts |
| R2 | It flies | partial | \`npx vitest run src/fly.test.ts\` | – |
| R3 | It sings | not yet | – | all of it |
`);
const [adds, flies] = rows as [(typeof rows)[number], (typeof rows)[number]];
const started = new Map([["npm start", { code: 0, seconds: 2, output: "started with hunter2-and-more" }]]);
const passing = (name: string, ...more: readonly string[]) => ({
  ...{ name, status: "passed", startTime: 0, endTime: 1000, message: "" },
  assertionResults: ["passed", ...more].map((status, index) => ({ status, fullName: `test ${index}` })),
});
const green = [passing("src/add.test.ts"), passing("test/sums/big.test.ts", "skipped"), passing("src/other.test.ts")];

test("the ledger is read with commands and limits; what is supported is chosen, or what is asked for", () => {
  expect(adds).toMatchObject({ commands: ["npx vitest run src/add.test.ts test/sums", "npm start"], doesNotProve: "that it subtracts" });
  expect(chosen(rows, []).map(({ id }) => id)).toEqual(["R1"]);
  expect(chosen(rows, ["R3", "R2"]).map(({ id }) => id)).toEqual(["R2", "R3"]);
  expect(() => chosen(rows, ["R9"])).toThrow("There is no R9");
});

test("a claim holds when all its tests and commands passed; what was skipped is named", () => {
  expect(judge(adds, started, green)).toMatchObject({
    ...{ verdict: "holds", passed: 3, seconds: 4, problems: [], skipped: ["test/sums/big.test.ts: test 1"] },
  });
});

test.each([
  [
    "a test of it failed",
    started,
    [{ ...green[0], status: "failed", message: "no sum\nat line 1" }, ...green.slice(1)],
    "src/add.test.ts: no sum",
  ],
  ["a test that it names did not run", started, green.slice(0, 1), "test/sums: no test of that name ran"],
  [
    "none of its tests passed",
    started,
    [passing("src/add.test.ts"), passing("test/sums/x.test.ts")].map((file) => ({ ...file, assertionResults: [] })),
    "not one test passed",
  ],
  ["its command failed", new Map([["npm start", { code: 1, seconds: 1, output: "" }]]), green, "npm start: exit code 1"],
  ["its command was not run", new Map(), green, "npm start: was not run"],
])("a claim fails when %s", (_, ran, files, problem) => {
  const { verdict, problems } = judge(adds, ran, files);
  expect([verdict, problems.join()]).toEqual(["fails", expect.stringContaining(problem)]);
});

test("a claim that names no command fails", () => {
  expect(judge({ ...flies, commands: [] }, started, green).problems).toEqual(["no command is named"]);
});

test("a packet has command, verdict, output, scope and a manifest with hashes, and no secret", () => {
  const results = [{ row: adds, judged: judge(adds, started, green) }];
  const source = { name: "openrath", version: "0", commit: "c0ffee", changed: [], lock: "" };
  writePackets(
    folder,
    results,
    { source, command: "npm run claims", began: "2026-01-01T00:00:00.000Z" },
    { THE_TOKEN: "hunter2-and-more" },
  );
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  expect(readdirSync(folder, { recursive: true }).sort()).toEqual(
    ["R1", "R1/README.md", "R1/output.txt", "R1/packet.json", "ledger.md", "manifest.json"].sort(),
  );
  expect(JSON.parse(read("R1/packet.json"))).toMatchObject({
    ...{
      id: "R1",
      verdict: "holds",
      rebuild: "npm run claims -- --only R1",
      commands: adds.commands,
      skipped: ["test/sums/big.test.ts: test 1"],
    },
  });
  expect(read("R1/README.md")).toMatch(
    /What it does not prove:\n\n- that it subtracts\n\nWhat was skipped:\n\n- test\/sums\/big\.test\.ts/,
  );
  expect(read("R1/output.txt")).toContain("started with [THE_TOKEN]");
  expect(ledger(results)).toContain("| R1 | It adds | holds | 3 | 1 tests | 4.0 |");
  const manifest = JSON.parse(read("manifest.json"));
  expect(manifest).toMatchObject({ command: "npm run claims", source, machine: { node: process.version } });
  expect(Object.keys(manifest.files)).toHaveLength(4);
});
