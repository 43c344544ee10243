/** Manipulations of a store and of bundles, made by a seeded generator: each is found, with its place. */
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { write } from "../../src/audit/audit.ts";
import type { Problem } from "../../src/audit/verify.ts";
import { type VerifiedStore, verifyStore } from "../../src/audit/verify-store.ts";
import { projectOf } from "../../src/cli/project.ts";
import { tool } from "../../src/index.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { composeRath } from "../../src/openrath.ts";
import { Key } from "../../src/runtime/key.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { RathError } from "../../src/session/errors.ts";
import type { Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { writeFile as writeFileTool } from "../../src/tool/builtin/tools.ts";
import { call } from "../golden-cli/world.ts";
import { Random } from "../simulation/random.ts";
import { Flow } from "../support/flow.ts";
import { Forgery } from "../support/forgery.ts";
import { cuts, eraseByHand, forgedErasures, manipulations } from "../support/manipulations.ts";
import { ownSchemas, withClient } from "../support/postgres.ts";

const seed = Number(process.env["TAMPER_SEED"] ?? 20261115);
const deleteFile = tool({
  name: "delete_file",
  description: "Deletes.",
  input: z.object({ path: z.string() }),
  needsApproval: true,
  run: () => "deleted",
});

const work = new Flow(async (session) => {
  let at: Session = await session.to("memory").call(writeFileTool, { path: "notes/a.md", content: "one\n" });
  at = await at.call(writeFileTool, { path: "notes/b.md", content: "two\n" });
  at = await at.do("long a", () => "a".repeat(5000), { repeat: "safe" });
  at = await at.do("long b", () => "b".repeat(5000), { repeat: "safe" });
  const [x, y] = await Promise.all([at.fork("x").do("try x", () => 1), at.fork("y").do("try y", () => 2)]);
  at = await x.merge(y, { reason: "both" });
  at.fork("bad").reject("does not build");
  at = await at.remember({ key: "tide", content: "High water is at noon." });
  const first = await at.ask("Publish?");
  const second = await first.ask("To everybody?");
  const approved = await second.call(deleteFile, { path: "a.md" });
  return approved.do("publish", () => "published");
}, "work");

let url = "";
const schema = ownSchemas((given) => {
  url = given;
});
const key = new Key(undefined);
let folder = "";
let pristine: Forgery;
/** The same, after parts of it were erased. */
let erased: Forgery;
/** Statements of every run, kept elsewhere. */
let anchor = "";
let bundle = "";

function rathOn(store: Store): Rath {
  return composeRath({ store, implicitForks: "allow", memory: volatileMemory(), workflows: { work } }, { openKey: async () => key });
}

async function examine(store: Store, anchored: string | undefined): Promise<VerifiedStore> {
  await using rath = rathOn(store);
  return await verifyStore(runtimeOf(rath.session()), { anchor: anchored });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-tamper-"));
  bundle = join(folder, "bundle.jsonl");
  const kept: Store = { ...memoryStore(), [Symbol.asyncDispose]: async () => {} };
  const rath = rathOn(kept);
  for (const title of ["First", "Second"]) {
    const run = await rath.run("work", rath.session("Go", { title, tags: ["t"] }), { key: title });
    for (let settled = await run.settle(); settled.status === "waiting"; settled = await run.settle())
      for (const one of settled.pending)
        await rath.decide(one.id, one.kind === "approval" ? { by: "p1", approve: true } : { by: "p1", answer: "yes" });
    const done = await run.result();
    await write(done, bundle);
  }
  await rath.session("Bare").do("one", () => 1);
  await rath.close();
  pristine = await Forgery.of(kept);
  const { families } = await examine(kept, undefined);
  expect(families.map(({ verification: { ok, problems } }) => ({ ok, problems }))).toEqual(
    families.map(() => ({ ok: true, problems: [] })),
  );
  expect(families).toHaveLength(3);
  const eraser = rathOn(kept);
  const [first, second] = pristine.runs;
  await eraser.erase({ session: first?.session, matching: "two" }, { by: "human:ada", reason: "asked to" });
  await eraser.erase({ session: second?.session }, { by: "human:ada", reason: "asked to" });
  await eraser.close();
  erased = await Forgery.of(kept);
  anchor = join(folder, "anchors.jsonl");
  await writeFile(anchor, families.map(({ verification }) => `${verification.statement}\n`).join(""));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let stores = 0;
/** The problems of a forged store in a file of its own. */
async function forgedProblems(
  all: Forgery,
  anchored?: string,
): Promise<{ readonly problems: readonly Problem[]; readonly unknownKeys: readonly string[] }> {
  const store = sqliteStore(join(folder, `forged-${stores++}.db`), { durability: "relaxed" });
  await all.into(store);
  const { families, problems } = await examine(store, anchored);
  return {
    problems: [...problems, ...families.flatMap(({ verification }) => verification.problems)],
    unknownKeys: families.flatMap(({ verification }) => verification.unknownKeys),
  };
}

function places(problems: readonly Problem[]): readonly string[] {
  return problems.flatMap(({ event, session = "" }) => [event, session]);
}

describe(`with seed ${seed}`, () => {
  test("what was not changed is intact, also copied, and against the anchor", async () => {
    expect(await forgedProblems(pristine.copy(), anchor)).toEqual({ problems: [], unknownKeys: [] });
  });

  test("there are more than a hundred of them", () => {
    const number = [...Object.values(manipulations), ...Object.values(cuts)].reduce((sum, [times]) => sum + times, 0);
    expect(number).toBeGreaterThanOrEqual(130);
  });

  for (const [name, [times, manipulate]] of Object.entries(manipulations))
    test(`${name} is found ${times} times`, async () => {
      for (let turn = 0; turn < times; turn++) {
        const chance = new Random(seed + turn * 7919 + name.length * 31);
        const all = pristine.copy();
        const place = manipulate(all, chance);
        const { problems } = await forgedProblems(all);
        expect(problems.length, `turn ${turn}`).toBeGreaterThan(0);
        if (place !== undefined) expect(places(problems), `turn ${turn}`).toContain(place);
        for (const problem of problems) expect(problem.event).toMatch(/^([0-9a-f]{64}|[0-9a-f-]{36})$/);
      }
    });

  for (const [name, [times, manipulate]] of Object.entries(cuts))
    test(`${name} is found ${times} times against an anchor, and only so`, async () => {
      for (let turn = 0; turn < times; turn++) {
        const all = pristine.copy();
        manipulate(all, new Random(seed + turn * 104_729));
        expect((await forgedProblems(all)).problems, `turn ${turn}`).toEqual([]);
        const { problems } = await forgedProblems(all, anchor);
        expect(
          problems.map(({ kind }) => kind),
          `turn ${turn}`,
        ).toEqual(["cut-back"]);
      }
    });

  test("what was erased is intact, also copied, and against an anchor from before", async () => {
    expect(await forgedProblems(erased.copy(), anchor)).toEqual({ problems: [], unknownKeys: [] });
  });

  for (const [name, [times, manipulate]] of Object.entries(forgedErasures))
    test(`${name} is found ${times} times`, async () => {
      for (let turn = 0; turn < times; turn++) {
        const all = erased.copy();
        const place = manipulate(all, new Random(seed + turn * 7919 + name.length * 31));
        const { problems } = await forgedProblems(all);
        expect(problems.length, `turn ${turn}`).toBeGreaterThan(0);
        if (place !== undefined) expect(places(problems), `turn ${turn}`).toContain(place);
      }
    });

  test("who writes to the store can erase: it is shown, with who says so and why, and is no problem", async () => {
    const all = erased.copy();
    const entry = eraseByHand(all);
    const store = sqliteStore(join(folder, "by-hand.db"), { durability: "relaxed" });
    await all.into(store);
    const { families } = await examine(store, anchor);
    expect(families.flatMap(({ verification }) => verification.problems)).toEqual([]);
    expect(families.flatMap(({ verification }) => verification.erasures)).toContainEqual({
      entry: entry.id,
      by: "human:mallory",
      at: expect.any(String),
      reason: "nobody asked",
      events: 1,
      contents: 0,
    });
  });

  test("who signs everything again with another key is a stranger, and nothing is against the anchor without the right one", async () => {
    for (let turn = 0; turn < 3; turn++) {
      const chance = new Random(seed + turn);
      const all = pristine.copy();
      all.rewrite(chance.pick(all.ofKind("do.returned")), {}, '{"value":"forged"}');
      const stranger = new Key(undefined);
      all.sign(stranger);
      const found = await forgedProblems(all);
      expect(found.problems).toEqual([]);
      expect(new Set(found.unknownKeys)).toEqual(new Set([stranger.id]));
      expect((await forgedProblems(all, anchor)).problems.map(({ kind }) => kind)).toContain("cut-back");
    }
  });

  test("who signs everything again under the name of the key does not have it", async () => {
    for (let turn = 0; turn < 2; turn++) {
      const all = pristine.copy();
      all.rewrite(new Random(seed + turn).pick(all.ofKind("do.returned")), {}, '{"value":"forged"}');
      all.sign(new Key(undefined), key.id);
      const { problems } = await forgedProblems(all);
      expect(new Set(problems.map(({ kind, problem }) => `${kind}: ${problem}`))).toEqual(
        new Set(["signature: the statement's signature does not hold: the statement or its signature was changed"]),
      );
    }
  });

  test("an older copy of the whole store cannot be told without an anchor", async () => {
    const all = pristine.copy();
    all.logs = [];
    all.runs = [];
    expect((await forgedProblems(all)).problems).toEqual([]);
    expect((await forgedProblems(all, anchor)).problems.map(({ kind }) => kind)).toEqual(["cut-back", "cut-back", "cut-back"]);
  });

  test("bundles are refused with the place of what was changed in them", async () => {
    const lines = (await readFile(bundle, "utf8")).trimEnd().split("\n");
    const logOf = (line: string | undefined): string | undefined => /"session":"([^"]+)","step"/.exec(line ?? "")?.[1];
    const neighbours = lines.flatMap((line, at) => (logOf(line) !== undefined && logOf(line) === logOf(lines[at + 1]) ? [at] : []));
    await using rath = rathOn(memoryStore());
    for (let turn = 0; turn < 24; turn++) {
      const chance = new Random(seed + turn);
      const forged = [...lines];
      const at = chance.between(1, lines.length - 2);
      const line = lines[at] as string;
      const character = chance.between(0, line.length - 1);
      if (turn % 4 === 0) forged.splice(at, 1);
      else if (turn % 4 === 1) forged.splice(at, 0, line);
      else if (turn % 4 === 2) {
        const first = chance.pick(neighbours);
        [forged[first], forged[first + 1]] = [lines[first + 1] as string, lines[first] as string];
      } else forged[at] = `${line.slice(0, character)}${line[character] === "0" ? "1" : "0"}${line.slice(character + 1)}`;
      const bytes = Buffer.from(`${forged.join("\n")}\n`);
      const refused = await rath.import(oneChunk(bytes)).then(
        () => undefined,
        (error: unknown) => error as Error,
      );
      expect(refused?.message, `turn ${turn}`).toMatch(/cannot be imported \(line \d+/);
    }
    expect((await rath.import(bundle)).step).toBeGreaterThan(10);
  });

  test("the tables of a file: flipped bits, exchanged frames, other rows", async () => {
    const file = join(folder, "tables.db");
    const whole = sqliteStore(file, { durability: "relaxed" });
    await pristine.copy().into(whole);
    await whole[Symbol.asyncDispose]();
    for (let turn = 0; turn < 12; turn++) {
      const forged = join(folder, `tables-${turn}.db`);
      await copyFile(file, forged);
      changeTables(forged, turn, new Random(seed + turn));
      const { families, problems } = await examine(sqliteStore(forged), undefined).catch((error: unknown) => {
        // What a store refuses to read is found, too, before anything is verified.
        if (!RathError.is(error, "store.corrupt")) throw error;
        return { families: [], problems: [error.message] };
      });
      expect(problems.length + families.flatMap(({ verification }) => verification.problems).length, `turn ${turn}`).toBeGreaterThan(0);
    }
  });

  test("openrath verify names the place in what does not open any more, with exit code 4", async () => {
    const file = join(folder, "broken.db");
    const store = sqliteStore(file, { durability: "relaxed" });
    const all = pristine.copy();
    const { events, row } = all.log(pristine.runs[0]?.session ?? "");
    const [gone] = events.splice(3, 1);
    await all.into(store);
    await store[Symbol.asyncDispose]();
    const open = async () => projectOf(rathOn(sqliteStore(file)), undefined);
    const { exit, out, err } = await call(open, ["verify", row.id], { terminal: false });
    expect(exit).toBe(4);
    expect(out).toContain(`\tits parent is missing: there is no event ${gone?.id}`);
    expect(err).toMatch(/not intact: \d+ problems; \d+ events checked/);
    const every = await call(open, ["verify", "--all"], { terminal: false });
    expect(every.exit).toBe(4);
    expect(every.out).toMatch(new RegExp(`^${row.id}\tnot intact\t[1-9]`));
  });

  test("the tables of a database: frames, rows and blobs", async () => {
    const name = schema();
    await using store = postgresStore(url, { schema: name, max: 2 });
    await pristine.copy().into(store);
    await withClient(url, async (client) => {
      const [first, second] = pristine.runs.map(({ id, session }) => ({ id, session }));
      const change = (sql: string, ...values: unknown[]): Promise<unknown> => client.query(sql.replaceAll("store.", `"${name}".`), values);
      const logOf = "log = (SELECT no FROM store.logs WHERE id = $1)";
      await change("UPDATE store.logs SET title = 'other' WHERE id = $1", first?.session);
      await change("UPDATE store.runs SET status = 'failed' WHERE id = $1", first?.id);
      await change(`DELETE FROM store.frames WHERE ${logOf}`, second?.id);
      await change("DELETE FROM store.blobs");
      await change(`UPDATE store.frames SET body = set_byte(body, 40, 255 - get_byte(body, 40)) WHERE ${logOf}`, second?.session);
    });
    const { families } = await examine(postgresStore(url, { schema: name, max: 2 }), undefined);
    const found = families.flatMap(({ verification }) => verification.problems);
    const [first, second] = pristine.runs;
    for (const expected of [
      { event: first?.session, kind: "listed", field: "title" },
      { event: first?.id, kind: "listed", field: "status" },
      { event: second?.session, kind: "unreadable" },
      { kind: "missing", problem: expect.stringMatching(/blob [0-9a-f]{64} is missing/) },
    ])
      expect(found).toContainEqual(expect.objectContaining(expected));
  });
});

async function* oneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** Through a connection that knows nothing of checksums. */
function changeTables(file: string, turn: number, chance: Random): void {
  const database = new Database(file);
  const frames = database.prepare("SELECT place, body FROM frames").all() as { readonly place: number; readonly body: Buffer }[];
  const [a, b] = [chance.pick(frames), chance.pick(frames)];
  if (turn < 5) {
    const at = chance.between(0, a.body.length - 1);
    a.body[at] = (a.body[at] as number) ^ (1 << chance.between(0, 7));
    database.prepare("UPDATE frames SET body = ? WHERE place = ?").run(a.body, a.place);
  } else if (turn < 7) {
    const other = frames.find(({ place }) => place !== a.place && place !== b.place) as (typeof frames)[number];
    database.prepare("UPDATE frames SET body = ? WHERE place = ?").run(other.body, a.place);
    database.prepare("UPDATE frames SET body = ? WHERE place = ?").run(a.body, other.place);
  } else if (turn < 9) database.prepare("UPDATE logs SET title = 'other' WHERE title = 'First'").run();
  else if (turn < 10) database.prepare("UPDATE runs SET status = 'failed'").run();
  else database.prepare("DELETE FROM frames WHERE place = ?").run(a.place);
  database.close();
}
