/** What is left of checkouts when their process is killed, who may throw it away, and that all of it works without being root. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { checkouts } from "./checkouts.ts";
import { machine } from "./machine.ts";
import { ObjectMap } from "./objects.ts";
import { orphans, removeOrphan } from "./owner.ts";
import { Trees } from "./tree.ts";

const scratch = mkdtempSync(join(tmpdir(), "openrath-crash-"));
chmodSync(scratch, 0o755);
afterAll(() => rmSync(scratch, { recursive: true, force: true }), 60_000);
const source = (name: string) => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)));

/** A program that opens a checkout in a home, over the tree { file: "hello" }, and then does something. */
function program(home: string, then: string, prefix: readonly string[] = []): ChildProcess {
  const text = `
    import { checkouts } from ${source("./checkouts.ts")};
    import { ObjectMap } from ${source("./objects.ts")};
    import { spawner } from ${source("./spawner.ts")};
    import { emptyTree, Trees } from ${source("./tree.ts")};
    const trees = new Trees(new ObjectMap());
    const hash = await trees.objects.put(Buffer.from("hello"));
    const tree = await trees.with(emptyTree, "below/file", { type: "file", mode: 0o644, size: 5, hash });
    const places = checkouts(${JSON.stringify(home)});
    const open = (id) => places.open(trees, tree, { id, plain: false, network: false });
    const run = async (checkout, script) => {
      const spawned = await spawner().spawn({
        argv: [...(checkout.inside?.enter ?? []), "sh", "-c", 'cd "$0" && ' + script, checkout.inside?.directory ?? checkout.directory],
        env: { PATH: "/usr/bin:/bin" }, onOutput: (_, bytes) => process.stderr.write(bytes) });
      return spawned;
    };
    ${then}`;
  const node = [process.execPath, "--import", import.meta.resolve("tsx"), "--input-type=module", "-e", text];
  const argv = [...prefix, ...node];
  return spawn(argv[0] as string, argv.slice(1), { stdio: ["ignore", "pipe", "inherit"], cwd: "/" });
}

const line = (child: ChildProcess) =>
  new Promise<string>((resolve, reject) => {
    child.stdout?.once("data", (bytes: Buffer) => resolve(bytes.toString().trim()));
    child.once("exit", () => reject(new Error("it ended")));
  });
const dead = (pid: number) => {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return true;
  }
};
/** Processes that have a path in their command line or see it mounted. */
function traces(home: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      try {
        if (!(pid > 0) || dead(pid)) return false;
        return (
          readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(home) || readFileSync(`/proc/${pid}/mounts`, "latin1").includes(home)
        );
      } catch {
        return false;
      }
    });
}
async function until(what: string, holds: () => boolean): Promise<void> {
  for (const start = performance.now(); performance.now() - start < 20_000; ) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what} never came`);
}

test("a killed process leaves neither process nor mount, and an orphan that is found and thrown away", async () => {
  const home = join(scratch, "killed");
  const owner = program(
    home,
    `const checkout = await open("one");
     const spawned = await run(checkout, "echo written > file; sleep 1000");
     console.log(checkout.kind, spawned.pid);`,
  );
  const [kind, pid] = (await line(owner)).split(" ");
  await until("the command", () => !dead(Number(pid)));
  if (kind === "overlay") expect(traces(home).length).toBeGreaterThan(0);
  expect(await orphans(home)).toEqual([]);
  owner.kill("SIGKILL");
  await until("the end of all", () => owner.signalCode !== null && dead(Number(pid)) && traces(home).length === 0);

  const [orphan, ...more] = await orphans(home);
  expect(more).toEqual([]);
  expect(orphan).toMatchObject({ id: "one", owner: { pid: owner.pid, host: machine(), kind } });
  await removeOrphan(home, orphan!);
  expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
  expect(readdirSync(join(home, "trash"))).toEqual([]);
});

test("what a dead process left under an id is never taken for files of the tree", async () => {
  const home = join(scratch, "again");
  const first = program(home, `const c = await open("one"); await (await run(c, "echo forged > below/file")).exited; console.log("open");`);
  await line(first);
  first.kill("SIGKILL");
  await until("its end", () => first.signalCode !== null);
  const second = program(
    home,
    `const { readFileSync } = await import("node:fs");
     const c = await open("one");
     console.log(readFileSync(c.directory + "/below/file", "utf8"), (await c.scan(trees)) === tree);
     await places[Symbol.asyncDispose]();`,
  );
  expect(await line(second)).toBe("hello true");
  await until("its end", () => second.exitCode !== null);
  expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
});

test("one that is in use is no orphan, is not opened twice, and is not thrown away", async () => {
  const home = join(scratch, "used");
  const trees = new Trees(new ObjectMap());
  const tree = await trees.store(new Map([["fifo", { type: "fifo" }]]));
  const options = { id: "one", plain: false, network: false };
  await using places = checkouts(home);
  await using checkout = await places.open(trees, tree, options);
  await expect(places.open(trees, tree, options)).rejects.toSatisfy((error) => RathError.is(error, "sandbox.failed"));
  const directory = join(home, "sandboxes/one");
  await expect(removeOrphan(home, { id: "one", directory, owner: undefined })).rejects.toThrow("open already");
  expect(await checkout.scan(trees)).toBe(tree);
});

test("a number that belongs to another process by now, or to another machine, says nothing", async () => {
  const home = join(scratch, "numbers");
  const owner = { pid: process.pid, host: machine(), boot: "another", started: "1", kind: "copy", opened: "" };
  for (const [id, content] of Object.entries({ reused: owner, elsewhere: { ...owner, host: "another" } })) {
    mkdirSync(join(home, "sandboxes", id), { recursive: true });
    writeFileSync(join(home, "sandboxes", id, "owner.json"), JSON.stringify(content));
  }
  mkdirSync(join(home, "sandboxes/new"));
  expect((await orphans(home)).map(({ id }) => id)).toEqual(["reused"]);
});

test("a checkout whose holder was killed rejects, and never says that all files are gone", async () => {
  const places = checkouts(join(scratch, "holder"));
  const trees = new Trees(new ObjectMap());
  const tree = await trees.store(new Map([["fifo", { type: "fifo" }]]));
  if ((await places.kind({ plain: false })) !== "overlay") return console.log("skipped: no overlay here");
  await using checkout = await places.open(trees, tree, { id: "one", plain: false, network: false });
  const pid = Number(checkout.inside?.enter[2]);
  process.kill(pid, "SIGKILL");
  await until("its end", () => dead(pid));
  await expect(checkout.scan(trees)).rejects.toSatisfy((error) => RathError.is(error, "sandbox.failed"));
  await expect(checkout.sync(trees, tree)).rejects.toThrow();
});

test("what is put into a layer by force is not taken for evidence", async () => {
  const places = checkouts(join(scratch, "forged"));
  const trees = new Trees(new ObjectMap());
  if ((await places.kind({ plain: false })) !== "overlay") return console.log("skipped: no overlay here");
  const file = { type: "file", mode: 0o644, size: 1, hash: await trees.objects.put(Buffer.from("x")) } as const;
  let tree = await trees.with((await trees.store(new Map())) as string, "dir/a", file);
  for (const path of ["dir/b", "dir/sub/c", "top"]) tree = await trees.with(tree, path, file);
  await using checkout = await places.open(trees, tree, { id: "one", plain: false, network: false });
  const attempts = `
    mknod dir/a2 c 0 0 2>/dev/null; mknod top2 c 0 0 2>/dev/null; mkdir -p .wh.dir; touch dir/.wh.a dir/.wh..wh..opq
    python3 - <<'END'
