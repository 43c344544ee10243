/**
 * `npm start`: pays six people on two parallel forks, is killed in the middle, and goes on in another process.
 * Every payment is a line in a ledger outside the store, so whoever counts the lines sees what really happened.
 */
import { fork } from "node:child_process";
import { rmSync } from "node:fs";
import { appendFile, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { graph } from "../src/audit/audit.ts";
import { openrath, type Pending, replay, verify } from "../src/index.ts";
import { Payout, regions } from "./payout.ts";

const [role, given] = process.argv.slice(2);
const folder = given ?? (await mkdtemp(join(tmpdir(), "openrath-start-")));
const ledger = join(folder, "ledger.txt");
const settings = { store: join(folder, "store.db"), key: "payout-2026-11", task: "Pay everybody in the north and in the south" };
const all = [...regions.north.map(payment), ...regions.south.map(payment), "close the books"];

if (role === "doomed") await pay();
else {
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  process.once("SIGINT", () => process.exit(130));
  try {
    await Promise.race([main(), tooLong(50)]);
  } catch (error) {
    console.error(`failed  ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}

/** The first life: Ben's payment is in the ledger, Eve's is about to begin, then the process is gone. */
async function pay(): Promise<void> {
  const payout = new Payout(async (what) => {
    if (what === "pay Eve") {
      while (!(await lines()).includes("pay Ben")) await new Promise((resolve) => setTimeout(resolve, 5));
      process.kill(process.pid, "SIGKILL");
    }
    await appendFile(ledger, `${what}\n`);
    return what === "pay Ben" ? new Promise<string>(() => {}) : what;
  });
  const rath = openrath({ store: settings.store, workflows: { payout } });
  await (await rath.run(payout, rath.session(settings.task), { key: settings.key })).result();
}

/** The second life, and what it proves. */
async function main(): Promise<void> {
  const began = performance.now();
  const doomed = fork(fileURLToPath(import.meta.url), ["doomed", folder], { killSignal: "SIGKILL", timeout: 30_000 });
  const signal = await new Promise<string | null>((resolve) => doomed.on("exit", (_, by) => resolve(by)));
  const survived = await lines();
  prove(
    signal === "SIGKILL" && survived.length === 3,
    `process ${doomed.pid} was killed (${signal}) after ${survived.length} of ${all.length} effects: ${survived.join(", ")}`,
  );

  let acts = 0;
  const payout = new Payout(async (what) => {
    acts++;
    await appendFile(ledger, `${what}\n`);
    return what;
  });
  await using rath = openrath({ store: settings.store, workflows: { payout } });
  const run = await rath.run(payout, rath.session(settings.task), { key: settings.key });
  const settled = await run.settle();
  const unknown = settled.status === "waiting" ? settled.pending.filter(isUnknown) : [];
  prove(
    acts === 0 && unknown.length === 2,
    `process ${process.pid} found the run by its key, repeated ${acts} effects and asks about ${unknown.length}: ${unknown.map(({ op }) => op).join(", ")}`,
  );

  for (const { id, op } of unknown) {
    const happened = (await lines()).includes(op);
    console.log(`        "${op}" ${happened ? "is in the ledger: it happened" : "is not in the ledger: run it again"}`);
    const outcome = happened ? ({ type: "ok", value: op } as const) : "run-again";
    await rath.decide(id, { by: "person:accountant", reason: "looked at the ledger", outcome });
  }
  const session = await run.result();
  const paid = await lines();
  prove(
    all.every((what) => paid.filter((line) => line === what).length === 1) && paid.length === all.length,
    `all ${all.length} effects happened, each exactly once: ${survived.length} before the kill, ${acts} after it`,
  );

  const before = acts;
  const report = await replay(session, payout);
  prove(
    report.identical && acts === before && (await lines()).length === paid.length,
    `replay compared ${report.events} events and made ${acts - before} calls; the ledger still has ${paid.length} lines`,
  );

  const { ok, problems, events, unsigned } = await verify(session);
  prove(
    ok,
    `verify recomputed ${events} events from the stored bytes: ${problems.length} problems, ${unsigned} not covered by a signature`,
  );

  const lineage = await graph(session);
  prove(lineage.nodes.length === 3, `the graph has ${lineage.nodes.length} branches (Mermaid):`);
  console.log(`\n${lineage.toMermaid()}\nAll of this took ${((performance.now() - began) / 1000).toFixed(1)} s.`);
}

async function lines(): Promise<readonly string[]> {
  const text = await readFile(ledger, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

function payment(person: string): string {
  return `pay ${person}`;
}

function isUnknown(pending: Pending): pending is Extract<Pending, { kind: "unknown" }> {
  return pending.kind === "unknown";
}

function prove(holds: boolean, claim: string): void {
  if (!holds) throw new Error(`not proved: ${claim}`);
  console.log(`proved  ${claim}`);
}

async function tooLong(seconds: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000).unref());
  throw new Error(`not finished after ${seconds} seconds`);
}
