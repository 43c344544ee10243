// The programs of users as users write them. They run on the package as it is built for the tests of this run.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { write } from "../../src/audit/audit.ts";
import { openrath, replay, type Session, verify, Workflow } from "../../src/index.ts";
import { envelopeSchema, schemas } from "../../src/session/schema.ts";
import { shell } from "../../src/tool/builtin/tools.ts";
import { builtCommand, program } from "../support/built.ts";
import { rath as third } from "./programs/08-third-party.ts";
import { firecracker } from "./programs/firecracker.ts";
import { redisStore } from "./programs/redis-store.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): Promise<string> => readFile(join(root, file), "utf8");

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-programs-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program in a process of its own, with its home in the test's folder: compiled, or as it is with `--import tsx`. */
function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const surroundings = { ...process.env, OPENRATH_HOME: join(folder, "home"), LEDGER: join(folder, "ledger.txt"), ...env };
    const child = spawn(process.execPath, argv, { cwd: root, env: surroundings });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout += chunk));
    child.stderr.on("data", (chunk) => (stderr += chunk));
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

const ledger = async (): Promise<readonly string[]> =>
  (await readFile(join(folder, "ledger.txt"), "utf8").catch(() => "")).split("\n").filter(Boolean);

/** Plays the person who looks and says what happened. */
async function decide(outcome: "run-again" | { readonly type: "ok"; readonly value: unknown }): Promise<number> {
  await using rath = openrath({ store: join(folder, "home", "store.db") });
  const pending = await rath.pending();
  for (const { id } of pending) await rath.decide(id, { by: "person:tester", outcome });
  return pending.length;
}

describe("05-resume: run it, kill -9 it, run it again", () => {
  let migrate: readonly string[] = [];
  beforeAll(async () => {
    migrate = [await program(join(root, "test/integration/programs/05-resume.ts"))];
  });
  const steps = ["copy users", "copy orders", "copy items", "switch over"];

  test("without a crash every effect happens once, also when it is started again", async () => {
    const first = await run(migrate);
    expect(first).toMatchObject({ code: 0, stdout: "2026-11-15\n" });
    const second = await run(migrate);
    expect(second).toMatchObject({ code: 0, stdout: "2026-11-15\n" });
    expect(await ledger()).toEqual(steps);
  });

  test.each(steps)('killed before "%s" happened: finished effects are not repeated, the open one is asked about', async (step) => {
    const before = steps.slice(0, steps.indexOf(step));
    expect(await run(migrate, { DIE_BEFORE: step })).toMatchObject({ signal: "SIGKILL" });
    expect(await ledger()).toEqual(before);

    const waiting = await run(migrate);
    expect(waiting.code).toBe(8);
    expect(waiting.stderr).toContain(`"${step}" may or may not have happened`);
    expect(await ledger()).toEqual(before);

    expect(await decide("run-again")).toBe(1);
    expect(await run(migrate)).toMatchObject({ code: 0, stdout: "2026-11-15\n" });
    expect(await ledger()).toEqual(steps);
  });

  test("killed after the effect happened: the person's answer takes the place of its result", async () => {
    expect(await run(migrate, { DIE_AFTER: "switch over" })).toMatchObject({ signal: "SIGKILL" });
    expect(await run(migrate)).toMatchObject({ code: 8 });
    expect(await decide({ type: "ok", value: { at: "seen by hand" } })).toBe(1);
    expect(await run(migrate)).toMatchObject({ code: 0, stdout: "seen by hand\n" });
    expect(await ledger()).toEqual(steps);
  });

  test("killed at every effect in turn, it still does each of them once", async () => {
    for (const step of steps) {
      expect(await run(migrate, { DIE_AFTER: step })).toMatchObject({ signal: "SIGKILL" });
      expect(await run(migrate)).toMatchObject({ code: 8 });
      expect(await decide({ type: "ok", value: { at: "seen", rows: 1 } })).toBe(1);
    }
    expect(await run(migrate)).toMatchObject({ code: 0, stdout: "seen\n" });
    expect(await ledger()).toEqual(steps);
  });
});

