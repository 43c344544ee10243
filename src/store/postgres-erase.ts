/** Removing for good: the data of events, and whole logs. Rows are replaced or deleted; their bytes go when the server vacuums. */
import type { Connection } from "../postgres/connection.ts";
import { literal } from "../postgres/literal.ts";
import { logsOf } from "./postgres-append.ts";
import { nothingSince } from "./postgres-feed.ts";
import { unpackFrame, withoutData } from "./postgres-frames.ts";
import { findEvents, idsAPage } from "./postgres-read.ts";
import type { LogPlace, RemoveOptions } from "./store.ts";

/** Each frame is replaced as long as it is still the one that was read. */
export async function eraseEvents(connection: Connection, ids: readonly string[], entry: string): Promise<void> {
  for (let start = 0; start < ids.length || start === 0; start += idsAPage) {
    const wanted = new Set(ids.slice(start, start + idsAPage));
    // Somebody else may erase other events of the same frame: then it is read again.
    while (!(await eraseSome(connection, wanted, entry)));
  }
}

async function eraseSome(connection: Connection, wanted: ReadonlySet<string>, entry: string): Promise<boolean> {
  const found = await findEvents(connection, [...wanted]);
  let all = true;
  for (const row of new Set([...found.values()].map((one) => one.row))) {
    const after = row.before?.toString("hex");
    const before = unpackFrame(connection, row.session, row, after);
    const events = before.map((event) =>
      wanted.has(event.id) && event.data !== undefined ? { ...event, data: undefined, erased: entry } : event,
    );
    if (events.every((event, i) => event === before[i])) continue;
    const body = withoutData(row.session, row, events, after);
    const first = row.seq === 0 && wanted.has(before[0]?.id ?? "");
    const replaced = await connection.write(first ? replaceFirst : replaceFrame, [row.log, row.seq, row.body, body]);
    if (replaced.length === 0) all = false;
  }
  return all;
}

const replaceFrame = "UPDATE openrath.frames SET body = $4 WHERE log = $1 AND seq = $2 AND body = $3 RETURNING seq";
/** With the first event goes what was said of the log with it. */
const replaceFirst = `WITH replaced AS (${replaceFrame})
  UPDATE openrath.logs SET title = NULL, tags = '{}' WHERE no = $1 AND EXISTS (SELECT 1 FROM replaced) RETURNING no`;

/** All or nothing, in one transaction: false when one of them grew or was continued, or something came after the place. */
export async function removeLogs(connection: Connection, logs: readonly LogPlace[], { after }: RemoveOptions = {}): Promise<boolean> {
  if (logs.length === 0) return true;
  const condition = after === undefined ? "true" : await nothingSince(connection, after);
  const { rows } = await connection.raw(connection.sql(removal(connection, logs, condition)));
  return (rows[0] as { readonly removed: number }).removed === logs.length;
}

/** While it looks and removes, nobody appends in the project: what was added to a log, who forked it, and what came since is seen. */
function removal({ tenant, project }: Connection, logs: readonly LogPlace[], condition: string): string {
  const [t, p] = [literal(tenant), literal(project)];
  const ids = `ARRAY[${logs.map(({ session }) => literal(session)).join(", ")}]`;
  const heads = `ARRAY[${logs.map(({ head }) => `decode('${Buffer.from(head, "hex").toString("hex")}', 'hex')`).join(", ")}]`;
  return `SELECT pg_advisory_xact_lock(${logsOf(t, p)});
WITH wanted AS (
  SELECT l.no, l.id FROM unnest(${ids}, ${heads}) AS w (id, head) JOIN openrath.logs l ON l.tenant = ${t} AND l.project = ${p} AND l.id = w.id
  WHERE w.head = (SELECT f.head FROM openrath.frames f WHERE f.log = l.no ORDER BY f.seq DESC LIMIT 1)
), allowed AS (
  SELECT 1 WHERE ${condition} AND (SELECT count(*) FROM wanted) = cardinality(${ids}) AND NOT EXISTS (
    SELECT 1 FROM openrath.logs c WHERE c.tenant = ${t} AND c.project = ${p} AND c.parent = ANY (${ids}) AND c.id <> ALL (${ids}))
), frames_gone AS (
  DELETE FROM openrath.frames f USING wanted w, allowed WHERE f.log = w.no
), ids_gone AS (
  DELETE FROM openrath.event_ids e USING wanted w, allowed WHERE e.log = w.no
), runs_gone AS (
  DELETE FROM openrath.runs r USING wanted w, allowed WHERE r.tenant = ${t} AND r.project = ${p} AND r.id = w.id
), logs_gone AS (
  DELETE FROM openrath.logs l USING wanted w, allowed WHERE l.no = w.no RETURNING l.no
)
SELECT count(*)::float8 AS removed FROM logs_gone`;
}
