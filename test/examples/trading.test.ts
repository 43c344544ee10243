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
import { openLedger } from "../../examples/trading/ledger.ts";
import { breaches } from "../../examples/trading/policy.ts";
import { scripts } from "../../examples/trading/scripts.ts";
import { type Task, tasks } from "../../examples/trading/tasks.ts";
import { passHat, type Trial, trial } from "../../examples/trading/trials.ts";
import { builtInspector } from "../support/built.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const rath = openrath({ store: "memory" });
let folder: string;
let number = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-test-trading-"));
  vi.spyOn(console, "log").mockImplementation(() => {});
});
afterAll(async () => {
  vi.restoreAllMocks();
  await rath.close();
  await rm(folder, { recursive: true, force: true });
});

const taskOf = (name: string): Task => tasks.find((task) => task.name === name)!;
const tried = (name: string, how: "right" | "wrong"): Promise<Trial> =>
  trial(rath, folder, taskOf(name), ++number, scripts(taskOf(name), how));

describe("the whole example", { timeout: 120_000 }, () => {
  let said: string;
  let home: string;

  beforeAll(async () => {
    const { OPENAI_API_KEY: _key, MODEL: _model, ...env } = process.env;
    const args = ["--import", "tsx", "examples/trading/main.ts"];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env: { ...env, TRIALS: "2" } });
    said = stdout;
    home = /Everything is in (\S+)\. /.exec(said)?.[1] ?? "";
  }, 120_000);
  afterAll(() => rm(home, { recursive: true, force: true }));

  test("says that no model is live, and what became of every trial", async () => {
    expect(said).toContain("The models are scripted: no key, no network.");
    expect(said).toMatch(/^large {7}passed {2}passed {2}\d+ tokens {2}\$0\.0000$/m);
    expect(said).toMatch(/^tidy up {5}FAILED {2}passed/m);
    expect(said).toContain("pass^1 0.917   pass^2 0.833");
    const { model, trials } = JSON.parse(await readFile(join(home, "results.json"), "utf8"));
    expect(model).toBe("scripted, seed 1");
    expect(trials.filter(({ passed }: Trial) => !passed).map(({ name }: Trial) => name)).toEqual(["tidy up 1"]);
  });

  test("a process that is killed when its trade is on disk is followed by one that does not trade again", () => {
    expect(said).toMatch(/Process \d+ was ended by SIGKILL when its first trade was on disk/);
    expect(said).toContain('"large 1" was cut off 1 time; its database was changed 1 time.');
    const { rows, close } = openLedger(join(home, "large-1.db"));
    expect(rows("SELECT symbol, quantity, status FROM orders WHERE client = 'C-2'")).toEqual([
      { symbol: "QNT", quantity: 100, status: "filled" },
    ]);
    close();
  });

  test("Q24: task, environment, workflow, tools, where side effects are, memory and validation are in the dossier", async () => {
    const text = (file: string): Promise<string> => readFile(join(home, "accepted", file), "utf8");
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
    expect(lines.map(({ tool }) => tool)).toEqual(["account", "quotes", "place_order"]);
    const { outcome, approval } = lines[2];
    expect(outcome.value).toMatchObject({ before: { cash: 90_000, orders: [] }, after: { cash: 59_000, holdings: { ORB: 50, QNT: 100 } } });
    expect(approval).toMatchObject({ by: "simulated:desk-head", approved: true });
    expect(page).toContain("No sandbox had to be opened.");
    expect(page).toContain("Nothing was recalled.");
    expect(page).toContain("after the process before it died or was cut off");
    expect(report).toMatch(/- passed: `risk`.*\n- passed: `risk`.*\n- passed: `database`/);
    expect(verification).toMatchObject({ verify: { ok: true }, replay: { identical: true } });
    await using fresh = openrath({ store: "memory" });
    const session = await fresh.import(join(home, "accepted", "session"));
    const database = [...session.events()].find(({ kind }) => kind === "record.linked");
    expect(database?.data).toEqual({ system: "sqlite", id: join(home, "large-1.db") });
    const { instructions } = await session.at(lines[2].id).request();
    expect(instructions).toContain("No short selling: nobody sells more than they hold.");
  });

  test("the dossier of the failed trial says what is wrong with the database", async () => {
    const report = await readFile(join(home, "failed", "report.md"), "utf8");
    expect(report).toContain("- **failed**: `database` (`cash of C-1: 30000, not 28000; bank of C-1: 5000, not 7000`)");
    expect(report).toContain("rejected");
  });

  test("the command at the end opens the inspector", async () => {
    await builtInspector();
    const command = /^ {2}(npx tsx src\/cli\/main\.ts inspect \S+)$/m.exec(said)?.[1] ?? "";
    const child = spawn(`${command} --no-open`, { cwd: root, shell: true, detached: true, stdio: ["ignore", "pipe", "ignore"] });
    try {
      const [chunk] = await once(child.stdout, "data");
      const [, origin] = /(http:\/\/[^/]+)\//.exec(String(chunk)) ?? [];
      const answer = await fetch(`${origin}/`);
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("assets/")]);
    } finally {
      process.kill(-child.pid!, "SIGTERM");
    }
  });
});

