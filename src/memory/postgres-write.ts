/**
 * Writing versions: what is there is read, then everything is inserted by one statement, which is one durable commit.
 *
 * Nothing is locked in between. The statement counts up the row of the project first, so whoever comes later waits until this is
 * committed, and revisions have the order of their commits. A version is unique in the one it is based on: if another write was
 * faster, the statement fails as a whole, and what is there is read again. Then that write is refused, so this ends.
 */
import { RathError } from "../session/errors.ts";
import type { MemoryRecord, MemoryUse, MemoryWrite, MemoryWritten } from "./memory.ts";
import { type InsertParts, insertStatement, insertValues, type Prepared, prepare } from "./postgres-insert.ts";
import { madeProject, nameOf, type Place, recordOf, storable } from "./postgres-rows.ts";
import { checkWrites } from "./record.ts";

/** What the database has of one write: the version that it made earlier, and the newest one of its uri. */
interface Known {
  readonly made: { readonly revision: string; readonly body: string } | undefined;
  readonly newest: Newest | undefined;
}

interface Newest {
  readonly no: string;
  readonly version: number;
  readonly published: boolean;
  readonly length: number;
  readonly revision: string;
  /** Only where it is not the version that the write is based on. */
  readonly body: string | undefined;
}

/** After so many connections that broke while a write was on its way the caller is told. */
const mostLost = 3;

export async function writeItems(place: Place, writes: readonly MemoryWrite[], whole: boolean): Promise<MemoryWritten> {
  checkWrites(writes);
  const prepared = writes.map(prepare);
  let lost = 0;
  let outrun = 0;
  for (;;) {
    const { project, revision, known } = await knownOf(place, prepared);
    const stale = whole ? prepared.flatMap((write, i) => staleIn(place, write, known[i] as Known)) : [];
    if (stale.length > 0) return { revision, written: [], refused: stale };
    const judged = judge(place, prepared, known);
    if (judged.parts.rows.length === 0) return judged.result(revision);
    try {
      const [row] = await place.tell<{ readonly revision: string }>(insertStatement, insertValues(project, judged.parts));
      if (row !== undefined) return judged.result(Number(row.revision));
      throw new RathError("store.corrupt", `${place.name} has lost the row of a project while it was written. Nothing was stored.`);
    } catch (error) {
      // Each time another write of one of these uris was faster, and the next round finds it.
      const mayGoOn = isOutrun(error) ? outrun++ <= writes.length : isLost(error) && lost++ < mostLost;
      if (!mayGoOn) throw error;
    }
  }
}

function isOutrun(error: unknown): boolean {
  return RathError.is(error, "store.conflict") && error.details?.["sqlState"] === "23505";
}

/** Whether it was stored is not known, but a write that was stored is found by its event. */
function isLost(error: unknown): boolean {
  return RathError.is(error, "store.unavailable") && error.retryable;
}

interface KnownRow {
  readonly project: string;
  readonly newest_revision: string;
  readonly made_revision: string | null;
  readonly made_body: string;
  readonly no: string | null;
  readonly version: string;
  readonly state: string;
  readonly length: string;
  readonly revision: string;
  readonly body: string | null;
}

const knownStatement = `
SELECT p.id AS project, p.revision AS newest_revision, made.revision AS made_revision, made.body AS made_body,
  newest.no, newest.version, newest.state, newest.length, newest.revision,
  (SELECT b.body FROM openrath.memory_bodies b WHERE b.project = p.id AND b.no = newest.no AND newest.version <> w.based) AS body
FROM openrath.memory_projects p
CROSS JOIN unnest($3::text[], $4::text[], $5::bigint[]) WITH ORDINALITY AS w (name, event, based, place)
LEFT JOIN LATERAL (
  SELECT i.revision, b.body FROM openrath.memory_items i JOIN openrath.memory_bodies b ON b.project = i.project AND b.no = i.no
  WHERE i.project = p.id AND i.event = w.event AND i.name = w.name
) made ON true
LEFT JOIN LATERAL (
  SELECT i.no, i.version, i.state, i.length, i.revision FROM openrath.memory_items i
  WHERE i.project = p.id AND i.name = w.name ORDER BY i.based DESC LIMIT 1
) newest ON true
WHERE p.tenant = $1 AND p.project = $2 ORDER BY w.place`;

async function knownOf(
  place: Place,
  writes: readonly Prepared[],
): Promise<{ readonly project: string; readonly revision: number; readonly known: readonly Known[] }> {
  const asked = [writes.map(({ name }) => name), writes.map(({ event }) => event), writes.map(({ based }) => based)];
  const rows = await place.ask<KnownRow>(knownStatement, [nameOf(place.tenant), nameOf(place.project), ...asked]);
  if (rows[0] === undefined) {
    await madeProject(place);
    return knownOf(place, writes);
  }
  return { project: rows[0].project, revision: Number(rows[0].newest_revision), known: rows.map(knownIn) };
}