describe("08-third-party: a store and a sandbox by somebody else", () => {
  class Twice extends Workflow {
    readonly name = "twice";
    calls = 0;
    async forward(session: Session) {
      const [a, b] = await Promise.all(["a", "b"].map((label) => session.fork(label).do("count", () => ++this.calls)));
      return (a as Session<number>).merge(b as Session<number>);
    }
  }

  test("keeps sessions, runs and what proves them", async () => {
    const twice = new Twice();
    await using rath = openrath({ store: redisStore("redis://test"), workflows: { twice } });
    const session = await (await rath.run(twice, rath.session("go"), { key: "once" })).result();
    const again = await (await rath.run(twice, rath.session("go"), { key: "once" })).result();
    expect([twice.calls, again.head]).toEqual([2, session.head]);
    expect((await replay(session, twice)).identical).toBe(true);
    expect((await verify(session)).problems).toEqual([]);
    expect((await rath.open(session.id)).head).toBe(session.head);
  });

  test("holds the files of a session, runs its commands, and lets go of everything", async () => {
    const machines = firecracker({ kernel: "/vmlinux" });
    await writeFile(join(folder, "name.txt"), "before\n");
    await using rath = openrath({ store: redisStore("redis://test"), sandboxes: { firecracker: machines } });
    const placed = rath.session("Go.").to("firecracker", { workspace: folder, network: "all" });
    const [a, b] = await Promise.all(
      ["a", "b"].map((label) => placed.fork(label).call(shell, { command: `echo ${label} >> name.txt; cat name.txt` })),
    );
    expect([a?.output.stdout, b?.output.stdout]).toEqual(["before\na\n", "before\nb\n"]);
    expect(a?.calls[0]).toMatchObject({ acted: { sandbox: "firecracker", isolation: "none", workspace: "mirror" } });
    expect(await readFile(join(folder, "name.txt"), "utf8")).toBe("before\n");
    const open = async (): Promise<readonly string[]> => {
      const sessions: string[] = [];
      for await (const { session } of machines.list?.() ?? []) sessions.push(session);
      return sessions.sort();
    };
    expect(await open()).toEqual([a?.id, b?.id].sort());
    await rath.close();
    expect(await open()).toEqual([]);
  });

  test("the program's own Rath works on it", async () => {
    const session = await third.session("hello").do("greet", () => "hi");
    expect(session.output).toBe("hi");
    await third.close();
  });
});

