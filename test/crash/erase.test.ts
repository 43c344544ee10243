/** A process that is killed in the middle of an erasure: what it began is on record, verify says so, and anybody finishes it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { verify } from "../../src/audit/verify.ts";
import { openrath } from "../../src/index.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { builtDoor } from "../support/built.ts";
import { ownSchemas } from "../support/postgres.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-killed-erase-"));
afterAll(() => rmSync(folder, { recursive: true }));
let url = "";
const schema = ownSchemas((given) => {
  url = given;
});

/** Erases a session, and kills itself at a point of it. */
const erasing = `
  const [kind, place, schema, point, session] = process.argv.slice(1);
  const { openrath } = await import(${JSON.stringify(await builtDoor())});
  const { sqliteStore } = await import(${JSON.stringify(await builtDoor("openrath/store/sqlite"))});
  const { postgresStore } = await import(${JSON.stringify(await builtDoor("openrath/store/postgres"))});
  const store = kind === "sqlite" ? sqliteStore(place) : postgresStore(place, { schema });
  const die = () => process.kill(process.pid, "SIGKILL");
  const dying = {
    ...store,
    append: async (write) => {
      const entry = write.branches.some(({ about }) => about?.log === "erasure");
      const written = await store.append(write);
      if (entry && point === "intent") die();
      return written;
    },
    erase: async (ids, entry) => {
      if (point === "some") await store.erase(ids.slice(0, 2), entry).then(die);
      await store.erase(ids, entry);
    },
    scrub: async () => (point === "scrub" ? die() : store.scrub()),
  };
  const rath = openrath({ store: dying });
  await rath.erase({ session }, { by: "human:ada", reason: "asked to" });
`;

async function killedAt(kind: "sqlite" | "postgres", place: string, name: string, point: string, session: string): Promise<void> {
  const args = ["--input-type=module", "-e", erasing, kind, place, name, point, session];
  const child = spawn(process.execPath, args, { stdio: "inherit", env: { ...process.env, OPENRATH_HOME: folder } });
  const [, signal] = (await once(child, "close")) as [number | null, string | null];
  expect(signal, point).toBe("SIGKILL");
}

const words = "the long and private words of somebody ";

test.each([
  ["sqlite", "intent", "gc"],
  ["sqlite", "some", "gc"],
  ["sqlite", "scrub", "erase"],
  ["postgres", "some", "gc"],
] as const)("on %s at %s, finished by %s", { timeout: 60_000 }, async (kind, point, by) => {
  const name = kind === "sqlite" ? "" : schema();
  const place = kind === "sqlite" ? join(mkdtempSync(join(folder, "store-")), "store.db") : url;
  const open = (): Store => (kind === "sqlite" ? sqliteStore(place) : postgresStore(url, { schema: name }));
  let [id, other] = ["", ""];
  {
    await using rath = openrath({ store: open() });
    const session = await rath.session(words.repeat(300), { title: "private words" }).do("work", () => words);
    ({ id } = session);
    other = (await rath.session("something else").do("work", () => 1)).id;
    await rath.save(session.fork("stays").say("on its own"));
  }
  await killedAt(kind, place, name, point, id);
  await using rath = openrath({ store: open() });
  const left = { intent: 4, some: 2, scrub: 0 }[point];
  const { problems } = await verify(await rath.open(id));
  expect(problems.filter(({ kind: what }) => what === "unfinished")).toHaveLength(left);
  expect((await rath.gc({ dryRun: true })).finished).toHaveLength(1);
  if (by === "gc") expect((await rath.gc()).finished).toHaveLength(1);
  else await rath.erase({ session: other }, { by: "human:bob", reason: "another" });
  expect(await verify(await rath.open(id))).toMatchObject({
    problems: [],
    erased: 4,
    erasures: [{ by: "human:ada", reason: "asked to" }],
  });
  expect((await rath.gc()).finished).toEqual([]);
  if (kind === "sqlite")
    for (const file of readdirSync(join(place, "..")))
      expect(readFileSync(join(place, "..", file), "latin1")).not.toContain("private words");
});
