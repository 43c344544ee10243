/** Erasing beside other processes: two that erase the same, and one that is still at work on what is to go. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { verify } from "../../src/audit/verify.ts";
import { openrath, type Rath } from "../../src/index.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { collect } from "../../src/testing/store-case.ts";
import { builtDoor } from "../support/built.ts";
import { ownSchemas } from "../support/postgres.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-erase-processes-"));
afterAll(() => rmSync(folder, { recursive: true }));
let url = "";
const schema = ownSchemas((given) => {
  url = given;
});
const who = { by: "human:ada", reason: "asked to" };
const marker = "Zaphod-Beeblebrox-4711";

interface Place {
  readonly kind: "sqlite" | "postgres";
  readonly at: string;
  readonly schema: string;
}

function placeOf(kind: "sqlite" | "postgres"): Place {
  return kind === "sqlite"
    ? { kind, at: join(mkdtempSync(join(folder, "store-")), "store.db"), schema: "" }
    : { kind, at: url, schema: schema() };
}

const open = ({ kind, at, schema: name }: Place): Store => (kind === "sqlite" ? sqliteStore(at) : postgresStore(at, { schema: name }));

/** The process: says what it has come to, a line each, and goes on when it is told to. */
const program = `
  import { createInterface } from "node:readline";
  const [work, place, session] = process.argv.slice(1);
  const { kind, at, schema } = JSON.parse(place);
  const { openrath, Workflow } = await import(${JSON.stringify(await builtDoor())});
  const { sqliteStore } = await import(${JSON.stringify(await builtDoor("openrath/store/sqlite"))});
  const { postgresStore } = await import(${JSON.stringify(await builtDoor("openrath/store/postgres"))});
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const told = async (line) => { console.log(line); await lines.next(); };
  class Slow extends Workflow {
    async forward(session) {
      return session.do("wait", async () => { await told("working"); return "a result that must not be lost"; });
    }
  }
  const rath = openrath({ store: kind === "sqlite" ? sqliteStore(at) : postgresStore(at, { schema }), workflows: { slow: new Slow() } });
  if (work === "erase") {
    await rath.gc({ dryRun: true });
    await told("ready");
    const report = await rath.erase({ matching: ${JSON.stringify(marker)} }, ${JSON.stringify(who)});
    console.log(JSON.stringify({ events: report.events.length, entries: report.entries.length, scrubbed: report.scrubbed }));
  } else if (work === "run") {
    const { status } = await (await rath.run("slow", await rath.open(session))).settle();
    console.log(status);
  } else {
    const opened = await rath.open(session);
    await new Slow().forward(opened);
    console.log("done");
  }
  await rath.close();
  process.exit(0);
`;

class Other {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #heard: AsyncIterator<string>;

  constructor(work: "erase" | "run" | "bare", place: Place, session = "") {
    const args = ["--input-type=module", "-e", program, work, JSON.stringify(place), session];
    const home = mkdtempSync(join(folder, "home-"));
    this.#child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, OPENRATH_HOME: home } });
    this.#lines = createInterface({ input: this.#child.stdout as NonNullable<ChildProcess["stdout"]> });
    this.#heard = this.#lines[Symbol.asyncIterator]();
    onTestFinished(() => void this.#child.kill("SIGKILL"));
  }

  async says(): Promise<string> {
    const { value, done } = await this.#heard.next();
    if (done === true) throw new Error("it ended without a word");
    return value as string;
  }

  goOn(): void {
    this.#child.stdin?.write("go\n");
  }

  async ended(): Promise<number> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const [code] = (await once(this.#child, "exit")) as [number];
    return code;
  }
}

/** Sessions that say the words in events, blobs and files; gives their ids. */
async function filled(rath: Rath, sessions: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let i = 0; i < sessions; i++)
    ids.push((await rath.session(`${i}: ${marker}`, { title: marker }).do("work", () => `${marker} ${"x".repeat(5000)} ${i}`)).id);
  return ids;
}

async function intact(rath: Rath, store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const session = await rath.open(id);
    expect(await verify(session)).toMatchObject({ problems: [] });
    expect(JSON.stringify([...session.events()])).not.toContain(marker);
  }
  expect((await collect(store.sessions({}))).filter(({ title }) => title !== undefined)).toEqual([]);
  expect((await rath.gc({ dryRun: true })).finished).toEqual([]);
}

describe("an erasure beside other processes", { timeout: 60_000 }, () => {
  test.each(["sqlite", "postgres"] as const)("that erase the same on %s: both end, it is gone, and the record says so", async (kind) => {
    const place = placeOf(kind);
    let ids: readonly string[] = [];
    {
      await using rath = openrath({ store: open(place) });
      ids = await filled(rath, 6);
    }
    const both = [new Other("erase", place), new Other("erase", place)];
    for (const one of both) expect(await one.says()).toBe("ready");
    for (const one of both) one.goOn();
    const reports = await Promise.all(both.map(async (one) => JSON.parse(await one.says()) as { events: number; scrubbed: boolean }));
    expect(await Promise.all(both.map((one) => one.ended()))).toEqual([0, 0]);
    expect(Math.max(...reports.map(({ events }) => events))).toBe(18);
    const store = open(place);
    await using rath = openrath({ store });
    // One of them may have been in the way of the other.
    if (reports.some(({ scrubbed }) => !scrubbed)) await rath.gc();
    await intact(rath, store, ids);
    if (kind === "sqlite")
      for (const file of readdirSync(join(place.at, "..")))
        expect(readFileSync(join(place.at, "..", file), "latin1"), file).not.toContain(marker);
  });

  test.each(["run", "bare"] as const)("that are at work on it loses nothing of theirs: %s", async (work) => {
    const place = placeOf("sqlite");
    const store = open(place);
    await using rath = openrath({ store });
    const [id = ""] = await filled(rath, 1);
    const other = new Other(work, place, id);
    expect(await other.says()).toBe("working");
    const erased = rath.erase({ matching: marker }, who);
    if (work === "run")
      await expect(erased).rejects.toMatchObject({ code: "erase.refused", message: expect.stringContaining("has not ended (running)") });
    else await erased;
    other.goOn();
    expect(await other.says()).toBe("done");
    expect(await other.ended()).toBe(0);
    if (work === "run") {
      expect((await rath.open(id)).messages[0]?.text).toContain(marker);
      await rath.erase({ matching: marker }, who);
    }
    await using later = openrath({ store: open(place) });
    await intact(later, store, [id]);
    expect(JSON.stringify([...(await later.open(id)).events()])).toContain("a result that must not be lost");
  });
});
