/**
 * Each protection taken away alone: what it keeps out then gets through. So the cases can fail, and no protection is there for show.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { boundsOf } from "../../src/sandbox/bounds.ts";
import { type Group, makeGroup } from "../../src/sandbox/local-cgroup.ts";
import { type Etc, makeEtc } from "../../src/sandbox/local-etc.ts";
import { killNamespace } from "../../src/sandbox/local-kill.ts";
import { type Found, probe } from "../../src/sandbox/local-probe.ts";
import { type Placing, placed } from "../../src/sandbox/local-profile.ts";
import { asText, runCommand } from "../../src/sandbox/run-command.ts";
import { type SpawnRequest, spawner } from "../../src/workspace/spawner.ts";
import { systemCalls } from "./cases-kernel.ts";
import { processesWith } from "./cases-processes.ts";

let found: Found | undefined;
try {
  found = await probe(spawner());
} catch (error) {
  console.warn(`The mutants are left out: ${(error as Error).message}`);
}

type Placed = Pick<SpawnRequest, "argv" | "env" | "extra">;
type Mutation = (request: Placed) => Placed;

/** Takes an option out of the argument list, with as many values as it has. */
const without =
  (option: string, values = 0): Mutation =>
  (request) => {
    const at = request.argv.indexOf(option);
    expect(at, option).toBeGreaterThan(0);
    return { ...request, argv: [...request.argv.slice(0, at), ...request.argv.slice(at + 1 + values)] };
  };
const all =
  (...mutations: readonly Mutation[]): Mutation =>
  (request) =>
    mutations.reduce((so, mutation) => mutation(so), request);
const withoutFilter = without("--seccomp", 1);
/** Without the option the bind of /proc before it stays writable; the option occurs for other places too. */
const withoutReadOnly =
  (path: string): Mutation =>
  (request) => {
    const at = request.argv.findIndex((each, index) => each === "--remount-ro" && request.argv[index + 1] === path);
    return { ...request, argv: [...request.argv.slice(0, at), ...request.argv.slice(at + 2)] };
  };

