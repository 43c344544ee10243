/**
 * Verifies every session of a store. Sessions that come from one another are a family and are verified together, so that what they
 * share is read once.
 */
import type { Runtime } from "../runtime/runtime.ts";
import type { LogRow } from "../store/store.ts";
import { checkAnchor } from "./anchor.ts";
import { checkPlaces, trustedKeys, unknownIn, type Verification, type VerifyOptions, verificationOf } from "./check-record.ts";
import { uncheckedIn } from "./coverage.ts";
import { type Problem, problemOf } from "./problem.ts";
import { type RunStatements, statementLine } from "./statements.ts";

/** Sessions that come from one another, and what was found. */
export interface VerifiedFamily {
  /** The first is where the others come from. */
  readonly sessions: readonly LogRow[];
  readonly verification: Verification;
}

/** What was found in a store. */
export interface VerifiedStore {
  readonly families: readonly VerifiedFamily[];
  /** What an anchor shows; it belongs to no family. */
  readonly problems: readonly Problem[];
  /** The newest statement of every run, each once. Kept elsewhere, they show later whether any of the runs was cut back or removed. */
  readonly statements: readonly string[];
}

interface StoreOptions extends Omit<VerifyOptions, "replay"> {
  /** Only these sessions, with everything behind them. */
  readonly only?: ReadonlySet<string> | undefined;
}

/** Verifies family by family; what an anchor says is judged by all of them. */
export async function verifyStore(runtime: Runtime, options: StoreOptions = {}): Promise<VerifiedStore> {
  const store = await runtime.store();
  const keys = await trustedKeys(runtime, options);
  const families: VerifiedFamily[] = [];
  const runs: RunStatements[] = [];
  for (const family of await familiesIn(runtime)) {
    const sessions = options.only === undefined ? family : family.filter(({ id }) => options.only?.has(id) === true);
    if (sessions.length === 0) continue;
    const places = sessions.map(({ id, head }) => ({ session: id, head }));
    const checked = await checkPlaces(runtime, places, keys, options);
    for (const run of checked.runs) runs.push(run);
    const unchecked = uncheckedIn(checked, unknownIn(checked), options.anchor === undefined ? undefined : 0);
    families.push({ sessions, verification: verificationOf(checked, { findings: checked.findings, reports: [], unchecked }) });
  }
  const statements = newestOfEach(runs);
  if (options.anchor === undefined) return { families, problems: [], statements };
  const { findings } = await checkAnchor({ source: store, runs, keys, concerns: () => true }, options.anchor);
  return { families, problems: findings.map((finding) => problemOf(finding, () => undefined)), statements };
}

/** Families share the run of what was done outside a workflow. */
function newestOfEach(runs: readonly RunStatements[]): readonly string[] {
  const newest = runs.flatMap(({ statements }) => statements.at(-1) ?? []);
  return [...new Set(newest.map(statementLine))];
}

async function familiesIn(runtime: Runtime): Promise<readonly (readonly LogRow[])[]> {
  const families = new Map<string, LogRow[]>();
  const familyOf = new Map<string, LogRow[]>();
  for await (const row of (await runtime.store()).sessions({ log: "session" })) {
    // In order of creation: a session is listed after the one it comes from.
    const family = (row.parent === undefined ? undefined : familyOf.get(row.parent)) ?? [];
    family.push(row);
    familyOf.set(row.id, family);
    if (family.length === 1) families.set(row.id, family);
  }
  return [...families.values()];
}
