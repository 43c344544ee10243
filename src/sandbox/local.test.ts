import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { holdNamespaces } from "../workspace/namespace.ts";
import { type Spawner, spawner } from "../workspace/spawner.ts";
import { localSandbox } from "./local.ts";
import { nodeFolder, probe } from "./local-probe.ts";
import type { OpenSandbox, SandboxSpec } from "./sandbox.ts";

const backend = localSandbox();
const impossible = await backend.ready?.().then(
  () => undefined,
  (error: Error) => error.message,
);
if (impossible !== undefined) console.warn(`Left out: ${impossible}`);

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "openrath-local-"));
  mkdirSync(join(directory, "workspace"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = (spec: Partial<SandboxSpec> = {}): Promise<OpenSandbox> =>
  backend.open({ session: "s", directory: join(directory, "workspace"), network: "none", env: {}, ...spec });

describe.skipIf(impossible !== undefined)("a local sandbox", () => {
  test("says what it is", async () => {
    expect(backend).toMatchObject({ kind: "local", capabilities: { isolation: "namespace", network: true, directory: true } });
    await using sandbox = await open();
    expect(sandbox.id).toMatch(/^local-[0-9a-f]{12}$/);
  });

  test("runs text in a shell and a list as it is, even one named like a word of the shell", async () => {
    await using sandbox = await open();
    expect(await sandbox.exec("echo $((1+1)); exit 3")).toMatchObject({ exitCode: 3, stdout: "2\n" });
    expect(await sandbox.exec(["printf", "%s", "$(id); a"])).toMatchObject({ exitCode: 0, stdout: "$(id); a" });
    expect((await sandbox.exec(["exit", "0"])).exitCode).toBe(127);
    expect((await sandbox.exec(["no-such-program"])).exitCode).toBe(127);
    await expect(sandbox.exec([])).rejects.toMatchObject({ code: "value.unsupported" });
    await expect(sandbox.exec(["-x"])).rejects.toMatchObject({ code: "value.unsupported" });
  });

  test("gives input, works in a directory of the workspace, and hands output on", async () => {
    await using sandbox = await open();
    await sandbox.write("below/file", "x");
    const pieces: string[] = [];
    const onOutput = (from: string, text: string) => pieces.push(`${from}:${text}`);
    expect(await sandbox.exec("pwd; cat", { cwd: "below", stdin: "given", onOutput })).toMatchObject({ stdout: "/workspace/below\ngiven" });
    expect(pieces.join("")).toContain("given");
    expect((await sandbox.exec("pwd", { cwd: "/workspace/below" })).stdout).toBe("/workspace/below\n");
    expect(await sandbox.exec("echo out > /dev/stdout; echo err > /dev/stderr")).toMatchObject({ stdout: "out\n", stderr: "err\n" });
  });

  test("programs of the system run: node, python, perl", async () => {
    await using sandbox = await open();
    for (const [program, ...rest] of [
      ["python3", "-c", "print(1+1)"],
      ["node", "-p", "1+1"],
      ["perl", "-e", "print 1+1"],
    ] as const) {
      const there = (await sandbox.exec(`command -v ${program}`)).exitCode === 0;
      if (there) expect((await sandbox.exec([program, ...rest])).stdout.trim()).toBe("2");
      else console.info(`${program} is not under /usr`);
    }
  });

  test("a signal that ended a command is named", async () => {
    await using sandbox = await open();
    expect(await sandbox.exec("kill -SEGV $$")).toMatchObject({ exitCode: 139, signal: "SIGSEGV" });
    expect(await sandbox.exec("exit 255")).not.toHaveProperty("signal");
  });

  test("a cancelled command is dead at once", async () => {
    await using sandbox = await open();
    const controller = new AbortController();
    const running = sandbox.exec("echo up; sleep 30 & sleep 30", { signal: controller.signal, onOutput: () => controller.abort() });
    const aborted = new Promise<number>((resolve) => controller.signal.addEventListener("abort", () => resolve(performance.now())));
    const at = await aborted;
    expect(await running).toMatchObject({ stopped: "cancelled", exitCode: 137 });
    expect(performance.now() - at).toBeLessThan(1000);
  });

  test("values of variables are in no argument list, and say what they were", async () => {
    const odd = "a b\n'\"$(id)`id`\\";
    await using sandbox = await open({ env: { SECRET_VALUE: odd, PATH: "/usr/bin:/bin:/workspace" } });
    const wait = "until test -e go; do sleep 0.05; done";
    const during = sandbox.exec(`${wait}; printf %s "$SECRET_VALUE"; env | grep -c OPENRATH_; echo $PATH`);
    await sandbox.exec("true");
    const lines = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(commandLine);
    expect(lines.some((line) => line.includes("--unshare-pid") && line.includes("test -e go"))).toBe(true);
    expect(lines.filter((line) => line.includes("$(id)`id`"))).toEqual([]);
    await sandbox.exec("touch go");
    expect((await during).stdout).toBe(`${odd}0\n/usr/bin:/bin:/workspace\n`);
    await using other = await open({ env: { "a-b": "" } });
    await expect(other.exec("true")).rejects.toMatchObject({ code: "value.unsupported" });
  });

  test("a program of the workspace does not stand in for those that read files", async () => {
    await using sandbox = await open({ env: { PATH: "/workspace:/usr/bin:/bin" } });
    await sandbox.write("cat", "#!/bin/sh\necho forged\n");
    await sandbox.exec("chmod +x cat");
    expect((await sandbox.exec("cat")).stdout).toBe("forged\n");
    expect(Buffer.from(await sandbox.read("cat")).toString()).toBe("#!/bin/sh\necho forged\n");
  });

  test("the host's network is used when asked for, and its resolver with it", async () => {
    await using sandbox = await open({ network: "all" });
    expect((await sandbox.exec("readlink /proc/self/ns/net; ls /etc/resolv.conf")).stdout).toBe(`${netOfHost()}\n/etc/resolv.conf\n`);
  });

  test("closing it ends commands and leaves nothing behind", async () => {
    const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`openrath-etc-${process.pid}-`));
    const before = left();
    const sandbox = await open();
    let running: Promise<unknown> | undefined;
    // One that has not begun would be refused instead.
    await new Promise<void>((begun) => {
      running = sandbox.exec("echo begun; sleep 30", { onOutput: () => begun() });
    });
    await sandbox[Symbol.asyncDispose]();
    expect(await running).toMatchObject({ stopped: "cancelled" });
    expect(left().filter((name) => !before.includes(name))).toEqual([]);
    await expect(sandbox.exec("true")).rejects.toMatchObject({ code: "sandbox.failed" });
  });

  test("layers are seen read-only, and a link in their way is refused", async () => {
    mkdirSync(join(directory, "shared"));
    writeFileSync(join(directory, "shared/file"), "shared");
    mkdirSync(join(directory, "workspace/node_modules"));
    await using sandbox = await open({ layers: [{ path: "node_modules", from: join(directory, "shared") }] });
    const { stdout, stderr } = await sandbox.exec("cat node_modules/file; touch node_modules/x");
    expect([stdout, stderr]).toEqual(["shared", expect.stringContaining("Read-only file system")]);
    rmSync(join(directory, "workspace/node_modules"), { recursive: true });
    symlinkSync("/oldroot/tmp", join(directory, "workspace/node_modules"));
    await expect(sandbox.exec("true")).rejects.toMatchObject({ code: "sandbox.failed" });
    await using outside = await open({ layers: [{ path: "../x", from: "/usr" }] });
    await expect(outside.exec("true")).rejects.toMatchObject({ code: "sandbox.outside" });
  });

  test("what is no file is neither read nor written, however long it would be waited for", async () => {
    await using sandbox = await open();
    await sandbox.exec("mkfifo fifo; ln -s /dev/zero zero; mkdir folder");
    for (const name of ["fifo", "zero"]) {
      await expect(sandbox.read(name)).rejects.toThrow("is no file");
      await expect(sandbox.write(name, "x")).rejects.toThrow("is no file");
    }
    await expect(sandbox.read("folder")).rejects.toThrow("Is a directory");
  });

  test("images and missing directories are refused by name", async () => {
    await expect(open({ image: "debian" })).rejects.toMatchObject({ code: "sandbox.unavailable" });
    await expect(open({ directory: undefined })).rejects.toMatchObject({ code: "sandbox.failed" });
    await using gone = await open({ directory: join(directory, "gone") });
    await expect(gone.exec("true")).rejects.toMatchObject({ code: "sandbox.failed", message: expect.stringContaining("bwrap") });
  });

  test("a command that writes what bubblewrap would is a command that ran", async () => {
    await using sandbox = await open();
    const command = (program: string) => `echo ran > file; echo "${program}: no such thing" >&2; exit 1`;
    for (const program of ["bwrap", "nsenter", "prlimit"])
      expect(await sandbox.exec(command(program))).toMatchObject({ exitCode: 1, stdout: "", stderr: `${program}: no such thing\n` });
    expect(await sandbox.exec("bwrap --no-such-option")).toMatchObject({ exitCode: expect.any(Number), stdout: "" });
  });

  test("one that could not be placed is rejected, whatever was said about it", async () => {
    const dumb: Spawner = {
      spawn: (request) =>
        spawner().spawn(request.argv.includes("never-run") ? { ...request, argv: ["/bin/sh", "-c", "echo odd >&2; exit 3"] } : request),
    };
    const spec = { session: "s", directory: join(directory, "workspace"), network: "none", env: {} } as const;
    await using sandbox = await localSandbox({ spawner: dumb }).open(spec);
    await expect(sandbox.exec(["never-run"])).rejects.toMatchObject({
      code: "sandbox.failed",
      retryable: true,
      message: expect.stringMatching(/placed.*odd/),
    });
  });

  test("a background process sees the files, changes none, and is reached on its port", async () => {
    await using sandbox = await open();
    await sandbox.write("page", "of the workspace");
    const server = `use Socket; socket(S, AF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(8000, INADDR_ANY)); listen(S, 5); $| = 1; print "up\\n";
      while (accept(C, S)) { open(F, "page"); print C <F>; close C }`;
    const process = await sandbox.start?.(["perl", "-e", server]);
    await expect.poll(async () => (await process?.read())?.stdout).toBe("up\n");
    expect((await sandbox.exec("exec 3<>/dev/tcp/127.0.0.1/8000; cat <&3")).stdout).toBe("of the workspace");
    const writer = await sandbox.start?.("touch x");
    await expect.poll(() => writer?.exitCode).toBe(1);
    expect((await writer?.read())?.stderr).toContain("Read-only file system");
    expect(sandbox.process?.(process?.id as string)).toBe(process);
    expect(process?.exitCode).toBeUndefined();
    await process?.stop();
    expect(process?.exitCode).toBe(137);
    expect(existsSync(join(directory, "workspace/x"))).toBe(false);
  });

  test("when the process that holds its network was killed, another one is made", async () => {
    await using sandbox = await open();
    const network = async () => (await sandbox.exec("readlink /proc/self/ns/net")).stdout.trim();
    const first = await network();
    expect(await network()).toBe(first);
    for (const pid of holdersOf(first)) process.kill(pid, "SIGKILL");
    await expect.poll(() => holdersOf(first), { timeout: 10_000 }).toEqual([]);
    // Until its end is known here, a command may fail. The new one may have the number of the old one.
    await expect.poll(() => network().catch(() => undefined), { timeout: 10_000 }).toMatch(/^net:/);
    const both = await Promise.all([network(), network()]);
    expect(both).toEqual([expect.stringMatching(/^net:/), both[0]]);
    expect(both[0]).not.toBe(netOfHost());
  });

  test("of a background process the newest output is kept", async () => {
    await using sandbox = await open();
    const process = await sandbox.start?.("head -c 5000000 /dev/zero | tr '\\0' a; echo end");
    await expect.poll(() => process?.exitCode, { timeout: 5000 }).toBe(0);
    const { stdout } = (await process?.read()) ?? { stdout: "" };
    expect([stdout.length, stdout.endsWith("aend\n")]).toEqual([1 << 20, true]);
    expect((await process?.read())?.stdout).toBe("");
  });

  test("commands enter namespaces that were made for the workspace", async () => {
    await using namespaces = await holdNamespaces({ network: false });
    const inside = { enter: namespaces.enter, directory: join(directory, "workspace") };
    await using sandbox = await open({ inside, directory: undefined });
    expect(await sandbox.exec("id -u; touch made; readlink /proc/self/ns/net")).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^65534\nnet:/),
    });
    expect((await sandbox.exec("readlink /proc/self/ns/net")).stdout.trim()).not.toBe(netOfHost());
    expect(existsSync(join(directory, "workspace/made"))).toBe(true);
  });

  test("namespaces with the host's network are refused when none was asked for", async () => {
    await using namespaces = await holdNamespaces({ network: true });
    const inside = { enter: namespaces.enter, directory: join(directory, "workspace") };
    await expect(open({ inside })).rejects.toMatchObject({
      code: "sandbox.failed",
      message: expect.stringContaining("network of the host"),
    });
  });
});

