/**
 * The sessions of a project, newest first, a page at a time. What rows say is cheap; status, usage and lineage are a fold of a session's
 * events. So a page ends when it has read as much as one call may, full or not, and says where to go on.
 */
import { heedErasures } from "../runtime/heed-erasures.ts";
import { openRuns } from "../runtime/open-runs.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { parseEnvelope } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { LogRow, RunRow, Store } from "../store/store.ts";
import type { SessionRow } from "../wire/api/session.ts";
import { standingOf } from "../wire/standing.ts";
import { summaryOf } from "./session-resource.ts";

export interface SessionQuery {
  readonly limit: number;
  readonly after?: string | undefined;
  /** How they stand. */
  readonly status?: SessionRow["standing"];
  readonly tag?: string | undefined;
  readonly title?: string | undefined;
  readonly parent?: string | undefined;
  readonly roots: boolean;
  /** Whether events are read: needed to tell a status. */
  readonly folded: boolean;
}

/** How much one page looks at: rows, and steps of the sessions that are folded. */
const mostRows = 5000;
const mostSteps = 50_000;
const rowsAtOnce = 100;
/** Where it is asked how they stand, all open runs are gone through for each portion. */
const rowsAtOnceByStatus = 500;
/** So stands only what a run works on. */
const ofRuns: ReadonlySet<string> = new Set(["running", "queued"]);

type Summary = ReturnType<typeof summaryOf>;
type Listed = Pick<Summary, "id" | "head" | "tags" | "step" | "changed"> & {
  readonly [Field in keyof Summary]?: Summary[Field] | undefined;
} & Pick<SessionRow, "children" | "run" | "standing">;

interface SessionPage {
  readonly items: readonly Listed[];
  readonly next?: string;
}

export async function listSessions(runtime: Runtime, query: SessionQuery): Promise<SessionPage> {
  const page = await found(runtime, query);
  return query.folded ? { ...page, items: await withOthers(await runtime.store(), page.items) } : page;
}

/** What branches and runs say of the sessions of a page: it changes while they stay as they are. */
async function withOthers(store: Store, items: readonly Listed[]): Promise<Listed[]> {
  const ids = items.map(({ id }) => id);
  if (ids.length === 0) return [];
  const [children, open] = await Promise.all([store.branches(ids), openRuns(store, ids)]);
  return items.map((item) => {
    const runs = open.get(item.id) ?? [];
    const standing = standingOf(item.status, runs);
    const run = runAt(runs);
    return {
      ...item,
      children: children.get(item.id) ?? 0,
      ...(standing === undefined ? {} : { standing }),
      ...(run === undefined ? {} : { run }),
    };
  });
}

/** The newest at work, or else the newest in the queue. */
function runAt(runs: readonly RunRow[]): Listed["run"] {
  for (const status of ["running", "queued"] as const) {
    const run = runs.findLast((one) => one.status === status);
    if (run !== undefined) return { id: run.id, workflow: run.workflow, status };
  }
  return undefined;
}

async function found(runtime: Runtime, query: SessionQuery): Promise<SessionPage> {
  await runtime.effects.writer.flush();
  const known = await knownOf(runtime);
  const store = await runtime.store();
  const items: Listed[] = [];
  let [looked, steps, last] = [0, 0, ""];
  for await (const rows of portions(store, query)) {
    const heads = query.folded ? undefined : await headsOf(runtime, rows);
    // Of these alone: many more may wait for a worker.
    const ids = query.status === undefined ? [] : rows.filter((row) => fits(row, query)).map(({ id }) => id);
    const open = ids.length === 0 ? undefined : await openRuns(store, ids);
    for (const row of rows) {
      if (items.length >= query.limit || looked >= mostRows || steps >= mostSteps) return { items, next: last };
      last = row.id;
      looked++;
      if (!fits(row, query)) continue;
      // What runs say of it is known without its events.
      const said = standingOf(undefined, open?.get(row.id) ?? []);
      if (query.status !== undefined && (said === undefined ? ofRuns.has(query.status) : said !== query.status)) continue;
      const asked = query.status !== undefined && said === undefined;
      const folded = query.folded || asked ? (known.get(row.head) ?? (await foldOf(runtime, row.id))) : undefined;
      if (folded !== undefined && !known.has(folded.head)) {
        steps += folded.step;
        remember(known, folded);
      }
      if (!asked || folded?.status === query.status)
        items.push(query.folded && folded !== undefined ? folded : listedOf(row, heads ?? (await headsOf(runtime, [row]))));
    }
  }
  return { items };
}