describe.skipIf(found === undefined)("without one protection", () => {
  const bounds = boundsOf({ processes: 32, memory: "256mb", time: "5s" });
  const { machine, hierarchy } = found as Found;
  let directory: string;
  let etc: Etc;
  let group: Group | undefined;
  let placing: Placing;

  beforeAll(async () => {
    etc = await makeEtc(machine.etc, { network: false });
    group = hierarchy && (await makeGroup(hierarchy, bounds));
  });
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "openrath-mutant-"));
    mkdirSync(join(directory, "workspace"));
    const workspace = { from: join(directory, "workspace"), writable: true };
    const counted = { join: group?.join ?? [], counted: group !== undefined };
    placing = { machine, etc: etc.directory, workspace, layers: [], env: {}, network: "own", bounds, enter: [], ...counted };
    return () => rmSync(directory, { recursive: true, force: true });
  });
  afterAll(async () => {
    await group?.remove();
    await etc[Symbol.asyncDispose]();
  });

  const run = async (command: string | readonly string[], mutation: Mutation = (request) => request) => {
    const argv = typeof command === "string" ? ["/bin/bash", "-c", command] : command;
    const request = mutation(placed(placing, argv, "/workspace"));
    return asText(await runCommand(spawner(), { ...request, timeMs: bounds.timeMs, output: 1 << 20, kill: killNamespace }));
  };
  /** What a command writes with the protection, and without it. */
  const both = async (command: string | readonly string[], mutation: Mutation) =>
    [(await run(command)).stdout.trim(), (await run(command, mutation)).stdout.trim()] as const;

  test("of the filter, refused calls succeed", async () => {
    const ptrace = process.arch === "arm64" ? 117 : 101;
    expect(await both(systemCalls([[ptrace, 0, 0, 0, 0]]), withoutFilter)).toEqual(["1", "0"]);
    const socket = process.arch === "arm64" ? 198 : 41;
    expect(await both(systemCalls([[socket, 16, 3, 4]]), withoutFilter)).toEqual(["1", "0"]);
    expect(await both("touch own; chmod u+s own 2> /dev/null; stat -c %A own; rm own", withoutFilter)).toEqual([
      "-rw-r--r--",
      "-rwSr--r--",
    ]);
    expect(await both("mknod whiteout c 0 0 2> /dev/null; ls", withoutFilter)).toEqual(["", "whiteout"]);
  });

  test("of both guards of user namespaces, one is made", async () => {
    const command = "unshare -Ur id -u 2> /dev/null";
    expect(await both(command, all(withoutFilter, withoutReadOnly("/proc")))).toEqual(["", ""]);
    if (machine.disableUserNamespaces)
      expect(await both(command, all(withoutFilter, withoutReadOnly("/proc"), without("--disable-userns")))).toEqual(["", "0"]);
  });

  test("of its own network, the ports of the host are reached", async () => {
    const server = createServer((socket) => socket.end("from the host"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { readonly port: number };
    const command = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
    expect(await both(command, without("--unshare-net"))).toEqual(["", "from the host"]);
    server.close();
  });

  test("of an environment of its own, variables of the host are seen", async () => {
    const inherit: Mutation = (request) => ({ ...request, env: { ...request.env, MARK_OF_HOST: "mark" } });
    expect(await both("echo $MARK_OF_HOST", inherit)).toEqual(["", "mark"]);
  });

  test("of its own processes, those of the host are seen and its own survive it", async () => {
    const shared = all(without("--unshare-pid"), without("--as-pid-1"));
    expect(await both(`[ -d /proc/${process.pid} ] && echo seen`, shared)).toEqual(["", "seen"]);
    const mark = `survivor-${Math.random().toString(36).slice(2)}`;
    await run(`(setsid bash -c 'exec -a ${mark} sleep 30' > /dev/null 2>&1 &); sleep 0.1`);
    expect(processesWith(mark)).toEqual([]);
    await run(`(setsid bash -c 'exec -a ${mark} sleep 30' > /dev/null 2>&1 &); sleep 0.1`, shared);
    const survivors = processesWith(mark);
    for (const pid of survivors) process.kill(Number(pid), "SIGKILL");
    expect(survivors).toHaveLength(1);
  });

  describe("of the shell as process 1", () => {
    /** Whether something lived on when the call had returned, in so many rounds. */
    const late = async (rounds: number, mutation?: Mutation) => {
      const mark = `late-${Math.random().toString(36).slice(2)}`;
      const command = `for i in $(seq 25); do setsid bash -c 'exec -a ${mark} sleep 30' > /dev/null 2>&1 & done; sleep 0.1`;
      // Where the processors have nothing else to do, the rest is often dead in time by chance.
      const busy = [1, 2, 3].map(() => spawn("sh", ["-c", "while :; do :; done"]));
      onTestFinished(() => {
        for (const child of busy) child.kill("SIGKILL");
      });
      for (let round = 0; round < rounds; round++) {
        await run(command, mutation);
        if (processesWith(mark).length > 0) return true;
      }
      return false;
    };

    test("with it, all is dead when the call returns", { timeout: 90_000 }, async () => {
      expect(await late(5)).toBe(false);
    });

    // It is seen by chance: what was not seen is looked for again.
    test("the call can return before the rest is dead", { timeout: 90_000, retry: 3 }, async () => {
      expect(await late(60, without("--as-pid-1"))).toBe(true);
    });
  });

  test("of closing descriptors, a file of the host is read through one", async () => {
    writeFileSync(join(directory, "secret"), "of the host");
    const fd = openSync(join(directory, "secret"), "r");
    const request = placed(placing, ["/bin/bash", "-c", "cat <&47"], "/workspace");
    const filter = join(directory, "filter");
    writeFileSync(filter, machine.filter);
    const stdio = Array.from({ length: 48 }, (_, each) =>
      each === 47 ? fd : each === 3 ? openSync(filter, "r") : each === 1 ? "pipe" : "ignore",
    );
    const child = spawn(request.argv[0] as string, request.argv.slice(1), { env: { ...request.env }, stdio: stdio as never });
    let text = "";
    child.stdout?.on("data", (bytes) => {
      text += bytes;
    });
    await new Promise((resolve) => child.on("close", resolve));
    expect(text).toBe("of the host");
  });

  test("of a user of its own, the command is who started it", async () => {
    const [with65534, own] = await both("id -u", all(without("--uid", 1), without("--gid", 1)));
    expect([with65534, own]).toEqual(["65534", String(process.getuid?.())]);
  });

  test("of a read-only root, /dev and /proc, they are written", async () => {
    expect(await both("touch /x 2> /dev/null && echo written", withoutReadOnly("/"))).toEqual(["", "written"]);
    expect(await both("touch /dev/x 2> /dev/null && echo written", withoutReadOnly("/dev"))).toEqual(["", "written"]);
    const asked = await both("[ -w /proc/sys/kernel/core_pattern ] && echo writable", withoutReadOnly("/proc"));
    expect(asked).toEqual(["", process.getuid?.() === 0 ? "writable" : ""]);
  });

  test("of a count of processes, there is no end to them", async () => {
    const forks = 'for (1..100) { my $pid = fork; if (!defined $pid) { print "refused"; last } if (!$pid) { sleep 100; exit } }';
    const uncounted: Mutation = (request) => {
      if (group === undefined) return { ...request, argv: request.argv.map((each) => each.replace(/^--nproc=.*/, "--nproc=1000")) };
      return { ...request, argv: request.argv.slice(group.join.length) };
    };
    expect(await both(["perl", "-e", forks], uncounted)).toEqual(["refused", ""]);
  });

  test("of a size, /tmp takes what it is given", async () => {
    const sized = placed(placing, ["true"], "/workspace").argv;
    const at = sized.lastIndexOf("--size");
    const unsized: Mutation = (request) => ({ ...request, argv: [...request.argv.slice(0, at), ...request.argv.slice(at + 2)] });
    const command = "head -c 150M /dev/zero > /tmp/x 2> /dev/null && echo fits";
    expect(await both(command, unsized)).toEqual(["", "fits"]);
  });

  test("of minimal mounts, a file of the host is there", async () => {
    writeFileSync(join(directory, "secret"), "of the host");
    const more: Mutation = (request) => {
      const at = request.argv.lastIndexOf("--remount-ro");
      return { ...request, argv: [...request.argv.slice(0, at), "--ro-bind", directory, "/host", ...request.argv.slice(at)] };
    };
    expect(await both("cat /host/secret 2> /dev/null", more)).toEqual(["", "of the host"]);
  });

  test("nothing was left on the host by all of this", () => {
    expect(existsSync("/x")).toBe(false);
  });
});
