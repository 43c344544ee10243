import { execFile, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { type SpawnRequest, spawner } from "./spawner.ts";

const run = promisify(execFile);
const env = { PATH: "/usr/bin:/bin" };

async function outcome(request: SpawnRequest) {
  const output = { stdout: "", stderr: "" };
  const spawned = await spawner().spawn({
    env,
    ...request,
    onOutput: (from, bytes) => {
      output[from] += Buffer.from(bytes).toString("utf8");
    },
  });
  return { ...(await spawned.exited), ...output };
}
const shell = (script: string, more: Partial<SpawnRequest> = {}) => outcome({ argv: ["sh", "-c", script], ...more });

/** Runs a program in a Node of its own, as TypeScript. It can use `spawner`. */
function program(text: string, options: { readonly before?: string } = {}) {
  const source = `import { spawner } from ${JSON.stringify(fileURLToPath(new URL("./spawner.ts", import.meta.url)))};\n${text}`;
  const node = [process.execPath, "--import", import.meta.resolve("tsx"), "--input-type=module", "-e", source];
  return { argv: ["bash", "-c", `${options.before ?? ""} exec "$@"`, "bash", ...node] };
}
const alive = (pid: number) => existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");
async function gone(pid: number) {
  for (let wait = 0; wait < 400 && alive(pid); wait++) await new Promise((resolve) => setTimeout(resolve, 10));
  return !alive(pid);
}

test("output, exit code and signal are those of the process", async () => {
  expect(await shell("echo one; echo two >&2; exit 7")).toEqual({ code: 7, signal: undefined, stdout: "one\n", stderr: "two\n" });
  expect(await shell("kill -TERM $$")).toMatchObject({ code: undefined, signal: "SIGTERM" });
});

test("environment and directory are exactly those asked for", async () => {
  expect((await outcome({ argv: ["/usr/bin/env"], env: { ONLY: "this" } })).stdout).toBe("ONLY=this\n");
  expect((await outcome({ argv: ["pwd"], cwd: "/usr" })).stdout).toBe("/usr\n");
  expect((await outcome({ argv: ["/usr/bin/env"], env: {} })).stdout).toBe("");
});

test("the descriptors of a process can be opened again by name", async () => {
  expect(await shell("echo x > /dev/stderr; echo y > /dev/stdout; cat /dev/stdin", { stdin: Buffer.from("z") })).toMatchObject({
    code: 0,
    stdout: "y\nz",
    stderr: "x\n",
  });
});

test("it reads the bytes it was given, or nothing", async () => {
  const large = Buffer.alloc(3_000_000, "a");
  expect((await shell("wc -c", { stdin: large })).stdout.trim()).toBe("3000000");
  expect((await shell("wc -c")).stdout.trim()).toBe("0");
  expect((await shell("cat <&3", { extra: Buffer.from("third") })).stdout).toBe("third");
});

test("a process with open input lives until it is killed", async () => {
  const spawned = await spawner().spawn({ argv: ["sh", "-c", "read x"], env, stdin: "open" });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(alive(spawned.pid)).toBe(true);
  spawned.kill();
  expect(await spawned.exited).toEqual({ code: undefined, signal: "SIGKILL" });
  spawned.kill();
});

test("what cannot be started is an error that says why", async () => {
  const missing = spawner().spawn({ argv: ["/nowhere/to/be/found"], env });
  await expect(missing).rejects.toSatisfy((error) => RathError.is(error, "sandbox.failed") && error.details["code"] === "ENOENT");
  await expect(spawner().spawn({ argv: ["true"], env, cwd: "/nowhere" })).rejects.toThrow("/nowhere");
  await expect(spawner().spawn({ argv: ["tr\0ue"], env })).rejects.toThrow("could not be started");
});

test("all output comes before the end, also when much is written at once", async () => {
  for (let round = 0; round < 20; round++) expect((await shell("head -c 300000 /dev/zero")).stdout.length).toBe(300_000);
});

test("what is left in the pipe when a process has ended is handed over too", async () => {
  let seen = 0;
  const spawned = await spawner().spawn({
    argv: ["head", "-c", "1090000", "/dev/zero"],
    env,
    onOutput: (_, bytes) => {
      // While the first piece is looked at, the rest is held back and the process ends.
      const until = performance.now() + (seen === 0 ? 500 : 0);
      while (performance.now() < until);
      seen += bytes.length;
    },
  });
  await spawned.exited;
  expect(seen).toBe(1_090_000);
});

test("a child that keeps the output open does not outlive the command", async () => {
  const start = performance.now();
  const { stdout } = await shell("sleep 100 & echo $!");
  expect(performance.now() - start).toBeLessThan(5_000);
  expect(await gone(Number(stdout))).toBe(true);
});

test("one that left the group keeps nobody waiting", async () => {
  const start = performance.now();
  const { stdout } = await shell("setsid sleep 30 & echo $!; sleep 0.5");
  expect(performance.now() - start).toBeLessThan(5_000);
  process.kill(Number(stdout), "SIGKILL");
});

test("a flood is held back until it is read, and stops when killed", async () => {
  let seen = 0;
  const spawned = await spawner().spawn({
    argv: ["yes"],
    env,
    onOutput: (_, bytes) => {
      seen += bytes.length;
      if (seen > 1_000_000) spawned.kill();
      // A reader that is slower than the flood.
      const until = performance.now() + 2;
      while (performance.now() < until);
    },
  });
  const helper = Number(readFileSync(`/proc/${spawned.pid}/stat`, "latin1").split(") ")[1]?.split(" ")[1]);
  await spawned.exited;
  expect(seen).toBeLessThan(6_000_000);
  const resident = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${helper}/status`, "latin1"))?.[1]);
  expect(resident).toBeLessThan(200_000);
});

test("a reader that throws ends the process and is told of its error", async () => {
  const spawned = await spawner().spawn({
    argv: ["yes"],
    env,
    onOutput: () => {
      throw new Error("enough");
    },
  });
  await expect(spawned.exited).rejects.toThrow("enough");
  expect(await gone(spawned.pid)).toBe(true);
});

test("descriptors that were inherited do not reach a command", async () => {
  const { argv } = program(
    `const p = await spawner().spawn({ argv: ["ls", "-l", "/proc/self/fd"], env: {}, extra: Buffer.from("x"),
       onOutput: (_, bytes) => process.stdout.write(bytes) });
     await p.exited;`,
    { before: "exec 5</etc/hostname 47</etc/passwd 198>/dev/null;" },
  );
  const { stdout } = await run(argv[0] as string, argv.slice(1));
  expect([...stdout.matchAll(/ (\d+) -> /g)].map((found) => Number(found[1]))).toEqual([0, 1, 2, 3, 4]);
  // The fourth is the listing itself.
  expect(stdout).toMatch(/ 4 -> \/proc\/\d+\/fd/);
  expect(stdout).not.toContain("passwd");
});

test("an idle spawner keeps no process alive, a running command does", async () => {
  const { argv } = program(
    `const p = await spawner().spawn({ argv: ["sleep", "0.3"], env: { PATH: "/usr/bin:/bin" } });
     p.exited.then(() => process.stdout.write("ended " + p.pid));`,
  );
  const { stdout } = await run(argv[0] as string, argv.slice(1));
  expect(stdout).toMatch(/^ended \d+$/);
});

test("everything ends when the process that asked for it is killed", async () => {
  const { argv } = program(
    `const p = await spawner().spawn({ argv: ["sh", "-c", "sleep 100 & sleep 101"], env: { PATH: "/usr/bin:/bin" } });
     console.log(p.pid);`,
  );
  const owner = spawn(argv[0] as string, argv.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  const pid = Number(await new Promise<Buffer>((resolve) => owner.stdout.once("data", resolve)));
  const helper = Number(readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ")[1]);
  const groupNow = () =>
    readdirSync("/proc")
      .map(Number)
      .filter((each) => each > 0 && statOf(each)?.[2] === String(pid));
  // The shell starts its children when it gets to it.
  await expect.poll(() => groupNow().length, { timeout: 10_000 }).toBe(3);
  const group = groupNow();
  owner.kill("SIGKILL");
  for (const each of [helper, ...group]) expect(await gone(each)).toBe(true);
});

test("when the helper dies its processes end, are reported, and the next spawn works", async () => {
  const spawned = await spawner().spawn({ argv: ["sleep", "100"], env });
  process.kill(Number(statOf(spawned.pid)?.[1]), "SIGKILL");
  await expect(spawned.exited).rejects.toSatisfy((error) => RathError.is(error, "sandbox.failed") && error.retryable);
  expect(await gone(spawned.pid)).toBe(true);
  expect((await shell("echo again")).stdout).toBe("again\n");
});

// Bubblewrap's child leaves the group before it asks to be ended with its parent.
test("a child that has left the group ends with the owner, and with the helper", async () => {
  const script = 'setsid sleep 100 & echo "$!"; wait';
  const { argv } = program(
    `await spawner().spawn({ argv: ["sh", "-c", ${JSON.stringify(script)}], env: { PATH: "/usr/bin:/bin" },
       onOutput: (_, bytes) => process.stdout.write(bytes) });`,
  );
  const owner = spawn(argv[0] as string, argv.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  const first = Number(await new Promise<Buffer>((resolve) => owner.stdout.once("data", resolve)));
  await expect.poll(() => statOf(first)?.[2], { timeout: 10_000 }).toBe(String(first));
  owner.kill("SIGKILL");
  expect(await gone(first)).toBe(true);

  const said: Uint8Array[] = [];
  const spawned = await spawner().spawn({ argv: ["sh", "-c", script], env, onOutput: (_, bytes) => said.push(bytes) });
  await expect.poll(() => said.length, { timeout: 10_000 }).toBe(1);
  const second = Number(Buffer.concat(said).toString());
  await expect.poll(() => statOf(second)?.[2], { timeout: 10_000 }).toBe(String(second));
  process.kill(Number(statOf(spawned.pid)?.[1]), "SIGKILL");
  await expect(spawned.exited).rejects.toThrow("ended");
  expect(await gone(second)).toBe(true);
});

test("many run at once", async () => {
  const all = await Promise.all(Array.from({ length: 60 }, (_, index) => shell(`echo ${index}; echo e${index} >&2`)));
  expect(all.map(({ stdout, stderr }) => stdout + stderr)).toEqual(all.map((_, index) => `${index}\ne${index}\n`));
});

test("nothing is left in the temporary directory", async () => {
  const left = () => readdirSync(tmpdir()).filter((name) => /^openrath-(pipes|input)-/.test(name));
  const now = left();
  // Those of other processes come and go: what nobody uses any more stays.
  await expect.poll(() => left().filter((name) => now.includes(name)), { timeout: 10_000 }).toEqual([]);
});

/** State, parent, group and so on: the fields after the name. */
function statOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ");
  } catch {
    return undefined;
  }
}