describe("where it cannot isolate", () => {
  /** A machine on which a program answers something else. */
  const answering = (change: (argv: readonly string[]) => readonly string[]): Spawner => ({
    spawn: (request) => spawner().spawn({ ...request, argv: change(request.argv) }),
  });

  test.skipIf(impossible !== undefined)("it says what failed, how to mend it, and what else there is", async () => {
    const say = "echo 'bwrap: No permissions to create new namespace' >&2; exit 1";
    const denied = localSandbox({ spawner: answering((argv) => (argv.includes("--unshare-pid") ? ["/bin/sh", "-c", say] : argv)) });
    const error = await denied.ready?.().catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: "sandbox.unavailable" });
    expect((error as Error).message).toMatch(/No permissions to create.*sysctl.*apparmor.*"memory".*"host"/s);
    await expect(denied.open({ session: "s", directory, network: "none", env: {} })).rejects.toMatchObject({ code: "sandbox.unavailable" });
  });

  test.skipIf(impossible !== undefined).each([
    ["--unshare-net", "net namespace"],
    ["--unshare-ipc", "ipc namespace"],
    ["--seccomp", "Seccomp:2"],
    ["--uid", "ran as user"],
  ])("a profile in which %s does nothing is found out", async (option, reason) => {
    const taken = option === "--seccomp" || option === "--uid" ? 2 : 1;
    const weak = answering((argv) => {
      const at = argv.indexOf(option);
      return at === -1 ? argv : [...argv.slice(0, at), ...argv.slice(at + taken)];
    });
    await expect(probe(weak)).rejects.toMatchObject({ code: "sandbox.unavailable", message: expect.stringContaining(reason) });
  });

  test("Node is shown when it has a folder of its own that is in nobody's home", () => {
    const homes = ["/home/ann", "/home", "/root"];
    expect(nodeFolder("/opt/node/bin/node", homes)).toBe("/opt/node");
    for (const path of [
      "/usr/bin/node",
      "/usr/local/bin/node",
      "/home/ann/.nvm/v20/bin/node",
      "/root/n/bin/node",
      "/opt/bin/node",
      "/snap/x/node",
    ])
      expect([path, nodeFolder(path, homes)]).toEqual([path, undefined]);
  });
});

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

/** Processes of the host that are in a network. */
function holdersOf(network: string): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && networkOf(pid) === network);
}

function networkOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
}

function netOfHost(): string {
  return readlinkSync("/proc/self/ns/net");
}
