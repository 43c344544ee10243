/**
 * A support desk on three worker processes and PostgreSQL. Two workers are killed while a tool is at work; others go on with what they had.
 * It ends with one audit of every session, and with a folder to hand on: `npx tsx examples/cluster/main.ts [how many tickets]`.
 */
import { join } from "node:path";
import type { Decision, Pending, Run, Session } from "openrath";
import { cost, decisions } from "openrath/audit";
import pg from "pg";
import { live } from "../stage/at-hand.ts";
import { attend } from "../stage/attend.ts";
import { openDatabase } from "../stage/database.ts";
import { end, fact, folder, perform, prove } from "../stage/stage.ts";
import { Workers } from "../stage/workers.ts";
import { desk, openCluster } from "./team.ts";
import { knowledge, tickets } from "./tickets.ts";
import { ledgerTable } from "./world.ts";

process.env["OPENRATH_HOME"] = join(folder, "home"); // where the key is that signs this run
await perform("A support desk is killed and audited", live === undefined ? 240 : 900, main);

async function main(signal: AbortSignal): Promise<void> {
  await using database = await openDatabase();
  fact("database", database.about);
  const db = new pg.Pool({ connectionString: database.url });
  await using _pool = { [Symbol.asyncDispose]: () => db.end() };
  await using rath = openCluster(database.url, db);
  await db.query(ledgerTable);
  for (const [key, content] of Object.entries(knowledge)) await rath.memory.publish(await rath.session(content).remember({ key, content }));
  const runs: Run[] = [];
  for (const { id, text } of tickets.slice(0, Number(process.argv[2] ?? tickets.length)))
    runs.push(await rath.run(desk, rath.session(`Ticket ${id}: ${text}`, { title: id }), { key: id, queue: true }));
  await using workers = new Workers(new URL("worker.ts", import.meta.url), { DATABASE_URL: database.url });
  fact("workers", `${[1, 2, 3].map(() => workers.start()).join(", ")}; ${runs.length} tickets are queued`);
  const doomed = new Set(["refund", "send_voucher"]);
  const sessions = await attend(rath, runs, { signal, meanwhile: () => crash(db, workers, doomed), decide: (one) => decided(one, db) });
  await proveLedger(sessions, db, 2 - doomed.size);
  await end(sessions, `npm run inspect -- ${join(folder, "dossiers", "T-01", "session")}`);
}

/** Two workers are killed while a tool is at work: it has acted, and has not said so. Others take their places. */
async function crash(db: pg.Pool, workers: Workers, doomed: Set<string>): Promise<void> {
  for (const { worker, tool } of (await db.query("SELECT worker, tool FROM ledger WHERE NOT confirmed")).rows)
    if (doomed.has(tool) && workers.kill(worker) && doomed.delete(tool))
      fact("killed", `worker ${worker} in the middle of ${tool}; ${workers.start()} takes its place`);
}

/** One person decides about money; another looks into the mailer's books when nobody knows whether something was sent. */
async function decided(pending: Pending, db: pg.Pool): Promise<Decision | undefined> {
  if (pending.kind === "approval") {
    const { amount } = pending.input as { readonly amount: number };
    return { by: "human:ada", approve: amount <= 200, reason: `${amount} euros are ${amount <= 200 ? "fine" : "too much for this desk"}` };
  }
  if (pending.kind !== "unknown") return undefined;
  const { rowCount } = await db.query("SELECT FROM ledger WHERE key = $1", [pending.id]);
  if (rowCount === 0) return { by: "human:ben", outcome: "run-again", reason: "the mailer has no such voucher: send it" };
  const outcome = { type: "ok", value: { receipt: pending.id.slice(0, 8) } } as const;
  return { by: "human:ben", outcome, reason: "the mailer has sent this voucher: do not send it again" };
}

/** What is on record of all sessions, held against what the world has in its own books. */
async function proveLedger(sessions: readonly Session[], db: pg.Pool, killed: number): Promise<void> {
  const { rows } = await db.query<{ key: string; asked: number }>("SELECT key, asked FROM ledger");
  const effects = sessions.flatMap(({ calls }) => calls.filter(({ tool }) => tool === "refund" || tool === "send_voucher"));
  const done = effects.filter(({ outcome }) => outcome.type === "ok");
  const once = done.every(({ id }) => rows.filter(({ key }) => key === id).length === 1) && rows.length === done.length;
  prove(once, `${done.length} of ${effects.length} calls were let happen, and the world's books have ${rows.length}: each once, no other`);
  const again = rows.filter(({ asked }) => asked > 1).length;
  const interrupted = (await Promise.all(sessions.map((session) => cost(session)))).flatMap((one) => one.interrupted);
  const taken = interrupted.filter(({ abandoned }) => abandoned).length;
  prove(
    taken >= killed,
    `${killed} workers were killed; runs were taken over ${taken} times, and ${again} refunds asked for again under their key`,
  );
  const unknown = (await Promise.all(sessions.map(decisions))).flat().filter(({ pending }) => pending.kind === "unknown");
  prove(
    unknown.every(({ by }) => by === "human:ben"),
    `of ${unknown.length} vouchers nobody knew whether they were sent: a person said so`,
  );
  prove(
    sessions.every(({ checks }) => checks.at(-1)?.passed),
    `${sessions.length} of ${sessions.length} tickets have an answer`,
  );
}
