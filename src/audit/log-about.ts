/** What the hashed events of a record say of a log's title, tags and principal. Rows and lines only repeat it, for finding. */
import type { LogAbout } from "../store/store.ts";
import type { Gathered, GatheredLog } from "./gather.ts";
import type { Entry } from "./inspect.ts";
import type { Finding } from "./problem.ts";

type About = Pick<LogAbout, "title" | "tags" | "principal">;

/** Undefined where the record cannot say: the data was erased, or a text of it lies in a blob. */
export function aboutOf(gathered: Gathered, log: GatheredLog): About | undefined {
  for (let next: GatheredLog | undefined = log; next !== undefined; ) {
    const first: Entry | undefined = next.entries[0];
    if (first?.kind === "session.created")
      return first.blobs.length > 0 || first.names.about === undefined ? undefined : formed(first.names.about);
    if (first?.kind !== "session.detached") return {};
    // A detached session takes over what its source was called.
    const from: Entry | undefined = first.names.origin && gathered.entries.get(first.names.origin.head);
    next = from && gathered.logs.get(from.session);
  }
  return undefined;
}

/** Logs whose rows do not repeat what was hashed. */
export function checkAbout(gathered: Gathered): readonly Finding[] {
  const findings: Finding[] = [];
  for (const log of gathered.logs.values()) {
    const hashed = log.length === 0 ? undefined : aboutOf(gathered, log);
    // An erasure log that was imported is marked so, which is no part of the record.
    if (hashed === undefined || log.row === undefined || log.row.log === "erasure") continue;
    for (const field of ["title", "tags", "principal"] as const) {
      if (textOf(log.row[field]) === textOf(hashed[field])) continue;
      findings.push({
        event: log.id,
        problem: `its ${field} is ${textOf(log.row[field])}, its first event says ${textOf(hashed[field])}`,
        field,
        kind: "listed",
      });
    }
  }
  return findings;
}

/** Lines hold UTF-8, which has no lone surrogates. */
function formed({ title, tags, principal }: About): About {
  return {
    title: title && utf8(title),
    tags: tags?.map(utf8),
    principal: principal && utf8(principal),
  };
}

function utf8(text: string): string {
  return Buffer.from(text).toString();
}

function textOf(value: string | readonly string[] | undefined): string {
  return value === undefined || value.length === 0 ? "not given" : JSON.stringify(value);
}
