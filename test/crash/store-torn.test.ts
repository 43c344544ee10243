/**
 * Files that were cut or had bits flipped. Whatever is read from them is what was written, or an error, or fails the hash
 * checks of the layer above: never something else. Only a damaged write-ahead log may lose its tail, since SQLite cannot tell
 * a torn commit from a damaged one; what is left then is what the store was at an earlier commit.
 */
import { hash, randomBytes } from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { RathError } from "../../src/session/errors.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store, StoredEvent } from "../../src/store/store.ts";
import { eventFault, storedChain } from "../../src/testing/stored-event.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-torn-"));
afterAll(() => rmSync(folder, { recursive: true }));

const large = randomBytes(20_000);
const blobs = [large, Buffer.from("compressible ".repeat(2000))].map((bytes) => ({ hash: hash("sha256", bytes), bytes }));

/** Some logs in many commits. */
async function fill(store: Store, commits: number, bytes: number): Promise<void> {
  const heads = new Map<string, StoredEvent>();
  await store.append({ branches: [], blobs });
  for (let i = 0; i < commits; i++) {
    const session = `session-${i % 7}`;
    const before = heads.get(session);
    const drafts = [{ data: randomBytes(bytes).toString("hex") }, { facts: { ms: i } }].map((draft, k) => ({
      ...draft,
      run: `run-${i % 3}`,
      order: 2 * i + k,
    }));
    const events = storedChain(drafts, session, before);
    await store.append({
      branches: [{ session, expectedHead: before?.id, events, about: { log: "session", title: `title ${i}`, tags: ["a"] } }],
    });
    heads.set(session, events[1] as StoredEvent);
  }
}

interface Seen {
  /** Each log with all that is known of it, events as text. */
  readonly logs: ReadonlyMap<string, { readonly about: string; readonly events: readonly string[] }>;
  readonly runs: readonly string[];
  readonly blobs: readonly string[];
  /** What the layer above would notice. */
  readonly faults: readonly string[];
}

const textOf = ({ envelope, data, ...rest }: StoredEvent) =>
  JSON.stringify([rest, Buffer.from(envelope).toString("latin1"), data && hash("sha256", data)]);

/** Everything in the store, through every way of reading. */
async function readAll(store: Store): Promise<Seen> {
  const logs = new Map<string, { about: string; events: string[] }>();
  const faults: string[] = [];
  const ids: string[] = [];
  for await (const { head, ...about } of store.sessions({})) {
    const events: StoredEvent[] = [];
    for await (const event of store.events({ session: about.id })) events.push(event);
    faults.push(...events.flatMap((event) => eventFault(event) ?? []));
    if (events.at(-1)?.id !== head) faults.push(`log ${about.id} does not end at its head`);
    ids.push(...events.map(({ id }) => id));
    logs.set(about.id, { about: JSON.stringify(about), events: events.map(textOf) });
  }
  const runs: string[] = [];
  for (const run of ["run-0", "run-1", "run-2"]) for await (const event of store.events({ run })) runs.push(textOf(event));
  let next = 0;
  for await (const event of store.events({ ids })) if (event.id === ids[next]) next++;
  if (next !== ids.length) faults.push("an event that was read is not found by its id");
  const found: string[] = [];
  for (const { hash: name } of blobs) if ((await store.blob(name)) !== undefined) found.push(name);
  return { logs, runs, blobs: found, faults };
}

type Outcome = "refused" | "noticed" | "identical" | "shorter" | "DIFFERENT";

async function outcomeOf(path: string, whole: Seen, mutate: (store: Store) => Store = (store) => store): Promise<Outcome> {
  await using file = sqliteStore(path);
  const store = mutate(file);
  let seen: Seen;
  try {
    seen = await readAll(store);
  } catch (error) {
    if (RathError.is(error, "store.corrupt") || RathError.is(error, "store.newer-format")) return "refused";
    throw error;
  }
  if (seen.faults.length > 0) return "noticed";
  const same = contents(seen) === contents(whole);
  return same ? "identical" : isEarlier(seen, whole) ? "shorter" : "DIFFERENT";
}

const contents = ({ logs, runs, blobs }: Seen) => JSON.stringify([[...logs], runs, blobs]);

/** True if every log is the beginning of what it was. */
function isEarlier(seen: Seen, whole: Seen): boolean {
  return [...seen.logs].every(([id, { about, events }]) => {
    const before = whole.logs.get(id);
    return before?.about === about && events.every((event, i) => event === before.events[i]);
  });
}

