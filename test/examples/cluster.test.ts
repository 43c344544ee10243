/** The cluster example as a user starts it, with fewer tickets, on the PostgreSQL that tests share. */
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim, DossierEntry } from "../../src/audit/audit.ts";
import { openrath, verify } from "../../src/index.ts";
import { sharedPostgres, withClient } from "../support/postgres.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
let said = "";
let evidence = "";
let audit: { readonly claims: readonly Claim[]; readonly sessions: readonly DossierEntry[] };

beforeAll(async () => {
  const { OPENAI_API_KEY: _, MODEL: __, ...env } = process.env;
  const args = ["--import", "tsx", "examples/cluster/main.ts", "8"];
  const run = await promisify(execFile)(process.execPath, args, { cwd: root, env: { ...env, DATABASE_URL: await sharedPostgres() } });
  said = run.stdout;
  evidence = join(/^ {2}folder {4}(\S+)$/m.exec(said)?.[1] ?? "", "dossiers");
  audit = JSON.parse(await readFile(join(evidence, "manifest.json"), "utf8"));
}, 300_000);
afterAll(() => (evidence === "" ? undefined : rm(dirname(evidence), { recursive: true, force: true })));

const of = (ticket: string) => audit.sessions.find(({ title }) => title === ticket) as DossierEntry;

describe("the cluster example", () => {
  test("says what it runs on, kills two workers in the middle of a tool, and finishes every ticket", () => {
    expect(said).toContain("models    scripted: no key, no network");
    expect(said).toMatch(/database {2}the database openrath_cluster_\w+ on \S+ \(DATABASE_URL\)/);
    expect(said).toMatch(/worker \d+ in the middle of refund; \d+ takes its place/);
    expect(said).toMatch(/worker \d+ in the middle of send_voucher; \d+ takes its place/);
    expect(said.match(/^ {2}\d\/8 /gm)).toHaveLength(8);
  });

  test("holds every session against the world's books: verified, replayed, each effect once, whatever died", () => {
    expect(audit.claims.filter(({ holds }) => !holds)).toEqual([]);
    expect(said).toMatch(/✓ 5 of 6 calls were let happen, and the world's books have 5: each once, no other/);
    expect(said).toMatch(/✓ 2 workers were killed; runs were taken over \d+ times, and [1-9]\d* refunds asked for again/);
    expect(said).toMatch(/✓ of [1-9]\d* vouchers nobody knew whether they were sent: a person said so/);
    expect(audit.sessions.map(({ verified, replayed, checks }) => [verified, replayed, checks.at(-1)?.passed])).toEqual(
      Array(8).fill([true, true, true]),
    );
    const effects = audit.sessions.flatMap(({ calls }) => calls).filter(({ tool }) => tool === "refund" || tool === "send_voucher");
    expect(effects.map(({ tool, outcome }) => `${tool} ${outcome}`).sort()).toEqual([
      ...["refund denied", "refund ok", "refund ok", "refund ok"],
      ...["send_voucher ok", "send_voucher ok"],
    ]);
  });

  test("says who took over, who decided, who worked and what it took", () => {
    expect(audit.sessions.filter(({ takenOver }) => takenOver > 0).length).toBeGreaterThanOrEqual(2);
    const lost = audit.sessions.filter(({ decisions }) => decisions.some(({ about }) => about === "unknown"));
    expect(lost.length).toBeGreaterThanOrEqual(1);
    for (const { takenOver, decisions } of lost) {
      expect(takenOver).toBeGreaterThanOrEqual(1);
      expect(decisions).toContainEqual({ by: "human:ben", about: "unknown", reason: expect.stringContaining("the mailer") });
    }
    expect(of("T-03").decisions).toContainEqual({ by: "human:ada", about: "approval", approve: true, reason: "189 euros are fine" });
    expect(of("T-05").decisions).toContainEqual(expect.objectContaining({ by: "human:ada", approve: false }));
    expect(of("T-06").routes).toEqual(["technical", "goodwill", "done"]);
    expect(of("T-06").spent.tokens).toBeGreaterThan(0);
  });

  test("hands on a dossier that answers Q24: task, environment, workflow, tools, sandbox, memory, validation", async () => {
    const folder = join(evidence, "T-06");
    const [manifest, page, calls, verification] = await Promise.all(
      ["manifest.json", "index.html", "calls.jsonl", "verification.json"].map((name) => readFile(join(folder, name), "utf8")),
    );
    const { store, node, workflows, tools, sandboxes } = JSON.parse(manifest ?? "");
    expect(page).toContain("Checkout hung (trace 91cc) and I missed the sale!");
    expect({ store, node }).toEqual({ store: "postgres", node: process.version });
    expect(workflows).toMatchObject([{ name: "desk", revision: expect.any(String), status: "done" }]);
    expect(tools.map(({ name }: { name: string }) => name).sort()).toEqual(["remember", "search_files", "send_voucher", "write_file"]);
    expect(sandboxes).toEqual([{ backend: "memory", isolation: "process", effects: 2 }]);
    const written = (calls ?? "")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(written.find(({ tool }) => tool === "write_file")).toMatchObject({
      sandbox: { backend: "memory" },
      files: [{ path: "note.md" }],
    });
    expect(JSON.parse(verification ?? "")).toMatchObject({ verify: { ok: true, unsigned: 0 }, replay: { identical: true } });
    await using rath = openrath({ store: "memory" });
    const session = await rath.import(join(evidence, "T-06", "session"));
    expect(session.memory.reads.map(({ key }) => key)).toContain("runbook");
    expect(session.memory.writes.map(({ key }) => key)).toEqual(["trace-91cc"]);
    expect(session.checks).toMatchObject([{ name: "answered", passed: true }]);
    expect((await verify(session)).problems).toEqual([]);
  });

  test("leaves a page that names every session, and neither a database nor a process", async () => {
    const page = await readFile(join(evidence, "index.html"), "utf8");
    for (const { title } of audit.sessions) expect(page).toContain(`href="${title}/index.html"`);
    expect(page).not.toContain("does not hold");
    const [, database] = /database (openrath_cluster_\w+)/.exec(said) ?? [];
    const left = await withClient(await sharedPostgres(), (client) =>
      client.query("SELECT datname FROM pg_database WHERE datname = $1", [database]),
    );
    expect(left.rows).toEqual([]);
    const workers = said
      .match(/workers {3}(.*);/)?.[1]
      ?.split(", ")
      .concat([...said.matchAll(/; (\d+) takes its place/g)].map(([, pid = ""]) => pid));
    expect(workers).toHaveLength(5);
    for (const pid of workers ?? []) expect(() => process.kill(Number(pid), 0), `worker ${pid}`).toThrow("ESRCH");
  });
});
