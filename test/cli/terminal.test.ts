/** What a terminal adds: colours, progress, help to a person. And what it must not add. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cli } from "../../src/cli/cli.ts";
import { progressing } from "../../src/cli/progress.ts";
import { show } from "../../src/cli/shown.ts";
import { smallDisk } from "../crash/small-disk.ts";
import { type Calling, call, makeWorld, type World } from "../golden-cli/world.ts";

let folder = "";
let world: World;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-terminal-"));
  world = await makeWorld();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const csi = "\u001b[";
const utf8 = { LANG: "C.UTF-8" };
const ls = (calling: Calling, ...more: readonly string[]) => call(world.store, ["ls", ...more], calling);

describe("colours", () => {
  test("are for terminals that want them", async () => {
    expect((await ls({ terminal: true, env: utf8 })).out).toContain(csi);
    expect((await ls({ terminal: false, env: utf8 })).both).not.toContain(csi);
    expect((await ls({ terminal: true, env: { ...utf8, NO_COLOR: "1" } })).both).not.toContain(csi);
    expect((await ls({ terminal: true, env: { ...utf8, TERM: "dumb" } })).both).not.toContain(csi);
    expect((await ls({ terminal: true, env: utf8 }, "--no-color")).both).not.toContain(csi);
    expect((await call(world.store, ["--no-color", "ls"], { terminal: true, env: utf8 })).both).not.toContain(csi);
    expect((await ls({ terminal: true, env: utf8 }, "--json")).both).not.toContain(csi);
  });
});

describe("errors", () => {
  test("are JSON on stderr where JSON was asked for", async () => {
    const { exit, out, err } = await call(world.store, ["show", "ffff", "--json"], { terminal: false });
    expect([exit, out]).toEqual([3, ""]);
    expect(JSON.parse(err)).toEqual({
      error: { code: "session.not-found", message: "There is no session ffff in this store.", exit: 3, next: "openrath ls --all" },
    });
  });
});

describe("Ctrl+C", () => {
  test("leaves a command that only reads, with 130", async () => {
    const controller = new AbortController();
    const slow = { ...world.store, sessions: () => never() };
    const reading = call(slow, ["ls"], { terminal: false, signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    expect(await reading).toMatchObject({ exit: 130, out: "" });
  });

  async function* never(): AsyncGenerator<never> {
    await new Promise(() => {});
  }
});

describe("progress", () => {
  async function shown(terminal: boolean, quiet: boolean, half = ""): Promise<string> {
    let written = "";
    const to = {
      columns: 80,
      isTTY: terminal,
      write: (text: string) => {
        written += text;
      },
    };
    const input = { isTTY: false, text: async () => "", lines: async function* () {} };
    let ms = 0;
    const host = { out: to, err: to, input, env: utf8, cwd: folder, signal: new AbortController().signal, now: () => new Date(ms) };
    const cli = new Cli(host, () => Promise.reject(new Error("no project")));
    cli.settings = { quiet };
    await progressing(cli, "counting", "events", async (progress) => {
      progress.add(5000);
      if (half !== "") cli.stream(half);
      ms = 1200;
      // It draws five times a second, where it draws at all.
      if (terminal && !quiet && half === "") await expect.poll(() => written, { timeout: 10_000 }).not.toBe("");
      else await new Promise((resolve) => setTimeout(resolve, 500));
      cli.print(show`data`);
    });
    return written;
  }

  test("never wipes a line that is being written", async () => {
    const drawn = await shown(true, false, "half a line");
    expect(drawn).not.toContain("counting");
    expect(drawn).toBe("half a linedata\n");
  });

  test("says how many and how fast after a second, and is gone before anything else is written", async () => {
    const [drawn, piped, quiet] = await Promise.all([shown(true, false), shown(false, false), shown(true, true)]);
    expect(drawn).toMatch(/^\rcounting: 5 000 events, \d \d{3}\/s, 1\.2 s/);
    expect(drawn).toContain("\r\u001b[Kdata\n");
    expect([piped, quiet]).toEqual(["data\n", "data\n"]);
  });
});

// biome-ignore lint/correctness/useYield: it fails before it gives anything
async function* burning(): AsyncGenerator<never> {
  throw new Error("disk on fire");
}

describe("doctor", () => {
  const secret = "sk-ant-very-secret-value-0123456789";

  test("names what is there and never shows a key", async () => {
    const env = { ...utf8, NO_COLOR: "1", ANTHROPIC_API_KEY: secret, AZURE_API_KEY: secret };
    const { exit, out, both } = await call(world.store, ["doctor"], { terminal: true, env, cwd: folder });
    expect(exit).toBe(0);
    expect(both).not.toContain(secret.slice(0, 12));
    expect(out).toMatch(/^node +ok +\d+\.\d+\.\d+/m);
    expect(out).toMatch(/^sqlite +ok/m);
    expect(out).toMatch(/^disk +(ok|warn) +[\d.]+ [kMGT]B free at \//m);
    expect(out).toMatch(/^project +- +no openrath\.config\.ts here or above \(openrath init\)/m);
    expect(out).toMatch(/^store +ok/m);
    expect(out).toMatch(/^workflow assistant +ok/m);
    expect(out).toMatch(/^model anthropic +ok +ANTHROPIC_API_KEY set, @ai-sdk\/anthropic installed/m);
    expect(out).toMatch(/^model openai +- +OPENAI_API_KEY not set/m);
    expect(out).toMatch(/^model azure +warn .*\(set AZURE_RESOURCE_NAME or AZURE_BASE_URL\)/m);
    expect(out).toMatch(/^sandbox local +(ok +isolation namespace, files by (overlay|reflink|copy)|warn +.*cannot isolate)/m);
    expect(out).toMatch(/^sandbox memory +ok +files and commands, just-bash installed/m);
  });

  test("fails on a disk that is nearly full", async ({ skip }) => {
    await using disk = await smallDisk(join(folder, "small"), 16);
    if (disk === undefined) return skip("nothing may be mounted here, so no disk is small");
    const env = { ...utf8, OPENRATH_HOME: join(disk.folder, "home") };
    const { exit, out, err } = await call(undefined, ["doctor"], { terminal: false, env, cwd: disk.folder });
    expect([exit, out]).toEqual([1, expect.stringContaining(`disk\tfail\t16.0 MB free at ${disk.folder}\n`)]);
    expect(err).toContain("disk: make room");
  });

  test("says what is open to others, and fails on what is broken", async () => {
    const home = join(folder, "home");
    await mkdir(home, { mode: 0o755 });
    await writeFile(join(home, "signing-key.pem"), "", { mode: 0o644 });
    const env = { ...utf8, OPENRATH_HOME: home };
    const broken = { ...world.store, sessions: () => burning() };
    const { exit, out, err } = await call(broken, ["doctor", "--json"], { terminal: false, env, cwd: folder });
    const found = new Map(
      (JSON.parse(out) as readonly { readonly check: string; readonly status: string; readonly fix: string | null }[]).map((one) => [
        one.check,
        one,
      ]),
    );
    expect(found.get("home")).toMatchObject({ status: "warn", fix: `chmod 700 ${home}` });
    expect(found.get("signing key")).toMatchObject({ status: "warn" });
    expect(found.get("store")).toMatchObject({ status: "fail" });
    expect([exit, err]).toEqual([1, expect.stringContaining("store")]);
  });
});
