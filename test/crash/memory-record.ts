/** Reads what the processes of the memory kill test left behind and says what must not be. */
import { join } from "node:path";
import { openrath, replay, verify } from "../../src/index.ts";
import type { MemoryRecord } from "../../src/memory/memory.ts";
import { sqliteMemory } from "../../src/memory/sqlite.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { dataText, parseEnvelope } from "../../src/session/codec.ts";
import type { DataOf } from "../../src/session/event.ts";
import { keyedRunId } from "../../src/session/id.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { isRejected, Learner } from "./memory-learner.ts";
import { mutated } from "./memory-mutants.ts";

interface Entry {
  readonly id: string;
  readonly session: string;
  readonly kind: string;
  readonly run: string | undefined;
  readonly order: number;
  readonly call: string;
  readonly data: unknown;
}

interface Written {
  readonly call: Entry;
  readonly item: NonNullable<DataOf<"remember.returned">["item"]>;
  readonly at: Entry;
}

export interface Found {
  readonly faults: readonly string[];
  readonly published: number;
  readonly refused: number;
  /** Uses whose recall never came to disk, and runs that read memory before and after they were taken up again. */
  readonly lostUses: number;
  readonly readAgain: number;
}

export async function inspect(folder: string, runs: readonly number[], mutant: string): Promise<Found> {
  const entries = await readEntries(join(folder, "store.db"));
  await using memory = mutated(mutant, sqliteMemory(join(folder, "store.memory.db")));
  const rows: MemoryRecord[] = [];
  for await (const row of memory.list({ asOf: "all" })) rows.push(row);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const writes = writesIn(entries, byId);
  const faults = [...faultsOfRows(rows, byId), ...faultsOfVersions(rows, writes, byId)];
  let refused = 0;
  let readAgain = 0;
  for (const n of runs) {
    const id = keyedRunId(nodePlatform, `run-${n}`);
    const own = entries.filter(({ run }) => run === id).sort((a, b) => a.order - b.order);
    const said = own.filter(({ kind }) => kind === "memory.published").map(({ data }) => data as DataOf<"memory.published">);
    refused += said[0]?.refused?.length ?? 0;
    faults.push(...faultsOfRun(n, own, said, rows, writes).map((fault) => `run ${n}: ${fault}`));
    const { fault, spans } = faultOfReads(own);
    if (fault !== undefined) faults.push(`run ${n}: ${fault}`);
    if (spans) readAgain++;
  }
  let lostUses = 0;
  for (const uri of new Set(rows.map((row) => row.uri))) for await (const { event } of memory.uses(uri)) if (!byId.has(event)) lostUses++;
  // What is broken in a mutant's memory breaks more than is asked here.
  if (mutant === "none") faults.push(...(await faultsOfSessions(folder, runs, byId)));
  return { faults, published: rows.length, refused, lostUses, readAgain };
}

async function readEntries(file: string): Promise<readonly Entry[]> {
  await using store = sqliteStore(file);
  const entries: Entry[] = [];
  for await (const { id: session } of store.sessions({})) {
    let last = "";
    for await (const event of store.events({ session })) {
      const { kind, facts } = parseEnvelope(Buffer.from(event.envelope).toString());
      if (kind.endsWith(".called")) last = event.id;
      const data: unknown = event.data === undefined ? undefined : JSON.parse(dataText(nodePlatform, event.data));
      entries.push({ id: event.id, session, kind, run: event.run, order: event.order, call: (facts.call as string) ?? last, data });
    }
  }
  return entries;
}

/** What was staged, by the id of the call. */
function writesIn(entries: readonly Entry[], byId: ReadonlyMap<string, Entry>): ReadonlyMap<string, Written> {
  const writes = new Map<string, Written>();
  for (const at of entries) {
    const item = at.kind === "remember.returned" ? (at.data as DataOf<"remember.returned">).item : undefined;
    const call = byId.get(at.call);
    if (item !== undefined && call !== undefined) writes.set(call.id, { call, item, at });
  }
  return writes;
}

/** No version without an event on disk that holds its content, and one version for each. */
function faultsOfRows(rows: readonly MemoryRecord[], byId: ReadonlyMap<string, Entry>): readonly string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const { uri, version, event, content, because, session } of rows) {
    const entry = byId.get(event);
    const named = `${uri}@${version}`;
    if (seen.has(event)) faults.push(`${named} was published twice`);
    seen.add(event);
    if (entry?.kind !== "remember.called") faults.push(`${named} has no event on disk`);
    else if ((entry.data as DataOf<"remember.called">).content !== content || entry.session !== session)
      faults.push(`${named} is not what its event says`);
    for (const id of because) if (!byId.has(id)) faults.push(`${named} is because of an event that is not on disk`);
  }
  return faults;
}

