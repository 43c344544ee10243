/** What the record of a run says, asked after it has ended: nobody takes part any more. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Rath, replay, type Session, verify } from "openrath";
import { cost, type DossierReport, graph } from "openrath/audit";
import { type Issue, repositories } from "./repair.ts";
import { fact, prove } from "./show.ts";
import type { Team } from "./team.ts";

/** One process was killed, another went on; what the killed command had written was taken back before it ran again. */
export async function proveResumed(session: Session, { pid, signal, during }: Killed, recorded: number): Promise<void> {
  const { interrupted } = await cost(session);
  prove(signal === "SIGKILL" && interrupted.some(({ abandoned }) => abandoned), `process ${pid} was killed in the middle of ${during}`);
  prove(recorded > 0, `process ${process.pid} found the run by its key and took ${recorded} answers from the record`);
  const commands = session.calls.filter(({ tool }) => tool === "shell");
  const added = commands.flatMap(({ input }) => /^echo '(.*)' >> CHANGES\.md/.exec((input as { command: string }).command)?.[1] ?? []);
  const lines = (await session.files.text("CHANGES.md")).split("\n");
  for (const line of added)
    prove(
      lines.filter((one) => one === line).length === 1,
      "the killed command ran again on the files from before it: its line is there once",
    );
}

export interface Killed {
  readonly pid: number | undefined;
  readonly signal: string | null;
  /** What it was doing. */
  readonly during: string;
}

/** Patches that did not make it stay on record, with the reason. */
export async function proveRejected(session: Session): Promise<void> {
  const { nodes } = await graph(session);
  const lost = nodes.filter(({ status }) => status === "rejected");
  prove(
    lost.length > 0 && lost.every(({ reason }) => reason !== undefined),
    `rejected, and on record with the reason: ${lost.map(({ label }) => `"${label}"`).join(" and ")}`,
  );
}

/** The tests pass; where commands are isolated, every check acted in a sandbox in which nobody had worked before. */
export function proveTested(session: Session, { name }: Issue): void {
  const { passed, reason } = session.checks.at(-1) ?? {};
  const isolated = session.placement?.sandbox === "local";
  const used = new Set(session.calls.map(({ acted }) => acted?.id));
  const clean = session.checks.every(({ acted }) => acted?.id !== undefined && !used.has(acted.id));
  prove(passed === true && (clean || !isolated), `${name}: ${reason}${isolated ? ", in a sandbox that no coder had used" : ""}`);
}

/** Until `apply` the repository was only read, and then exactly the patch was written. */
export async function proveApplied(session: Session, { name, repository }: Issue): Promise<void> {
  const would = await session.apply(repository, { dryRun: true });
  fact("dry run", `apply would write ${would.map(({ path, kind }) => `${path} (${kind})`).join(", ")}`);
  prove(await untouched(repository, name), `${name}: the repository was only read, also by the dry run of apply`);
  const wrote = (await session.apply(repository)).map(({ path }) => path);
  fact("apply", `wrote ${wrote.join(", ")}`);
  const same = wrote.map(async (path) => (await readFile(join(repository, path), "utf8")) === (await session.files.text(path)));
  prove((await Promise.all(same)).every(Boolean) && wrote.length === would.length, `${name}: apply wrote ${wrote.join(" and ")}`);
}

/** Whether a repository is as it was copied. */
async function untouched(repository: string, name: string): Promise<boolean> {
  const [there = [], before = []] = [await readdir(repository), await readdir(join(repositories, name))].map((names) => names.toSorted());
  const same = there.map(async (file) => (await readFile(join(repository, file))).equals(await readFile(join(repositories, name, file))));
  return there.join() === before.join() && (await Promise.all(same)).every(Boolean);
}

/** The record is intact, the program still does what is on record, and the dossier says so. */
export async function proveRecord(session: Session, team: Team, { name }: Issue, { verified, replayed }: DossierReport): Promise<void> {
  const report = await replay(session, team);
  prove(report.identical && replayed === true, `${name}: replay compared ${report.events} events and called nothing`);
  const { ok, events, unsigned } = await verify(session);
  prove(ok && verified && unsigned === 0, `${name}: verify recomputed ${events} events from the stored bytes: all intact, all signed`);
}

/** What was learned names the failure as its evidence, and is for everybody since the tests passed. */
export async function proveLearned(session: Session, rath: Rath): Promise<void> {
  const [written] = session.memory.writes;
  const published = await rath.memory.get(written?.key ?? "");
  const failed = session.checks.find(({ passed }) => !passed);
  prove(
    published?.state === "published" && published.origin === "failure" && published.because.includes(failed?.event ?? "-"),
    `"${written?.key}" was remembered because of the failed tests, and published when the repaired patch had passed them`,
  );
}

/** The lesson of the first run was recalled in the second, and its patch was right at once. */
export async function proveRecall(first: Session, second: Session): Promise<void> {
  const [written] = first.memory.writes;
  const read = second.memory.reads.find(({ event }) => event === written?.event);
  const failed = first.checks.find(({ passed }) => !passed);
  prove(
    read?.recall.injected === true && read.because.includes(failed?.event ?? "-"),
    `the second run recalled "${read?.key}" with its evidence, the failed tests of the first run, and its models read it`,
  );
  const [before, after] = [await spent(first), await spent(second)];
  prove(
    second.checks.every(({ passed }) => passed) && after.calls < before.calls && after.tokens < before.tokens,
    `so its patch passed at once: ${after.calls} model calls and ${after.tokens} tokens instead of ${before.calls} and ${before.tokens}`,
  );
}

/** On all branches, also those that were rejected. */
async function spent(session: Session): Promise<{ readonly calls: number; readonly tokens: number }> {
  const { rows, total } = await cost(session, { by: "model" });
  return { calls: rows.reduce((sum, { calls }) => sum + calls, 0), tokens: total.usage.input + total.usage.output };
}

/** A budget was crossed, what was read was shortened, and nothing of it is gone. */
export async function proveShortened(session: Session): Promise<void> {
  const { crossed } = await cost(session);
  const { compressions, messages } = session;
  const [first] = compressions;
  prove(
    crossed.some(({ limit }) => limit === "tokens"),
    `a coder used up its budget of ${crossed[0]?.of} tokens (${crossed.length} times)`,
  );
  prove(
    first?.dropped.every((event) => messages.some((message) => message.event === event)) === true,
    `a summary took the place of what it had read (${first?.tokens.after} tokens instead of ${first?.tokens.before}), and all of that is still on record`,
  );
}