function knownIn({ made_revision, made_body, no, version, state, length, revision, body }: KnownRow): Known {
  return {
    made: made_revision === null ? undefined : { revision: made_revision, body: made_body },
    newest:
      no === null
        ? undefined
        : { no, version: Number(version), published: state === "published", length: Number(length), revision, body: body ?? undefined },
  };
}

/** Why a write would be refused. */
function staleIn(place: Place, { given: item, based }: Prepared, { made, newest }: Known): MemoryWritten["refused"] {
  if (made !== undefined || (newest?.version ?? 0) === based) return [];
  return [{ item, current: currentOf(place, newest) }];
}

function currentOf(place: Place, newest: Newest | undefined): MemoryRecord | undefined {
  return newest && recordOf(place, { body: newest.body ?? "", revision: newest.revision });
}

/** A version of this very write: its revision is known when it is committed. */
interface Added {
  readonly row: number;
  readonly version: number;
  readonly body: string;
}

/** What is inserted, and what is answered when that has got its revision. */
function judge(
  place: Place,
  writes: readonly Prepared[],
  known: readonly Known[],
): { readonly parts: InsertParts; readonly result: (revision: number) => MemoryWritten } {
  const parts: InsertParts = { rows: [], ended: [], totals: { documents: 0, length: 0 } };
  const added = new Map<string, Added>();
  const byWrite = new Map<string, Added>();
  const written: ((revision: number) => MemoryRecord)[] = [];
  const refused: ((revision: number) => MemoryWritten["refused"][number])[] = [];
  writes.forEach((write, i) => {
    const { made, newest } = known[i] as Known;
    const writeName = JSON.stringify([write.name, write.event]);
    const own = added.get(write.name);
    const again = byWrite.get(writeName);
    const recorded = ({ body }: Added, revision: number) => recordOf(place, { body, revision: `${revision}` });
    if (made !== undefined) written.push(() => recordOf(place, made));
    else if (again !== undefined) written.push((revision) => recorded(again, revision));
    else if ((own?.version ?? newest?.version ?? 0) !== write.based) {
      const current = own === undefined ? () => currentOf(place, newest) : (revision: number) => recorded(own, revision);
      refused.push((revision) => ({ item: write.given, current: current(revision) }));
    } else {
      const one = { row: parts.rows.length, version: write.item.version, body: write.body };
      add(parts, write, own, newest);
      added.set(write.name, one);
      byWrite.set(writeName, one);
      written.push((revision) => recorded(one, revision));
    }
  });
  return {
    parts,
    result(revision) {
      const records = written.map((record) => record(revision));
      // A write that was made before has the revision that it had then.
      const last = records.reduce((highest, one) => Math.max(highest, one.revision), records.length > 0 ? 0 : revision);
      return { revision: last, written: records, refused: refused.map((one) => one(revision)) };
    },
  };
}

function add(parts: InsertParts, write: Prepared, own: Added | undefined, newest: Newest | undefined): void {
  const count = (by: 1 | -1, length: number): void => {
    parts.totals.documents += by;
    parts.totals.length += by * length;
  };
  const before = own === undefined ? undefined : parts.rows[own.row];
  if (before !== undefined) {
    before.superseded = true;
    if (before.write.item.state === "published") count(-1, before.write.length);
  } else if (newest !== undefined) {
    parts.ended.push(newest.no);
    if (newest.published) count(-1, newest.length);
  }
  if (write.item.state === "published") count(1, write.length);
  parts.rows.push({ write, superseded: false });
}

/** Not synced by itself: what is lost in a power cut is an index of what sessions say anyway. */
export async function noteUses(place: Place, uses: readonly MemoryUse[]): Promise<void> {
  if (uses.length === 0) return;
  const rows = uses.map(({ uri, version, session, event, at }) => ({
    id: nameOf(JSON.stringify([uri, version, session, event])),
    ...{ name: nameOf(uri), at: storable(at), body: JSON.stringify({ uri, version, session, event, at }) },
  }));
  // In one order, so that two who note the same uses wait for each other in turn.
  rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  const { id } = await madeProject(place);
  await place.ask(
    `WITH lazily AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
     INSERT INTO openrath.memory_uses (project, id, name, at, body)
     SELECT $1, u.id, u.name, u.at, u.body FROM lazily, unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS u (id, name, at, body)
     ON CONFLICT DO NOTHING`,
    [id, rows.map((row) => row.id), rows.map(({ name }) => name), rows.map(({ at }) => at), rows.map(({ body }) => body)],
  );
}
