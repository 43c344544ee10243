/** Files of sessions in a real sandbox: from the store alone, apart on forks, cheap to fork, held to their share of the disk. */
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile as writeHostFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openrath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { CommandResult, Session } from "../../src/session/session.ts";
import { editFile, shell, writeFile } from "../../src/tool/builtin/tools.ts";
import { whyNoLocal } from "../support/leftovers.ts";

const noLocal = await whyNoLocal();
let folder: string;
let stores = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rath-workspace-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function fresh(): Promise<{ readonly store: string; readonly home: string; readonly rath: Rath }> {
  const place = join(folder, `home-${stores++}`);
  await mkdir(place);
  const store = join(place, "store.db");
  return { store, home: `${store}-workspaces`, rath: openrath({ store }) };
}
const out = (session: Session): string => (session.output as CommandResult).stdout;

async function contents(session: Session): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for await (const path of session.files.list()) found[path] = await session.files.text(path);
  return found;
}
const diskUse = (path: string): number => Number(execFileSync("du", ["-sk", path]).toString().split("\t")[0]) * 1024;

describe.skipIf(noLocal !== undefined)("a process with an empty disk", () => {
  test("has every file from the store alone, and commands work on exactly those", async () => {
    const repo = join(folder, "gone");
    await mkdir(join(repo, "given/empty"), { recursive: true });
    await writeHostFile(join(repo, "given/one.txt"), "one\n");
    await writeHostFile(join(repo, "run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 });
    const first = await fresh();
    const placed = await first.rath
      .session("go")
      .to("local", { workspace: repo })
      .call(shell, { command: "ln -s given/one.txt link; echo two > given/two.txt" });
    const edited = await placed.call(editFile, { path: "given/one.txt", find: "one", replace: "eins" });
    const fork = await edited.fork("other").call(shell, { command: "rm given/two.txt; head -c 100000 /dev/zero > zeros" });
    await first.rath.close();
    await rm(repo, { recursive: true });
    const store = join(folder, "copied.db");
    await copyFile(first.store, store);
    await rm(first.home, { recursive: true });
    await using rath = openrath({ store });
    const opened = await rath.open(fork.id);
    expect(opened.files.hash).toBe(fork.files.hash);
    expect(Object.keys(await contents(opened))).toEqual(["given/one.txt", "link", "run.sh", "zeros"]);
    const parent = await rath.open(edited.id);
    expect(await contents(parent)).toEqual({
      "given/one.txt": "eins\n",
      "given/two.txt": "two\n",
      link: "eins\n",
      "run.sh": "#!/bin/sh\necho ran\n",
    });
    const ran = await opened.call(shell, { command: "./run.sh; cat link; ls given; wc -c < zeros; find . | sort" });
    expect(out(ran)).toBe("ran\neins\nempty\none.txt\n100000\n.\n./given\n./given/empty\n./given/one.txt\n./link\n./run.sh\n./zeros\n");
    expect(ran.files.hash).toBe(fork.files.hash);
  });
});

describe.skipIf(noLocal !== undefined)("a detached session", () => {
  test("has the files of its source, is a new root, and what either writes stays with it", async () => {
    const { store, rath } = await fresh();
    const source = await rath.session("go").to("local", {}).call(writeFile, { path: "kept", content: "before\n" });
    const detached = await source.detach().call(shell, { command: "cat kept; echo mine > kept; echo new > added" });
    expect(out(detached)).toBe("before\n");
    const later = await source.call(editFile, { path: "kept", find: "before", replace: "after" });
    await rath.close();
    await using again = openrath({ store });
    const opened = await again.open(detached.id);
    expect(await contents(opened)).toEqual({ added: "new\n", kept: "mine\n" });
    expect(await contents(await again.open(later.id))).toEqual({ kept: "after\n" });
    expect(opened.lineage).toMatchObject({ kind: "detach", parents: [source.head] });
  });
});

describe.skipIf(noLocal !== undefined)("two branches", () => {
  test("that run side by side see nothing of each other, and their parent stays", { timeout: 60_000 }, async () => {
    const { rath } = await fresh();
    const base = await rath.session("go").to("local", {}).call(writeFile, { path: "shared", content: "base\n" });
    const rounds = 50;
    const branch = async (name: string): Promise<{ readonly end: Session; readonly seen: string }> => {
      let at: Session = base.fork(name);
      let seen = "";
      for (let round = 0; round < rounds; round++) {
        const kinds = [
          `echo ${name} > shared; echo ${name}${round} > only-${name}-${round}; cat shared; ls`,
          `ls /tmp /dev/shm; echo ${name} > /tmp/of-${name}; echo ${name} > /dev/shm/of-${name}; sleep 0.05; cat /tmp/of-* /dev/shm/of-*`,
          `sleep 33.${name === "left" ? 1 : 2} & sleep 0.05; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; kill -9 -1`,
          `rm -f only-${name}-${round - 3}; cat shared; hostname; ls -A`,
        ];
        at = await at.call(shell, { command: kinds[round % kinds.length] as string });
        seen += out(at);
      }
      return { end: at, seen };
    };
    const [left, right] = await Promise.all([branch("left"), branch("right")]);
    expect(left.seen).not.toMatch(/right|33\.2|base/);
    expect(right.seen).not.toMatch(/left|33\.1|base/);
    expect(left.seen).toContain("33.1");
    expect(await left.end.files.text("shared")).toBe("left\n");
    expect(await right.end.files.text("shared")).toBe("right\n");
    expect(Object.keys(await contents(left.end)).some((path) => path.includes("right"))).toBe(false);
    expect(await contents(base)).toEqual({ shared: "base\n" });
    await rath.close();
  });
});

describe.skipIf(noLocal !== undefined)("a thousand forks of ten thousand files", () => {
  test("cost no copies, are read, and one of them is written", { timeout: 120_000 }, async () => {
    const repo = join(folder, "large");
    for (let d = 0; d < 100; d++) {
      await mkdir(join(repo, `d${d}`), { recursive: true });
      await Promise.all(Array.from({ length: 100 }, (_, n) => writeHostFile(join(repo, `d${d}/f${n}`), `${d} ${n}\n`)));
    }
    const { rath, home } = await fresh();
    const base = await rath.session("go").to("local", { workspace: repo }).call(shell, { command: "find . -type f | wc -l" });
    expect(out(base)).toBe("10000\n");
    const before = { disk: diskUse(home), memory: process.memoryUsage().rss, time: performance.now() };
    const forks = Array.from({ length: 1000 }, (_, n) => base.fork(`f${n}`));
    for (const [n, fork] of forks.entries()) expect(await fork.files.text(`d${n % 100}/f${n % 97}`)).toBe(`${n % 100} ${n % 97}\n`);
    expect(performance.now() - before.time).toBeLessThan(5000);
    expect(process.memoryUsage().rss - before.memory).toBeLessThan(200e6);
    const written = await (forks[500] as Session).call(shell, { command: "echo new > d7/f7; rm d8/f8" });
    expect(diskUse(home) - before.disk).toBeLessThan(5e6);
    expect(written.calls.at(-1)?.changes.map(({ path, kind }) => `${kind} ${path}`)).toEqual(["changed d7/f7", "removed d8/f8"]);
    expect(await forks[501]?.files.text("d7/f7")).toBe("7 7\n");
    expect(await written.files.text("d7/f7")).toBe("new\n");
    await rath.close();
  });
});

describe.skipIf(noLocal !== undefined)("a command that writes more than its share of the disk", () => {
  test("is stopped, what it wrote can be removed, and the session goes on", { timeout: 60_000 }, async () => {
    const { rath } = await fresh();
    const base = await rath
      .session("go")
      .to("local", { limits: { disk: "8mb" } })
      .call(writeFile, { path: "kept", content: "kept\n" });
    const full = await base.call(shell, {
      command: "for n in $(seq 100); do head -c 1000000 /dev/zero > big-$n; sleep 0.05; done; sleep 60",
      timeout: 30,
    });
    expect(full.output).toMatchObject({ stopped: "disk", exitCode: 137 });
    expect(await full.files.text("kept")).toBe("kept\n");
    const again = await full.call(shell, { command: "rm -f big-*; sleep 1; echo room > made; ls" });
    expect(again.output).toMatchObject({ exitCode: 0, stdout: "kept\nmade\n" });
    const small = await again.call(shell, { command: "head -c 2000000 /dev/zero > some; sleep 1; ls" });
    expect(small.output).toMatchObject({ exitCode: 0, stdout: "kept\nmade\nsome\n" });
    await rath.close();
  });

  test("also with very many empty files", { timeout: 60_000 }, async () => {
    const { rath } = await fresh();
    const full = await rath
      .session("go")
      .to("local", { limits: { disk: "8mb" } })
      .call(shell, { command: "mkdir d; n=0; while true; do n=$((n+1)); : > d/$n; done", timeout: 30 });
    expect(full.output).toMatchObject({ stopped: "disk" });
    await rath.close();
  });
});
