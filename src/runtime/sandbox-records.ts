/** Which sandboxes were opened by whom, and what became of them: asked of the own logs of runs, where openings and closings are said. */
import { dataText, parseEnvelope } from "../session/codec.ts";
import type { DataOf, EventKind } from "../session/event.ts";
import type { Log } from "../session/log.ts";
import type { SandboxRecord } from "../session/session.ts";
import type { Store } from "../store/store.ts";
import { rowOfRun } from "./run-row.ts";
import type { Runtime } from "./runtime.ts";
import { isDeadHere } from "./worker-id.ts";

/** Which sandboxes; every condition given must hold. */
export interface SandboxQuery {
  readonly session?: string | undefined;
  readonly run?: string | undefined;
  readonly status?: SandboxRecord["status"] | undefined;
}

/** Run by run in the order they began, sandboxes in the order they were opened. */
export async function* sandboxRecords(runtime: Runtime, query: SandboxQuery): AsyncIterable<SandboxRecord> {
  const { sandboxes } = runtime;
  const store = await runtime.store();
  // What is not on disk yet is known to those who hold it.
  const here = new Map(sandboxes.owners().map(({ log }) => [log.id, log]));
  const logs: string[] = [];
  for await (const { id } of store.sessions({ log: "run", id: query.run })) logs.push(id);
  for (const id of new Set([...logs, ...here.keys()])) {
    if (query.run !== undefined && id !== query.run) continue;
    const log = here.get(id);
    const said = log === undefined ? storedIn(runtime, store, id) : writtenIn(runtime, log);
    for (const opened of await opensIn(said)) {
      if (query.session !== undefined && opened.data.session !== query.session) continue;
      const record = recordOf(id, opened, opened.closed !== undefined ? "closed" : await statusOf(runtime, store, id, opened));
      if (query.status === undefined || record.status === query.status) yield record;
    }
  }
}

interface Said {
  readonly kind: EventKind;
  readonly at: string;
  /** Undefined once erased. */
  readonly data: unknown;
}

interface Opening {
  readonly at: string;
  readonly data: DataOf<"sandbox.opened">;
  closed?: SandboxRecord["closed"];
  /** Somebody took the run up again, or it ended: what was open then is no more. */
  over?: true;
}

async function opensIn(said: AsyncIterable<Said> | Iterable<Said>): Promise<readonly Opening[]> {
  const opens: Opening[] = [];
  for await (const { kind, at, data } of said) {
    if (kind === "run.resumed" || kind === "run.ended") for (const opening of opens) opening.over = true;
    if (data === undefined) continue;
    if (kind === "sandbox.opened") opens.push({ at, data: data as DataOf<"sandbox.opened"> });
    if (kind !== "sandbox.closed") continue;
    const { id, reason, problem } = data as DataOf<"sandbox.closed">;
    // Backends number as they like: another process may have used the same id.
    const open = opens.findLast((opening) => opening.data.id === id && opening.closed === undefined);
    if (open !== undefined) open.closed = { at, reason, problem };
  }
  return opens;
}

async function* storedIn({ platform }: Runtime, store: Store, log: string): AsyncIterable<Said> {
  for await (const { envelope, data } of store.events({ session: log })) {
    const { kind, at } = parseEnvelope(platform.text(envelope));
    const told = kind === "sandbox.opened" || kind === "sandbox.closed";
    yield { kind, at, data: told && data !== undefined ? JSON.parse(dataText(platform, data)) : undefined };
  }
}

function writtenIn({ platform }: Runtime, log: Log): readonly Said[] {
  const said: Said[] = [];
  for (let node = log.tip; node !== undefined; node = node.prior)
    said.push({ kind: node.kind, at: node.at, data: node.data<"sandbox.opened">(platform) });
  return said.reverse();
}

async function statusOf(runtime: Runtime, store: Store, run: string, { data, over }: Opening): Promise<SandboxRecord["status"]> {
  if (over === true) return "lost";
  if (runtime.sandboxes.holds(run, data.id)) return "open";
  const row = await rowOfRun(store, run);
  // Work outside a durable run has no lease that would tell whether its process lives.
  if (row === undefined) return "unknown";
  return row.owner === undefined || isDeadHere(row.owner) ? "lost" : "open";
}

function recordOf(run: string, { at, data, closed }: Opening, status: SandboxRecord["status"]): SandboxRecord {
  const { id, sandbox, isolation, session, workspace } = data;
  return Object.freeze({ id, sandbox, isolation, workspace, session, run, opened: at, status, closed });
}