import os
for path in ("dir", "dir/sub", "top", "."):
    for name, value in (("user.overlay.opaque", b"y"), ("trusted.overlay.opaque", b"y"), ("user.overlay.redirect", b"/dir/sub"), ("user.overlay.whiteout", b"y"), ("user.overlay.metacopy", b"")):
        try: os.setxattr(path, name, value)
        except OSError: pass
END
    true`;
  const ended = spawnSync(checkout.inside?.enter[0] as string, [
    ...(checkout.inside?.enter.slice(1) ?? []),
    "bash",
    "-c",
    `cd "$0" && ${attempts}`,
    checkout.inside?.directory as string,
  ]);
  expect(ended.status).toBe(0);
  const paths = async (scanned: string) => {
    const found: string[] = [];
    for await (const { path } of trees.walk(scanned)) found.push(path);
    return found;
  };
  // What was there is there still; what is new is what the view shows.
  const seen = spawnSync("find", [".", "-mindepth", "1", "-printf", "%P\\n"], { cwd: checkout.directory, encoding: "utf8" });
  const scanned = await paths(await checkout.scan(trees));
  expect(scanned.sort()).toEqual(seen.stdout.trim().split("\n").sort());
  for (const path of await paths(tree)) expect(scanned).toContain(path);
});

test("an ordinary user has them too", async (context) => {
  if (process.getuid?.() !== 0) return context.skip("this is an ordinary user already");
  const probe = spawnSync(
    "setpriv",
    [
      "--reuid",
      "65534",
      "--regid",
      "65534",
      "--clear-groups",
      process.execPath,
      "-e",
      `require("node:fs").readFileSync(${JSON.stringify(fileURLToPath(import.meta.url))})`,
    ],
    {
      cwd: "/",
    },
  );
  if (probe.status !== 0) return context.skip("no other user can be had here, or it may not run Node or read this repository");
  const home = join(scratch, "ordinary");
  mkdirSync(home);
  chownSync(home, 65534, 65534);
  const user = program(
    home,
    `const c = await open("one");
     await (await run(c, "echo more >> below/file; mkdir -p shut/in; echo x > shut/in/y; chmod 0 shut; chmod 200 below/file; chmod 500 below")).exited;
     const after = await c.scan(trees);
     const names = []; for await (const { path, entry } of trees.walk(after)) names.push(path + ":" + entry.mode);
     await c.sync(trees, tree);
     const back = (await c.scan(trees)) === tree;
     await places[Symbol.asyncDispose]();
     console.log(JSON.stringify({ uid: process.getuid(), kind: c.kind, names, back }));`,
    ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"],
  );
  const { uid, kind, names, back } = JSON.parse(await line(user));
  expect(uid).toBe(65534);
  if (kind !== "overlay") console.log("an ordinary user has no overlay here");
  expect(names).toEqual(["below:320", "below/file:128", "shut:0", "shut/in:493", "shut/in/y:420"]);
  expect(back).toBe(true);
  await until("its end", () => user.exitCode !== null);
  expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
  expect(readdirSync(join(home, "trash"))).toEqual([]);
});

test("the home may have any name", async () => {
  const home = join(scratch, "a,b:c d\\e");
  await using places = checkouts(home);
  const trees = new Trees(new ObjectMap());
  const tree = await trees.store(new Map([["fifo", { type: "fifo" }]]));
  await using checkout = await places.open(trees, tree, { id: "one", plain: false, network: true });
  expect(readdirSync(checkout.directory)).toEqual(["fifo"]);
  expect(existsSync(realpathSync(home))).toBe(true);
});
