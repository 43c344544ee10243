/** The trading example: as its user starts it, and its parts where something is to go wrong. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openrath, type Session } from "openrath";
import { decisions } from "openrath/audit";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { breaches, Desk, failures, trial } from "../../examples/trading/desk.ts";
import { change, type Ledger, openLedger } from "../../examples/trading/market.ts";
import { scripts } from "../../examples/trading/scripts.ts";
import { type Task, tasks } from "../../examples/trading/tasks.ts";
import { ledgerOf } from "../../examples/trading/tools.ts";
import { builtInspector } from "../support/built.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const desk = new Desk();
const deps = { onTrade: () => {} };
const raths = {
  right: openrath({ store: "memory", workflows: { desk }, models: scripts(() => "right"), deps }),
  wrong: openrath({ store: "memory", workflows: { desk }, models: scripts(() => "wrong"), deps }),
};
let folder: string;
let number = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-test-trading-"));
  vi.spyOn(console, "log").mockImplementation(() => {});
});
afterAll(async () => {
  vi.restoreAllMocks();
  await Promise.all(Object.values(raths).map((rath) => rath.close()));
  await rm(folder, { recursive: true, force: true });
});

const taskOf = (name: string): Task => tasks.find((task) => task.name === name)!;
const tried = (name: string, how: "right" | "wrong"): Promise<Session> => trial(raths[how], desk, folder, taskOf(name), ++number);

describe("the whole example", { timeout: 120_000 }, () => {
  let said: string;
  let home: string;

  beforeAll(async () => {
    const { OPENAI_API_KEY: _key, MODEL: _model, ...env } = process.env;
    const args = ["--import", "tsx", "examples/trading/main.ts"];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env: { ...env, TRIALS: "2" } });
    said = stdout;
    home = /^ {2}folder {4}(\S+)$/m.exec(said)?.[1] ?? "";
  }, 120_000);
  afterAll(() => rm(home, { recursive: true, force: true }));

  test("says that no model is live, what became of every trial, and what was proved", async () => {
    expect(said).toContain("models    scripted: no key, no network");
    expect(said.match(/^ {2}[a-z ]+ \d +(?:passed|FAILED), /gm)).toHaveLength(12);
    expect(said).toMatch(/^ {2}tidy up 1 {5}FAILED, database: C-1 has cash 30000/m);
    expect(said).toContain("✓ 1 of 12 trials broke the policy or left a wrong database");
    expect(said).toContain("pass^1 0.917, pass^2 0.833");
    expect(said).not.toContain("DOES NOT HOLD");
    const { claims, sessions } = JSON.parse(await readFile(join(home, "dossiers", "manifest.json"), "utf8"));
    expect(claims.map(({ holds }: { readonly holds: boolean }) => holds)).toEqual(claims.map(() => true));
    const rejected = sessions.filter(({ status }: { readonly status: string }) => status === "rejected");
    expect(rejected.map(({ title }: { readonly title: string }) => title)).toEqual(["tidy up 1"]);
  });

  test("a process that is killed when its trade is on disk is followed by one that does not trade again", () => {
    expect(said).toMatch(
      /✓ process \d+ was killed when its first trade was on disk; process \d+ found\s+the\s+run\s+by\s+its\s+key,\s+took\s+\d+/,
    );
    expect(said).toContain("✓ it asked for that trade again under the same key, and the database has it once");
    const ledger = openLedger(join(home, "large 1.db"));
    expect(ledger.prepare("SELECT symbol, quantity, status FROM orders WHERE client = 'C-2'").all()).toEqual([
      { symbol: "QNT", quantity: 100, status: "filled" },
    ]);
    ledger.close();
  });

  test("Q24: task, environment, workflow, tools, where side effects are, memory and validation are in the dossier", async () => {
    const text = (file: string): Promise<string> => readFile(join(home, "dossiers", "large-1", file), "utf8");
    const [page, report, manifest, lines, verification] = await Promise.all([
      text("index.html"),
      text("report.md"),
      text("manifest.json").then(JSON.parse),
      text("calls.jsonl").then((all) =>
        all
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line)),
      ),
      text("verification.json").then(JSON.parse),
    ]);
    expect(report).toContain("Ben Okoye here, C-2. Buy 100 QNT, limit 310.");
    expect(manifest).toMatchObject({ node: process.version, store: "sqlite", models: [{ model: "scripted", sources: { scripted: 6 } }] });
    expect(manifest.workflows).toMatchObject([{ name: "desk", status: "done" }]);
    expect(lines.map(({ tool }) => tool)).toEqual(["account", "place_order"]);
    const { outcome, approval } = lines[1];
    expect(outcome.value).toMatchObject({ before: { cash: 90_000, orders: [] }, after: { cash: 59_000, holdings: { ORB: 50, QNT: 100 } } });
    expect(approval).toMatchObject({ by: "simulated:desk-head", approved: true });
    expect(page).toContain("No sandbox had to be opened.");
    expect(page).toContain("Nothing was recalled.");
    expect(page).toContain("after the process before it died or was cut off");
    expect(report).toMatch(/- passed: `risk`.*\n- passed: `risk`.*\n- passed: `database`/);
    expect(verification).toMatchObject({ verify: { ok: true }, replay: { identical: true } });
    await using fresh = openrath({ store: "memory" });
    const session = await fresh.import(join(home, "dossiers", "large-1", "session"));
    const database = [...session.events()].find(({ kind }) => kind === "record.linked");
    expect(database?.data).toEqual({ system: "sqlite", id: join(home, "large 1.db") });
    const { instructions } = await session.at(lines[1].id).request();
    expect(instructions).toContain("No short selling: nobody sells more than they hold.");
  });

  test("the dossier of the failed trial says what is wrong with the database", async () => {
    const report = await readFile(join(home, "dossiers", "tidy-up-1", "report.md"), "utf8");
    expect(report).toContain(
      "- **failed**: `database` (`C-1 has cash 30000, bank 5000; C-1 holds 200 LUM; not: C-1 has cash 30900, bank 5000;",
    );
    expect(report).toContain("rejected");
  });

  test("the command at the end opens the inspector", async () => {
    await builtInspector();
    const [, place, id] = /^ {2}OPENRATH_HOME=(\S+) npm run inspect -- (\S+)$/m.exec(said) ?? [];
    const args = ["--import", "tsx", "src/cli/main.ts", "inspect", id ?? "", "--no-open"];
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, OPENRATH_HOME: place },
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const [chunk] = await once(child.stdout, "data");
      const answer = await fetch(String(chunk).trim());
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("assets/")]);
    } finally {
      child.kill();
    }
  });
});

describe("a trial", () => {
  test.each(tasks.map(({ name }) => name))("%s: the right way passes", async (name) => {
    expect(failures(await tried(name, "right"))).toBe("");
  });

  test.each([
    ["large", /^risk: no yes of the client before [^;]*"quantity":100[^;]*$/], // the database is as it should be
    ["buy", /^database: C-1 has cash 28320, bank 5000; C-1 holds 14 ORB; .*; not: C-1 has cash 25200/], // no rule is broken
    ["too large", /^risk: C-2 ordered 62000 in a day, the limit is 50000; database: C-2 has cash 28000, bank 0; .*not: C-2 has cash 90000/],
    ["restricted", /^risk: C-3 ordered the restricted HEX; database: C-3 has cash 16000/],
    ["short", /^risk: C-4 holds -80 ORB; database: C-4 has cash 25000/],
    ["tidy up", /^database: C-1 has cash 30000, bank 5000; C-1 holds 200 LUM; not: /],
  ] as const)("%s: the wrong way is found by the policy, the database or both", async (name, found) => {
    const session = await tried(name, "wrong");
    expect(failures(session)).toMatch(found);
    expect(session.status).toBe("rejected");
  });

  test("who let a large order happen, and who did not, is on record", async () => {
    const decided = async (session: Session) => (await decisions(session)).map(({ by, approve, reason }) => ({ by, approve, reason }));
    const by = "simulated:desk-head";
    expect(await decided(await tried("large", "right"))).toEqual([
      { by, approve: true, reason: "31000 is within the limit for one order" },
    ]);
    const refused = await tried("too large", "right");
    expect(await decided(refused)).toEqual([{ by, approve: false, reason: "62000 is over the limit for one order" }]);
    expect(refused.calls.at(-1)?.outcome.type).toBe("denied");
    expect(ledgerOf(refused).prepare("SELECT key FROM effects").all()).toEqual([]);
  });
});

test.each([
  [
    "order",
    "INSERT INTO orders (client, side, symbol, quantity, price) VALUES ('C-2', 'buy', 'LUM', 1300, 40)",
    /^C-2 ordered 52000 at once/,
  ],
  ["open sale", "INSERT INTO orders (client, side, symbol, quantity, price) VALUES ('C-4', 'sell', 'ORB', 121, 130)", /^C-4 holds -1 ORB/],
  [
    "sale of what is not held",
    "INSERT INTO orders (client, side, symbol, quantity, price) VALUES ('C-4', 'sell', 'LUM', 1, 50)",
    /^C-4 holds -1 LUM/,
  ],
  ["transfer", "UPDATE clients SET cash = cash - 25000, bank = bank + 25000 WHERE id = 'C-1'", /^C-1 has 5000 for open orders of 9500/],
] as const)("the policy finds what no script does: %s", (name, sql, words) => {
  const session = raths.right.session().link({ system: "sqlite", id: join(folder, `${name}.db`) });
  expect(breaches(session)).toEqual([]);
  change(ledgerOf(session), "key", "C-1", sql);
  expect(breaches(session)).toContainEqual(expect.stringMatching(words));
});

test("a change under a key that was used changes nothing and says what it said", () => {
  const ledger: Ledger = openLedger(":memory:");
  const deposit = (key: string) => change(ledger, key, "C-1", "UPDATE clients SET cash = cash + 1 WHERE id = 'C-1'");
  const first = deposit("a");
  expect(first).toMatchObject({ before: { cash: 30_000 }, after: { cash: 30_001 } });
  expect(deposit("a")).toEqual(first);
  expect(deposit("b")).toMatchObject({ before: { cash: 30_001 }, after: { cash: 30_002 } });
  expect(() => change(ledger, "c", "C-1", "UPDATE clients SET cash = 0 WHERE id = 'C-9'")).toThrow("Nothing fits");
  expect(ledger.prepare("SELECT key FROM effects").all()).toHaveLength(2);
  ledger.close();
});