/** Nobody wrote over what they had not seen, and the record says the version that there is. */
function faultsOfVersions(rows: readonly MemoryRecord[], writes: ReadonlyMap<string, Written>, byId: ReadonlyMap<string, Entry>): string[] {
  const faults: string[] = [];
  const newest = new Map<string, MemoryRecord>();
  for (const row of rows) {
    const before = newest.get(row.uri);
    newest.set(row.uri, row);
    const write = writes.get(row.event);
    if (write === undefined) continue;
    const own = before !== undefined && byId.get(before.event)?.run === write.at.run;
    if (!own && write.item.based !== (before?.version ?? 0)) faults.push(`${row.uri}@${row.version} was written over what it had not seen`);
    if (write.item.version !== row.version) faults.push(`${row.uri}@${row.version} is on record as version ${write.item.version}`);
  }
  return faults;
}

/** A run that is done published all it staged, or says why not; one that was rejected published nothing. */
function faultsOfRun(
  n: number,
  own: readonly Entry[],
  said: readonly DataOf<"memory.published">[],
  rows: readonly MemoryRecord[],
  writes: ReadonlyMap<string, Written>,
): readonly string[] {
  const faults: string[] = [];
  const ended = own.filter(({ kind }) => kind === "run.ended");
  if (ended.length !== 1 || (ended[0]?.data as DataOf<"run.ended"> | undefined)?.status !== "done") faults.push("it is not done");
  const ids = new Set(own.map(({ id }) => id));
  const mine = rows.filter(({ event }) => ids.has(event));
  if (isRejected(n)) return [...faults, ...(mine.length + said.length > 0 ? ["it was rejected and published something"] : [])];
  if (said.length !== 1 || said[0]?.problem !== undefined) return [...faults, `it says ${said.length} times what it published`];
  const { items, held = [], refused = [] } = said[0] as DataOf<"memory.published">;
  const published = new Set(mine.map(({ event }) => event));
  for (const { call, item } of writes.values()) {
    if (!ids.has(call.id)) continue;
    const told = [items, held, refused].map((list) => list.filter(({ event }) => event === call.id).length);
    const expected =
      item.publish === "now" ? [0, 0, 0] : typeof item.publish === "object" ? [0, 1, 0] : published.has(call.id) ? [1, 0, 0] : [0, 0, 1];
    if (String(told) !== String(expected)) faults.push(`it says of ${item.uri} ${told}, not ${expected}`);
    if (item.publish === "now" && !published.has(call.id)) faults.push(`${item.uri} was not published at once`);
  }
  return faults;
}

/** All that a run read, it read of one revision; whether it did so before and after it was taken up again. */
function faultOfReads(own: readonly Entry[]): { readonly fault?: string; readonly spans: boolean } {
  const reads = own.flatMap(({ kind, data, order }) => {
    const revision = kind === "recall.returned" || kind === "remember.returned" ? (data as DataOf<"recall.returned">).revision : undefined;
    return revision === undefined ? [] : [{ order, revision }];
  });
  const revisions = new Set(reads.map(({ revision }) => revision));
  const taken = own.filter(({ kind }) => kind === "run.resumed").map(({ order }) => order);
  const spans = taken.some((at) => reads.some(({ order }) => order < at) && reads.some(({ order }) => order > at));
  return revisions.size > 1 ? { fault: `it read revisions ${[...revisions].join(", ")}`, spans } : { spans };
}

/** Chains verify, runs replay, and uses name what is on disk. */
async function faultsOfSessions(folder: string, runs: readonly number[], byId: ReadonlyMap<string, Entry>): Promise<readonly string[]> {
  await using rath = openrath({ store: join(folder, "store.db") });
  const faults: string[] = [];
  for (const n of runs) {
    const settled = await (await rath.attach(keyedRunId(nodePlatform, `run-${n}`))).settle();
    const { problems } = await verify(settled.session);
    for (const { problem } of problems) faults.push(`run ${n} does not verify: ${problem}`);
    const report = String(await replay(settled.session, new Learner()));
    if (!report.startsWith("identical")) faults.push(`run ${n} replays differently: ${report}`);
  }
  for await (const { uri } of rath.memory.list())
    for await (const { event, readBy } of rath.memory.usedBy(uri))
      for (const id of [event, ...readBy]) if (!byId.has(id)) faults.push(`a use of ${uri} names ${id}, which is not on disk`);
  return faults;
}