async function* portions(store: Store, query: SessionQuery): AsyncGenerator<readonly LogRow[], void> {
  const { limit, status, after, tag, parent } = query;
  // One more tells whether there is another page.
  const atOnce = status === undefined ? Math.min(rowsAtOnce, limit + 1) : rowsAtOnceByStatus;
  let rows: LogRow[] = [];
  for await (const row of store.sessions({ log: "session", newestFirst: true, after, tag, parent })) {
    if (rows.push(row) < atOnce) continue;
    yield rows;
    rows = [];
  }
  if (rows.length > 0) yield rows;
}

function fits({ title, parent }: LogRow, query: SessionQuery): boolean {
  if (query.roots && parent !== undefined) return false;
  return query.title === undefined || title?.toLowerCase().includes(query.title.toLowerCase()) === true;
}

interface Head {
  readonly step: number;
  readonly at: string;
}

/** What an event says of itself never changes: it is read once. */
const headsRead = new WeakMap<Runtime, Map<string, Head>>();
const mostHeads = 20_000;

async function headsOf(runtime: Runtime, rows: readonly LogRow[]): Promise<ReadonlyMap<string, Head>> {
  const known = headsRead.get(runtime);
  // Another one in its place: who was given this one still reads it.
  const heads = known === undefined || known.size > mostHeads ? new Map<string, Head>() : known;
  headsRead.set(runtime, heads);
  const ids = rows.map(({ head }) => head).filter((id) => !heads.has(id));
  if (ids.length === 0) return heads;
  for await (const { id, envelope } of (await runtime.store()).events({ ids })) {
    const { step, at } = parseEnvelope(runtime.platform.text(envelope));
    heads.set(id, { step, at });
  }
  return heads;
}

function listedOf({ id, head, title, tags = [], principal, parent }: LogRow, heads: ReadonlyMap<string, Head>): Listed {
  const { step, at } = heads.get(head) ?? { step: 0, at: "" };
  return { id, head, title, tags, principal, parent, step, changed: at };
}

/** A head is always the same fold: until something is erased, a session is looked at once for each of its heads. */
const summaries = new WeakMap<Runtime, { readonly erasures: number; readonly byHead: Map<string, Summary> }>();
const mostKnown = 5000;

async function knownOf(runtime: Runtime): Promise<Map<string, Summary>> {
  const erasures = await heedErasures(runtime);
  const known = summaries.get(runtime);
  if (known?.erasures === erasures) return known.byHead;
  const byHead = new Map<string, Summary>();
  summaries.set(runtime, { erasures, byHead });
  return byHead;
}

function remember(known: Map<string, Summary>, summary: Summary): void {
  known.set(summary.head, summary);
  for (const oldest of known.keys()) {
    if (known.size <= mostKnown) break;
    known.delete(oldest);
  }
}

/** Undefined for one whose events cannot be read: it is listed all the same, and opening it says why. */
async function foldOf(runtime: Runtime, id: string): Promise<Summary | undefined> {
  try {
    const log = (await runtime.load([id])).get(id);
    const place = log?.storedHead ?? log?.tip;
    return place === undefined ? undefined : summaryOf(runtime.outside(place));
  } catch (error) {
    if (RathError.is(error)) return undefined;
    throw error;
  }
}
