/**
 * The dossiers of many sessions in one folder, under one page: what became of each, who decided, who took over, what it cost, and
 * whether every record is intact. It appears under its name only when all of it is there.
 */
import { randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { runtimeOf } from "../../runtime/replay.ts";
import { version } from "../../runtime/version.ts";
import { counted } from "../../session/counted.ts";
import type { Session } from "../../session/session.ts";
import type { Workflow } from "../../workflow/workflow.ts";
import { cost } from "../cost.ts";
import { decisions } from "../decisions.ts";
import { Cleaner } from "./clean.ts";
import { fillDossier, putInPlace, refuseForeign } from "./dossier.ts";
import { type Claim, type DossierEntry, listPage } from "./list-page.ts";
import type { Dossier } from "./read.ts";

const dossiersFormat = "openrath.dossiers";

/** How dossiers of many sessions are made. */
export interface DossiersOptions {
  /** The title of the page. Default: how many sessions they are of. */
  readonly title?: string | undefined;
  /** The workflow behind each session. Default: the one of the recorded name, where its Rath knows it. */
  readonly workflow?: ((session: Session) => Workflow | undefined) | undefined;
  /** Keys of other homes whose signatures count, as for `verify`. */
  readonly keys?: readonly string[] | undefined;
  /** What you found out about all of them: shown as you say it. */
  readonly claims?: readonly Claim[] | undefined;
}

/** What was written. */
export interface DossiersReport {
  /** The folder. */
  readonly directory: string;
  /** The page in it. */
  readonly page: string;
  /** What the page says, in the order in which they were given. `manifest.json` has the same. */
  readonly sessions: readonly DossierEntry[];
  /** Whether every record is what was written. */
  readonly verified: boolean;
  /** Whether every program still does what is on record; undefined where of one nobody could say. */
  readonly replayed: boolean | undefined;
}

/**
 * Writes the dossiers of many sessions into one folder, each in a folder of its own, with a page that lists all of them. Dossiers
 * that are there are replaced; anything else is left alone, with `value.unsupported`.
 *
 * @example
 * const { page, verified, sessions } = await dossiers(tries, "evidence", { title: "The trials of Monday" });
 * console.log(verified ? page : "do not trust these records", sessions.filter(({ takenOver }) => takenOver > 0).length);
 */
export async function dossiers(sessions: Iterable<Session>, directory: string, options: DossiersOptions = {}): Promise<DossiersReport> {
  const target = resolve(directory);
  await refuseForeign(target, dossiersFormat);
  const partial = `${target}.${randomUUID()}.partial`;
  await mkdir(partial, { recursive: true });
  try {
    const entries: DossierEntry[] = [];
    let said = { title: options.title, claims: options.claims ?? [] };
    for (const session of sessions) {
      entries.push(await entryOf(session, partial, entries, options));
      said = new Cleaner(runtimeOf(session).redact).value(said);
    }
    const { claims, title = counted(entries.length, "session") } = said;
    const manifest = { format: dossiersFormat, version: 1, openrath: version(), node: process.version, title, claims, sessions: entries };
    await writeFile(join(partial, "manifest.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
    await writeFile(join(partial, "index.html"), listPage(title, claims, entries));
    await putInPlace(partial, target);
    const replays = entries.map(({ replayed }) => replayed);
    return {
      ...{ directory: target, page: join(target, "index.html"), sessions: entries, verified: entries.every(({ verified }) => verified) },
      replayed: replays.includes(false) ? false : replays.includes(undefined) ? undefined : true,
    };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

async function entryOf(session: Session, into: string, before: readonly DossierEntry[], options: DossiersOptions): Promise<DossierEntry> {
  const partial = join(into, randomUUID());
  const { read, proof } = await fillDossier(session, partial, { workflow: options.workflow?.(session), keys: options.keys });
  const folder = folderFor(read, new Set(before.map((entry) => entry.folder.toLowerCase())));
  await putInPlace(partial, join(into, folder));
  const { rows, total, interrupted } = await cost(session, { by: "model" });
  const found = {
    status: session.status,
    checks: session.checks.map(({ name, passed, reason }) => ({ name, passed, reason })),
    routes: session.routes.map(({ choice }) => choice),
    calls: session.calls.map(({ id, tool, outcome }) => ({ id, tool, outcome: outcome.type })),
    memory: { read: keysOf(session.memory.reads), written: keysOf(session.memory.writes) },
    decisions: (await decisions(session)).map(({ pending, by, approve, reason }) => ({ about: pending.kind, by, approve, reason })),
    takenOver: interrupted.filter(({ abandoned }) => abandoned).length,
  };
  return {
    ...{ session: session.id, title: read.title, folder, answer: read.output },
    ...read.clean.value(found),
    spent: {
      models: rows.reduce((sum, { calls }) => sum + calls, 0),
      tokens: total.usage.input + total.usage.output,
      usd: total.usage.usd,
    },
    verified: proof.verification.ok,
    problems: proof.verification.problems.length,
    unknownKeys: proof.verification.unknownKeys,
    replayed: proof.replay.done ? proof.replay.identical : undefined,
  };
}

/** Named for people where that can be a name, and for itself where it cannot. */
function folderFor({ title, session }: Dossier, taken: ReadonlySet<string>): string {
  // An accent is left out, not its letter.
  const name = title
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .replace(/[^\w-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60);
  if (name !== "" && !taken.has(name.toLowerCase())) return name;
  for (let nth = 1; ; nth++) {
    const own = nth === 1 ? session.id : `${session.id}-${nth}`;
    if (!taken.has(own)) return own;
  }
}

function keysOf(items: readonly { readonly key: string }[]): readonly string[] {
  return [...new Set(items.map(({ key }) => key))];
}
