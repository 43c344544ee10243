/**
 * A support desk on three worker processes and PostgreSQL. Two workers are killed while a tool is at work; others go on with what they had.
 * It ends with one audit of every session, and with a folder to hand on: `npx tsx examples/cluster/main.ts [how many tickets]`.
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Decision, Pending, Rath, Session } from "openrath";
import pg from "pg";
import { audit } from "./audit.ts";
import { openDatabase } from "./database.ts";
import { handOver } from "./evidence.ts";
import { desk, ledgerTable, live, openCluster } from "./team.ts";
import { knowledge, tickets } from "./tickets.ts";
import { Workers } from "./workers.ts";

const asked = tickets.slice(0, Number(process.argv[2] ?? tickets.length));
const folder = await mkdtemp(join(tmpdir(), "openrath-cluster-"));
process.env["OPENRATH_HOME"] = join(folder, "home"); // where the key is that signs this run
const stop = new AbortController();
for (const sign of ["SIGINT", "SIGTERM"] as const) process.once(sign, () => stop.abort(`stopped by ${sign}`));
setTimeout(() => stop.abort("not finished in time"), live === undefined ? 240_000 : 900_000).unref();

await main().catch((error: unknown) => {
  console.error(`failed: ${stop.signal.aborted ? stop.signal.reason : (error as Error).message}`);
  process.exitCode = 1;
});

async function main(): Promise<void> {
  console.log(live === undefined ? "The models are scripted: no key, no network." : `The models are live: ${live}.`);
  await using database = await openDatabase();
  console.log(`PostgreSQL is ${database.about}.`);
  const db = new pg.Pool({ connectionString: database.url });
  await using _pool = { [Symbol.asyncDispose]: () => db.end() };
  await using rath = openCluster(database.url, db);
  await db.query(ledgerTable);
  for (const [key, content] of Object.entries(knowledge)) await rath.memory.publish(await rath.session(content).remember({ key, content }));
  for (const { id, text } of asked) await rath.run(desk, rath.session(`Ticket ${id}: ${text}`, { title: id }), { key: id, queue: true });
  await using workers = new Workers(database.url);
  console.log(`${asked.length} tickets are queued. Workers: ${[1, 2, 3].map(() => workers.start()).join(", ")}.`);
  const { sessions, killed } = await worked(rath, db, workers);
  const report = await audit(sessions, db, killed);
  console.log(`\nThe audit of ${sessions.size} sessions:`);
  for (const { about, holds, says } of report.statements) console.log(`${holds ? "holds " : "FAILS "} ${about.padEnd(11)} ${says}`);
  const evidence = join(folder, "evidence");
  const [first = asked[0]?.id, ...others] = await handOver(sessions, report, evidence);
  console.log(`\nIt took ${(performance.now() / 1000) | 0} s. The database goes now; what is left to look at:`);
  console.log(`  ${evidence}/index.html   # the audit, with dossiers of ${[first, ...others].join(", ")}`);
  console.log(`  npx tsx src/cli/main.ts inspect ${evidence}/sessions/${first}.jsonl   # in the browser, until Ctrl+C`);
  if (report.statements.some(({ holds }) => !holds)) throw new Error("the audit found something that does not hold");
}

/** Until every ticket has an end: two crashes, the people of the shop, and a line for each ticket that is done. */
async function worked(rath: Rath, db: pg.Pool, workers: Workers) {
  const sessions = new Map<string, Session>();
  const seen = new Set<string>();
  const doomed = new Set(["refund", "send_voucher"]);
  while (sessions.size < asked.length) {
    await sleep(50, undefined, { signal: stop.signal });
    for (const { worker, tool } of (await db.query("SELECT worker, tool FROM ledger WHERE NOT confirmed")).rows)
      if (doomed.has(tool) && workers.kill(worker) && doomed.delete(tool))
        console.log(`  worker ${worker} was killed in the middle of ${tool}; ${workers.start()} takes its place`);
    for await (const run of rath.runs({ status: "waiting" }))
      for (const pending of await rath.pending({ run: run.id })) {
        const decision = seen.has(pending.id) ? undefined : await decided(pending, db);
        if (decision === undefined) continue;
        await rath.decide(seen.add(pending.id) && pending.id, decision);
        console.log(`  ${decision.by} says: ${decision.reason}`);
      }
    for (const status of ["done", "failed"] as const)
      for await (const { session: id } of rath.runs({ status })) {
        if (seen.has(id)) continue;
        const session = await rath.open(id);
        const [ticket = id] = /T-\d+/.exec(session.messages[0]?.text ?? "") ?? [];
        sessions.set(seen.add(id) && ticket, session);
        const way = session.routes.map(({ choice }) => choice).join(" → ");
        console.log(`  ${ticket}  ${status}  ${sessions.size}/${asked.length}  ${way}: ${session.text}`);
      }
  }
  return { sessions, killed: 2 - doomed.size };
}

/** One person decides about money; another looks into the mailer's books when nobody knows whether something was sent. */
async function decided(pending: Pending, db: pg.Pool): Promise<Decision | undefined> {
  if (pending.kind === "approval") {
    const { amount } = pending.input as { readonly amount: number };
    const approve = amount <= 200;
    return { by: "human:ada", approve, reason: `${amount} euros are ${approve ? "fine" : "too much for this desk"}` };
  }
  if (pending.kind !== "unknown") return undefined;
  const { rowCount } = await db.query("SELECT FROM ledger WHERE key = $1", [pending.id]);
  if (rowCount === 0) return { by: "human:ben", outcome: "run-again", reason: "the mailer has no such voucher: send it" };
  const outcome = { type: "ok", value: { receipt: pending.id.slice(0, 8) } } as const;
  return { by: "human:ben", outcome, reason: "the mailer has sent this voucher: do not send it again" };
}