/** Damages copies of a database one at a time and counts what became of them. */
async function damageAll(
  source: string,
  part: "" | "-wal",
  damages: readonly ((bytes: Buffer) => Buffer)[],
): Promise<Record<Outcome, number>> {
  const whole = await readCopy(source);
  const bytes = readFileSync(source + part);
  const counts: Record<Outcome, number> = { refused: 0, noticed: 0, identical: 0, shorter: 0, DIFFERENT: 0 };
  for (const damage of damages) {
    const copy = copyOf(source);
    writeFileSync(copy + part, damage(Buffer.from(bytes)));
    counts[await outcomeOf(copy, whole)]++;
    for (const suffix of ["", "-wal", "-shm"]) rmSync(copy + suffix, { force: true });
  }
  return counts;
}

async function readCopy(source: string): Promise<Seen> {
  const copy = copyOf(source);
  await using store = sqliteStore(copy);
  return await readAll(store);
}

function copyOf(source: string): string {
  const copy = join(folder, `copy-${Math.random()}.db`);
  for (const suffix of ["", "-wal"]) if (existsSync(source + suffix)) copyFileSync(source + suffix, copy + suffix);
  return copy;
}

/** The same places each time, spread over the file, the beginning in full. */
function places(size: number, count: number): number[] {
  const spread = Array.from({ length: count }, (_, i) => Math.floor(((i * 0.6180339887498949) % 1) * size));
  return [...Array.from({ length: Math.min(100, size) }, (_, i) => i), ...spread];
}

const flip = (at: number) => (bytes: Buffer) => {
  bytes[at] = (bytes[at] as number) ^ (1 << (at % 8));
  return bytes;
};
const wipe = (at: number) => (bytes: Buffer) => bytes.fill(0, at, at + 512);
const cut = (at: number) => (bytes: Buffer) => bytes.subarray(0, at);

async function closedFile(commits: number, bytes: number): Promise<string> {
  const path = join(folder, `closed-${commits}.db`);
  await using store = sqliteStore(path);
  await fill(store, commits, bytes);
  await readAll(store);
  return path;
}

describe("a database file that is damaged", () => {
  test("by flipped bits shows it or is unharmed", async () => {
    const source = await closedFile(60, 300);
    const counts = await damageAll(source, "", places(statSync(source).size, 300).map(flip));
    console.log("flipped bits, file:", JSON.stringify(counts));
    expect(counts).toMatchObject({ DIFFERENT: 0, shorter: 0 });
    expect(counts.refused + counts.noticed).toBeGreaterThan(100);
  });

  test("by wiped sectors or cuts shows it", async () => {
    const source = await closedFile(61, 300);
    const size = statSync(source).size;
    const damages = [...Array.from({ length: size / 4096 }, (_, i) => wipe(i * 4096)), ...places(size, 60).map(cut)];
    const counts = await damageAll(source, "", damages);
    console.log("wiped and cut, file:", JSON.stringify(counts));
    expect(counts).toMatchObject({ DIFFERENT: 0, shorter: 0 });
    expect(counts.refused + counts.noticed).toBeGreaterThan(100);
  });

  test("shows it too where it is too large to be checked at opening", async () => {
    const source = await closedFile(150, 16_000);
    const size = statSync(source).size;
    expect(size).toBeGreaterThan(4 * 1024 * 1024);
    const counts = await damageAll(
      source,
      "",
      places(size, 60)
        .slice(100)
        .flatMap((at) => [flip(at), wipe(at)]),
    );
    console.log("flipped and wiped, large file:", JSON.stringify(counts));
    expect(counts).toMatchObject({ DIFFERENT: 0, shorter: 0 });
    expect(counts.refused + counts.noticed).toBeGreaterThan(50);
  });

  test("in its write-ahead log loses at most the tail", async () => {
    const source = join(folder, "open.db");
    await using store = sqliteStore(source);
    await fill(store, 60, 300);
    const size = Math.min(statSync(`${source}-wal`).size, 700_000);
    const damages = [...places(size, 150).map(flip), ...places(size, 60).map(cut)];
    const counts = await damageAll(source, "-wal", damages);
    console.log("flipped and cut, write-ahead log:", JSON.stringify(counts));
    expect(counts.DIFFERENT).toBe(0);
    expect(counts.shorter).toBeGreaterThan(20);
  });

  test("is seen by these checks when a store hides it (mutants)", async () => {
    const source = await closedFile(62, 300);
    const whole = await readCopy(source);
    const mutants: readonly [Outcome, (event: StoredEvent) => StoredEvent][] = [
      ["identical", (event) => event],
      ["DIFFERENT", (event) => ({ ...event, order: event.order + 1 })],
      ["DIFFERENT", (event) => ({ ...event, run: undefined })],
      ["noticed", (event) => ({ ...event, data: Buffer.from("other") })],
    ];
    for (const [expected, change] of mutants) {
      const altered = (store: Store): Store => ({
        ...store,
        async *events(query) {
          for await (const event of store.events(query)) yield change(event);
        },
      });
      expect(await outcomeOf(copyOf(source), whole, altered)).toBe(expected);
    }
  });
});
