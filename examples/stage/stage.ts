/** What stands around an example: which models it asks, what it prints, what it has proved, and how it ends. */
import { fork } from "node:child_process";
import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Session, verify } from "openrath";
import { type Claim, cost, type DossiersOptions, dossiers } from "openrath/audit";
import { live } from "./at-hand.ts";
import { columns, fact, folded, heading, ink } from "./print.ts";

export { fact, heading } from "./print.ts";

const [, dying] = /--dying=(.*)/.exec(process.argv.at(-1) ?? "") ?? [];
/** Everything that the example writes. */
export const folder = dying ?? mkdtempSync(join(tmpdir(), "openrath-example-"));
const began = statSync(folder).birthtimeMs;

/**
 * Runs an example. What goes wrong is a line and an exit code; Ctrl+C, or taking too long, aborts the signal. `die` is what is done
 * instead in the process of `doomed`.
 */
export async function perform(title: string, seconds: number, main: (signal: AbortSignal) => Promise<void>, die?: () => Promise<unknown>) {
  if (dying !== undefined) return die?.();
  const stop = new AbortController();
  for (const sign of ["SIGINT", "SIGTERM"] as const) process.once(sign, () => stop.abort(`stopped by ${sign}`));
  setTimeout(() => stop.abort(`not finished after ${seconds} seconds`), seconds * 1000).unref();
  stop.signal.addEventListener("abort", () => setTimeout(() => process.exit(1), 15_000).unref());
  heading(title);
  fact("models", live === undefined ? "scripted: no key, no network" : `live: ${live}`);
  fact("folder", folder);
  return main(stop.signal).catch((error: Error) => {
    console.error(`failed: ${stop.signal.aborted ? stop.signal.reason : error.message}`);
    process.exitCode = 1;
  });
}

/** Starts the example in another process, which does not come to its end. */
export async function doomed(signal: AbortSignal): Promise<string> {
  const child = fork(process.argv[1] ?? "", [...process.argv.slice(2), `--dying=${folder}`]);
  const by = await new Promise<unknown>((resolve) => child.on("exit", (code, sign) => resolve(sign ?? code)));
  signal.throwIfAborted();
  fact(by === "SIGKILL" ? "killed" : "ended", `process ${child.pid} (${by}); process ${process.pid} goes on from the record`);
  return by === "SIGKILL" ? `process ${child.pid} was killed` : "";
}

/** A process was killed, and the record says that another one went on. */
export async function proveTakenOver(session: Session, killed: string, during: string): Promise<void> {
  if (killed === "" && live !== undefined) return; // a live model need not do what the process was to be killed in
  const taken = (await cost(session)).interrupted.find(({ abandoned }) => abandoned);
  const before = [...session.events()].filter(({ kind, at }) => kind.endsWith(".returned") && at < (taken?.at ?? ""));
  const how = `process ${process.pid} found the run by its key, took ${before.length} results from the record, and went on`;
  prove(killed !== "" && before.length > 0, `${killed} ${during}; ${how}`);
}

/** What was found out so far. */
const claims: Claim[] = [];

/** Notes whether something holds. */
export function prove(holds: boolean, claim: string): void {
  claims.push({ claim, holds });
}

/** The end: the dossiers of everything, what was proved, and where to look. What does not hold fails the example. */
export async function end(sessions: readonly Session[], inspect: string, workflow?: DossiersOptions["workflow"]) {
  const records = await Promise.all(sessions.map((session) => verify(session)));
  const events = records.reduce((sum, record) => sum + record.events, 0);
  const intact = records.every(({ ok, unsigned }) => ok && unsigned === 0);
  prove(intact, `verify recomputed ${events} events from the stored bytes: all intact, all signed`);
  const { page, replayed } = await dossiers(sessions, join(folder, "dossiers"), { workflow, claims });
  prove(replayed === true, "replay took the same way again in every session, and called nothing");
  heading("What was proved");
  for (const { claim, holds } of claims)
    for (const [index, line] of folded(claim, columns - 4).entries())
      console.log(`  ${index > 0 ? " " : holds ? ink("green", "✓") : ink("red", "✗ DOES NOT HOLD:")} ${line}`);
  heading(`Where to look, after ${clock()}`);
  fact("dossiers", pathToFileURL(page).href);
  console.log(`  inspector\n  ${inspect}`); // on a line of its own, to be copied
  if (claims.some(({ holds }) => !holds)) throw new Error("something that was to be proved does not hold");
}

/** How long it has taken so far. */
export function clock(): string {
  return `${((Date.now() - began) / 1000).toFixed(1)} s`;
}
