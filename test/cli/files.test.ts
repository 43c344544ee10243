/** Commands that work on files of this disk: a user's directory, and what sandboxes left in the home beside a store. */
import { hash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { projectOf } from "../../src/cli/project.ts";
import { openrath, type Session } from "../../src/index.ts";
import { composeRath } from "../../src/openrath.ts";
import { nodePlatform, onClock } from "../../src/runtime/platform.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { shell, writeFile as write } from "../../src/tool/builtin/tools.ts";
import { bootId, machine } from "../../src/workspace/machine.ts";
import { call, type Shown } from "../golden-cli/world.ts";

let folder = "";
const store = () => join(folder, "store.db");
const home = () => `${store()}-workspaces`;
const repo = () => join(folder, "repo");
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-files-"));
  await mkdir(repo());
  await writeFile(join(repo(), "a.txt"), "one\ntwo\n");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const run = (argv: readonly string[], calling: Partial<Parameters<typeof call>[2]> = {}): Promise<Shown> =>
  call(() => projectOf(openrath({ store: store() }), undefined), argv, { terminal: false, cwd: folder, now: () => new Date(), ...calling });
const textOf = (path: string): Promise<string> => readFile(join(repo(), path), "utf8");
const namesIn = (path: string): Promise<readonly string[]> => readdir(join(home(), path)).catch(() => []);

/** A session that changed a file of the directory and added another. */
async function worked(sandbox = "memory"): Promise<Session> {
  await using rath = openrath({ store: store() });
  const first = await rath.session("Work").to(sandbox, { workspace: repo() }).call(shell, { command: "echo three >> a.txt" });
  return await first.call(write, { path: "b/new.txt", content: "new\n" });
}

describe("apply", () => {
  test("writes to the directory that the session was placed on", async () => {
    const { id } = await worked();
    expect((await run(["apply", id, "--dry-run"])).out).toBe("changed\ta.txt\nadded\tb/new.txt\n");
    expect(await textOf("a.txt")).toBe("one\ntwo\n");
    expect((await run(["apply", id])).exit).toBe(2);
    expect(await textOf("a.txt")).toBe("one\ntwo\n");
    expect(await run(["apply", id, "--yes", "--paths", "b"])).toMatchObject({ exit: 0, out: "added\tb/new.txt\n" });
    expect([await textOf("a.txt"), await textOf("b/new.txt")]).toEqual(["one\ntwo\n", "new\n"]);
    expect(await run(["apply", id, "--yes"])).toMatchObject({ exit: 0, out: "changed\ta.txt\n" });
    expect(await textOf("a.txt")).toBe("one\ntwo\nthree\n");
    expect((await run(["apply", id, "--yes"])).err).toContain("Nothing to write");
  });

  test("without asking writes only below the folder of the call, unless the directory is named: a session may come from anybody", async () => {
    const { id } = await worked();
    const elsewhere = { cwd: await mkdtemp(join(folder, "elsewhere-")) };
    const refused = await run(["apply", id, "--yes"], elsewhere);
    expect(refused).toMatchObject({ exit: 2, err: expect.stringContaining(`openrath apply ${id} ${repo()} --yes`) as string });
    expect(await textOf("a.txt")).toBe("one\ntwo\n");
    expect(await run(["apply", id, repo(), "--yes"], elsewhere)).toMatchObject({ exit: 0 });
    expect(await textOf("a.txt")).toBe("one\ntwo\nthree\n");
  });

  test("writes nothing when a file changed there meanwhile, and names it", async () => {
    const { id } = await worked();
    await writeFile(join(repo(), "a.txt"), "mine\n");
    const { exit, err } = await run(["apply", id, "--yes"]);
    expect([exit, err]).toEqual([4, expect.stringContaining("changed here too: a.txt\n")]);
    expect(await readdir(repo())).toEqual(["a.txt"]);
    expect((await run(["apply", id, "--yes", "--paths", "b/new.txt"])).exit).toBe(0);
    expect([await textOf("a.txt"), await textOf("b/new.txt")]).toEqual(["mine\n", "new\n"]);
  });

  test("leaves .git in the session, and says so", async () => {
    await using rath = openrath({ store: store() });
    const first = await rath
      .session("Work")
      .to("memory", { workspace: repo() })
      .call(write, { path: ".git/hooks/pre-commit", content: "x\n" });
    const only = await run(["apply", first.id, "--yes"]);
    expect([only.exit, only.out, only.err]).toEqual([0, "", expect.stringContaining(".git stays in the session: 1 change left out\n")]);
    const { id } = await first.call(write, { path: "b.txt", content: "new\n" });
    expect(await run(["diff", id, "--patch"])).toMatchObject({
      out: expect.stringMatching(/^# \.git stays in the session: 1 change left out\ndiff --git a\/b\.txt b\/b\.txt\n/) as string,
      err: expect.stringContaining("not in the patch: .git stays in the session: 1 change left out\n") as string,
    });
    expect(JSON.parse((await run(["apply", id, "--dry-run", "--json"])).out)).toMatchObject({
      changes: [{ path: "b.txt" }],
      leftOut: [{ path: ".git/hooks/pre-commit" }],
    });
    const { exit, out, err } = await run(["apply", id, "--yes"]);
    expect([exit, out, err]).toEqual([0, "added\tb.txt\n", expect.stringContaining(".git stays in the session: 1 change left out\n")]);
    expect((await readdir(repo())).sort()).toEqual(["a.txt", "b.txt"]);
    expect((await run(["apply", id, "--yes", "--paths", ".git/hooks"])).err).toContain("is in a .git, which stays in the session");
  });

  test("says so when that directory is gone", async () => {
    const { id } = await worked();
    await rm(repo(), { recursive: true });
    expect(await run(["apply", id, "--yes"])).toMatchObject({ exit: 3, err: expect.stringContaining("is not there") as string });
  });
});

test("show tells what changed since the directory was taken", async () => {
  const { id } = await worked();
  const { out } = await run(["show", id]);
  expect(out).toContain(`files\t2 changed since ${repo()} was taken\nfile\tchanged a.txt\nfile\tadded b/new.txt\n`);
});

test("diff of a place before the first use begins with what was found there", async () => {
  const { id } = await worked();
  const { out } = await run(["log", id, "--jsonl"]);
  const placed = out.split("\n").find((line) => line.includes("placement.changed")) ?? "";
  const { step } = JSON.parse(placed) as { readonly step: number };
  expect((await run(["diff", `${id}@${step}..${id}`, "--files"])).out).toBe("changed\ta.txt\nadded\tb/new.txt\n");
});

test("Ctrl+C ends the command of exec, and what was done is on record", async () => {
  const { id } = await worked("host");
  const interruption = new AbortController();
  const onWrite = (text: string): void => {
    if (text.includes("begun")) interruption.abort();
  };
  const argv = ["sandbox", "exec", id, "--", "touch done; echo begun; sleep 60"];
  const { exit, out, err } = await run(argv, { signal: interruption.signal, onWrite });
  expect([exit, out]).toEqual([130, "begun\n"]);
  expect(err).toContain("stopped: cancelled\nadded done\n");
});

/** What a process leaves behind that is not there any more, and what one leaves that is. */
async function sandbox(id: string, owner: object): Promise<void> {
  const directory = join(home(), "sandboxes", id);
  await mkdir(directory, { recursive: true });
  const common = { host: machine(), boot: bootId(), kind: "copy", opened: "2026-11-14T10:00:00.000Z", session: "s" };
  await writeFile(join(directory, "owner.json"), JSON.stringify({ ...common, ...owner }));
  await writeFile(join(directory, "file"), "content");
}
const dead = { pid: 2 ** 30, started: "1" };
async function alive(): Promise<object> {
  const text = await readFile(`/proc/${process.pid}/stat`, "latin1");
  return { pid: process.pid, started: text.slice(text.lastIndexOf(")") + 2).split(" ")[19] };
}

describe("sandboxes on disk", () => {
  beforeEach(async () => {
    await worked();
    await sandbox("gone", dead);
    await sandbox("open", await alive());
    await sandbox("far", { ...dead, host: "elsewhere" });
  });

  test("are listed with whose they are", async () => {
    const rows = JSON.parse((await run(["sandbox", "ls", "--json"])).out) as readonly { readonly id: string; readonly status: string }[];
    expect(rows.map(({ id, status }) => `${id} ${status}`).sort()).toEqual(["far elsewhere", "gone orphaned", "open open"]);
    const { both } = await run(["sandbox"], { terminal: true, now: () => new Date("2026-11-14T12:00:00.000Z") });
    expect(both).toMatch(/^gone +copy +s +1073741824 +orphaned +2h ago +\S+ kB$/m);
    expect(both).toContain("next: openrath sandbox rm --orphans");
  });

  test("are removed when their process is gone, and only then", async () => {
    expect(await run(["sandbox", "rm", "gone", "open"])).toMatchObject({ exit: 6 });
    expect(await run(["sandbox", "rm", "far"])).toMatchObject({ exit: 6 });
    expect((await namesIn("sandboxes")).length).toBe(3);
    expect(await run(["sandbox", "rm", "--orphans"])).toMatchObject({ exit: 0, out: "gone\n" });
    expect([...(await namesIn("sandboxes"))].sort()).toEqual(["far", "open"]);
  });

  test("of a machine that is gone are removed when somebody says so, by name", async () => {
    expect((await run(["sandbox", "rm", "far"])).both).toContain("openrath sandbox rm far --elsewhere");
    expect(await run(["sandbox", "rm", "open", "--elsewhere", "--yes"])).toMatchObject({ exit: 6 });
    expect(await run(["sandbox", "rm", "--orphans", "--elsewhere", "--yes"])).toMatchObject({ exit: 0, out: "gone\n" });
    expect(await run(["sandbox", "rm", "far", "--elsewhere"])).toMatchObject({ exit: 2 });
    expect(await run(["sandbox", "rm", "far", "--elsewhere", "--yes"])).toMatchObject({ exit: 0, out: "far\n" });
    expect(await namesIn("sandboxes")).toEqual(["open"]);
  });

  test("doctor tells of them, and gc removes them", async () => {
    expect((await run(["doctor"])).out).toContain("sandboxes\twarn\t1 sandbox whose process is gone");
    expect((await run(["gc", "--dry-run"])).out).toMatch(/^sandbox\tgone\t\d+\n$/);
    expect((await namesIn("sandboxes")).length).toBe(3);
    expect((await run(["gc"])).exit).toBe(0);
    expect([...(await namesIn("sandboxes"))].sort()).toEqual(["far", "open"]);
    expect((await run(["gc", "--dry-run"])).out).toBe("");
  });
});

describe("gc", () => {
  const base = () => join("bases", bootId());
  const old = new Date("2026-01-01");

  test("removes bases and memories that were not used for a while", async () => {
    const { id } = await worked();
    await mkdir(join(home(), base(), "a".repeat(64)), { recursive: true });
    await mkdir(join(home(), "bases", "another-boot", "b".repeat(64)), { recursive: true });
    const [memory = ""] = await namesIn("captures");
    await utimes(join(home(), "captures", memory), old, old);
    const { out } = await run(["gc"]);
    expect(
      out
        .replace(/\t\d+$/gm, "")
        .split("\n")
        .sort(),
    ).toEqual(["", "base\tanother-boot", `capture\t${memory}`]);
    expect([await namesIn("captures"), await namesIn("bases"), await namesIn(base())]).toEqual([[], [bootId()], ["a".repeat(64)]]);
    await run(["gc"], { now: () => new Date(Date.now() + 2 * 86_400_000) });
    expect(await namesIn(base())).toEqual([]);
    expect(await run(["apply", id, "--yes"])).toMatchObject({ exit: 0 });
  });

  // Mutant: sessions, whose room nobody knows, are summed up as 0 B.
  test("says how many sessions it removed", async () => {
    const aged = onClock(nodePlatform, { skewMs: -3 * 86_400_000 });
    {
      await using rath = composeRath({ store: sqliteStore(store(), { clock: () => Date.parse(aged.time()) }) }, { platform: aged });
      for (const text of ["one", "two"]) await rath.save(rath.session(text));
    }
    const ended = /^2 sessions would go; nothing was removed\n$/m;
    expect((await run(["gc", "--sessions-older-than", "1d", "--dry-run"])).err).toMatch(ended);
    const { exit, err } = await run(["gc", "--sessions-older-than", "1d", "--yes"]);
    expect([exit, err]).toEqual([0, expect.stringMatching(/^removed 2 sessions\n/m)]);
  });

  test("forgets what was seen of directories once anything was swept, and they are read again", async () => {
    const { id } = await worked();
    const bytes = Buffer.from("nobody names this");
    {
      await using opened = sqliteStore(store(), { clock: () => Date.now() - 2 * 3_600_000 });
      await opened.append({ branches: [], blobs: [{ hash: hash("sha256", bytes), bytes }] });
    }
    // Used a moment ago: it goes for what it may name, not for its age.
    const [memory = ""] = await namesIn("captures");
    await utimes(join(home(), "captures", memory), new Date(), new Date());
    expect(await run(["gc", "--older-than", "1h", "--dry-run"])).toMatchObject({ exit: 0 });
    expect(await namesIn("captures")).toEqual([memory]);
    expect((await run(["gc", "--older-than", "1h"])).out).toMatch(/^blobs\t1\t\d+\n$/m);
    expect(await namesIn("captures")).toEqual([]);
    const again = await worked();
    for (const session of [id, again.id])
      expect((await run(["apply", session, "--dry-run"])).out).toBe("changed\ta.txt\nadded\tb/new.txt\n");
  });
});