describe("what the front of the repository shows", () => {
  test("the README's example is examples/hello.ts", async () => {
    const [, example] = /```ts\n(.*?)```/s.exec(await read("README.md")) ?? [];
    const program = await read("examples/hello.ts");
    expect(example).toBe(program);
    expect(program.trimEnd().split("\n").length).toBeLessThanOrEqual(24);
  });

  test("the README begins with what it is and two command lines", async () => {
    const readme = await read("README.md");
    const blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands?.trim().split("\n"));
    expect(blocks[0]).toEqual(["npm ci && npm run setup && npm start", "npm ci && npm run setup && npm test"]);
  });

  test("examples/hello.ts prints what its comments say, and the same again", async () => {
    const expected = { code: 0, stdout: "A value that holds its past.\nidentical: 22 events compared, nothing called\n" };
    // As it is, and as users have it.
    expect(await run(["--import", "tsx", "examples/hello.ts"])).toMatchObject(expected);
    expect(await run([await program(join(root, "examples/hello.ts"))])).toMatchObject(expected);
  });

  test("examples/client.ts starts a run over HTTP, streams it and reads what was said", async () => {
    const { code, stdout } = await run([await program(join(root, "examples/client.ts"))]);
    expect({ code, text: stdout.replaceAll(" \n", " ") }).toEqual({
      code: 0,
      text: "A value that holds its past.\nuser: What is a session?\nassistant: A value that holds its past.\ndone\n",
    });
  });

  test("npm start proves 14 things, leaves only what it says it keeps, and names the command that shows it in the inspector", async () => {
    const { code, stdout, stderr } = await run(["--import", "tsx", "examples/engineering/start.ts"], { TMPDIR: folder });
    const [, proved = ""] = stdout.split("What was proved\n");
    expect({ code, stderr, proofs: proved.match(/^ {2}✓ /gm)?.length }).toEqual({ code: 0, stderr: "", proofs: 14 });
    expect(stdout.split("\n").filter((line) => line.length > 100 && !line.includes(folder))).toEqual([]);
    const [kept = "", ...others] = (await readdir(folder)).filter((name) => name.startsWith("openrath-"));
    expect(others).toEqual([]);
    const home = join(folder, kept);
    const [, id = ""] = new RegExp(`^  OPENRATH_HOME=${home} npm run inspect -- (\\S+)$`, "m").exec(stdout) ?? [];
    const { scripts } = JSON.parse(await read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
    expect(scripts["inspect"]).toMatch(/^npm run build --workspace inspector .* && tsx src\/cli\/main\.ts inspect$/);
    const inspector = spawn(process.execPath, [await builtCommand(), "inspect", id, "--no-open"], {
      cwd: folder,
      env: { ...process.env, OPENRATH_HOME: home },
    });
    try {
      const link = await new Promise<string>((resolve, reject) => {
        inspector.stdout.once("data", (chunk) => resolve(String(chunk).trim()));
        inspector.once("exit", () => reject(new Error("the inspector ended")));
      });
      expect(link).toContain(`/s/${id}/graph`);
      const page = await fetch(link);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="root">')]);
    } finally {
      inspector.kill();
    }
  }, 120_000);

  test("docs/formats/session.md names every kind, fact and mark that is stored", async () => {
    const format = await read("docs/formats/session.md");
    const facts = Object.keys(envelopeSchema.shape.facts.shape);
    const fields = Object.values(schemas).flatMap((schema) => Object.keys(schema.shape));
    const marks = ["undefined", "number", "utf16", "blob", "object"].map((mark) => `{"$":"${mark}"`);
    const missing = [...Object.keys(schemas), ...facts, ...fields].filter((name) => !new RegExp(`\\b${name}\\??\\b`).test(format));
    expect([...missing, ...marks.filter((mark) => !format.includes(mark))]).toEqual([]);
  });

  test("docs/formats/session.md is enough to check a bundle: ids, digests and the order of a run", async () => {
    await using rath = openrath({ store: "memory" });
    const file = join(folder, "bundle.jsonl");
    const twice = new (class extends Workflow {
      forward(session: Session) {
        return session.fork("other").do("keep", () => ({ gone: undefined, long: "x".repeat(5000) }));
      }
    })();
    await write(await twice.forward(rath.session("hello")), file);

    const sha256 = (...parts: (string | Uint8Array)[]): string =>
      parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line)).filter((line) => "envelope" in line);
    for (const { id, envelope, data, salt } of events) {
      expect(sha256(JSON.stringify(envelope))).toBe(id); // keys keep their order through JSON.parse
      expect(sha256(Buffer.from(salt, "hex"), JSON.stringify(data))).toBe(envelope.data);
    }
    expect(events.map(({ order }) => order).sort((a, b) => a - b)).toEqual(events.map((_, index) => index));
    const kinds = events.map(({ envelope }) => envelope.kind);
    expect(kinds).toEqual(
      expect.arrayContaining(["session.created", "session.forked", "do.called", "do.returned", "run.ended", "run.signed"]),
    );
    const blob = lines.map((line) => JSON.parse(line)).find((line) => "blob" in line);
    expect([blob.blob, blob.bytes]).toEqual([sha256(blob.text), 5000]);
  });
});