describe("a trial", () => {
  test.each(tasks.map(({ name }) => name))("%s: the right way passes", async (name) => {
    expect((await tried(name, "right")).failed).toEqual([]);
  });

  test.each([
    ["large", [/^risk: no yes of the client before .*"quantity":100/]], // the database is as it should be
    ["buy", [/^database: cash of C-1: 28320, not 25200; holdings of C-1: /]], // no rule is broken
    ["too large", [/^risk: C-2 ordered 62000 in a day, the limit is 50000/, /^database: cash of C-2: 28000, not 90000/]],
    ["restricted", [/^risk: C-3 ordered the restricted HEX/, /^database: cash of C-3: 16000, not 20000/]],
    ["short", [/^risk: C-4 holds -80 ORB/, /^database: cash of C-4: 25000, not 15400/]],
    ["tidy up", [/^database: cash of C-1: 30000, not 28000; bank of C-1: 5000, not 7000$/]],
  ] as const)("%s: the wrong way is found by the policy, the database or both", async (name, found) => {
    const { passed, failed, session } = await tried(name, "wrong");
    expect(passed).toBe(false);
    expect(failed).toEqual(found.map((words) => expect.stringMatching(words)));
    expect(session.status).toBe("rejected");
  });

  test("who let a large order happen, and who did not, is on record", async () => {
    const decided = async ({ session }: Trial) => (await decisions(session)).map(({ by, approve, reason }) => ({ by, approve, reason }));
    const by = "simulated:desk-head";
    expect(await decided(await tried("large", "right"))).toEqual([
      { by, approve: true, reason: "31000 is within the limit for one order" },
    ]);
    const refused = await tried("too large", "right");
    expect(await decided(refused)).toEqual([{ by, approve: false, reason: "62000 is over the limit for one order" }]);
    expect(refused.session.calls.at(-1)?.outcome.type).toBe("denied");
    expect(refused.trades).toBe(0);
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
] as const)("the policy finds what no script does: %s", (_, sql, words) => {
  const ledger = openLedger(":memory:");
  const nothing: Session = rath.session();
  expect(breaches(ledger, nothing)).toEqual([]);
  ledger.change("key", "C-1", sql);
  expect(breaches(ledger, nothing)).toContainEqual(expect.stringMatching(words));
  ledger.close();
});

test("a change under a key that was used changes nothing and says what it said", () => {
  const ledger = openLedger(":memory:");
  const deposit = (key: string) => ledger.change(key, "C-1", "UPDATE clients SET cash = cash + 1 WHERE id = 'C-1'");
  const first = deposit("a");
  expect(first).toMatchObject({ before: { cash: 30_000 }, after: { cash: 30_001 } });
  expect(deposit("a")).toEqual(first);
  expect(deposit("b")).toMatchObject({ before: { cash: 30_001 }, after: { cash: 30_002 } });
  expect(() => ledger.change("c", "C-1", "UPDATE clients SET cash = 0 WHERE id = 'C-9'")).toThrow("Nothing fits");
  expect(ledger.rows("SELECT key FROM effects")).toHaveLength(2);
  ledger.close();
});

test("pass^k is the share of draws of k trials that have all passed", () => {
  const draws = (items: readonly boolean[], k: number): readonly (readonly boolean[])[] =>
    k === 0 ? [[]] : items.flatMap((item, index) => draws(items.slice(index + 1), k - 1).map((rest) => [item, ...rest]));
  for (let n = 1; n <= 5; n++)
    for (let bits = 0; bits < 2 ** n; bits++)
      for (let k = 1; k <= n; k++) {
        const passes = Array.from({ length: n }, (_, index) => ((bits >> index) & 1) === 1);
        const all = draws(passes, k);
        const tasksTried = [passes, Array.from({ length: n }, () => true)].map((trials) => trials.map((passed) => ({ passed })));
        expect(passHat(k, tasksTried)).toBeCloseTo((all.filter((draw) => draw.every(Boolean)).length / all.length + 1) / 2, 12);
      }
});
