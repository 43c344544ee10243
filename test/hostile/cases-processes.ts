/** Processes, variables, sockets and descriptors of the host and of other sandboxes. */
import assert from "node:assert/strict";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Case } from "./stage.ts";

async function listen(address: { readonly port: number; readonly host: string } | { readonly path: string }) {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(address, resolve));
  return { server, port: portOf(server), connections: () => connections, [Symbol.dispose]: () => void server.close() };
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Processes of this machine whose command line holds a text. */
export function processesWith(text: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(text) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
    } catch {
      return false;
    }
  });
}

export const processCases: readonly Case[] = [
  {
    name: "05 /proc/1/root and the environments of other processes are not there",
    async run({ open, secret }) {
      process.env["HOSTILE_MARK"] = "mark-of-the-host";
      const sandbox = await open({ env: { OWN: "own" } });
      assert.match((await sandbox.exec(`cat /proc/1/root${secret}`)).stderr, /No such file or directory/);
      const { stdout } = await sandbox.exec("cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ | tr '\\0' '\\n'");
      assert.match(stdout, /^OWN=own$/m);
      assert.equal(stdout.includes("HOSTILE_MARK") || stdout.includes("mark-of-the-host"), false);
    },
  },
  {
    name: "06 variables of the host are not there",
    async run({ open }) {
      process.env["HOSTILE_MARK"] = "mark-of-the-host";
      const sandbox = await open({ env: { OWN: "own value", LD_LIBRARY_PATH: "/x" } });
      const { stdout } = await sandbox.exec(["env"]);
      const usual = ["HOME=/tmp", "LANG=C.UTF-8", "LD_LIBRARY_PATH=/x", "OWN=own value", "TERM=dumb"];
      const lines = stdout
        .trim()
        .split("\n")
        .filter((line) => !/^(PATH|PWD|SHLVL|_|OLDPWD)=/.test(line));
      assert.deepEqual(lines.sort(), usual);
    },
  },
  {
    name: "07 processes of the host are not listed",
    async run({ open }) {
      const sandbox = await open();
      const { stdout } = await sandbox.exec(["sh", "-c", "echo /proc/[0-9]*"]);
      assert.deepEqual(stdout.trim().split(" "), ["/proc/1", "/proc/2"]);
    },
  },
  {
    name: "08 no process of the host can be signalled",
    async run({ open }) {
      const sandbox = await open();
      const { exitCode, stderr } = await sandbox.exec(`kill -9 ${process.pid}`);
      assert.equal(exitCode, 1);
      assert.match(stderr, /No such process/);
      // Everything that can be reached: the command itself is not, in its own broadcast.
      assert.equal((await sandbox.exec("sleep 100 & kill -9 -1; wait; echo alive")).stdout, "alive\n");
      assert.equal((await sandbox.exec("kill -9 1; echo alive")).stdout, "alive\n");
    },
  },
  {
    name: "09 ports of the host and addresses of the world are out of reach",
    async run({ open }) {
      using host = await listen({ port: 0, host: "127.0.0.1" });
      const sandbox = await open();
      const knock = (address: string) => sandbox.exec(`exec 3<>/dev/tcp/${address}`);
      assert.match((await knock(`127.0.0.1/${host.port}`)).stderr, /Connection refused/);
      for (const address of ["1.1.1.1/80", "169.254.169.254/80", "10.0.0.1/22"])
        assert.match((await knock(address)).stderr, /Network is unreachable/);
      assert.equal(host.connections(), 0);
      assert.equal((await sandbox.exec("ls /sys/class/net; cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '")).stdout, "lo\n");
    },
  },
  {
    name: "10 abstract sockets of the host are out of reach",
    async run({ open }) {
      const name = `openrath-${process.pid}-${Math.random().toString(36).slice(2)}`;
      using host = await listen({ path: `\0${name}` });
      if (!readFileSync("/proc/net/unix", "latin1").includes(`@${name}`)) return "this Node makes no abstract sockets";
      const sandbox = await open();
      const script = `use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack("S a*", AF_UNIX, "\\0${name}")) and print "connected"; print $!`;
      assert.equal((await sandbox.exec(["perl", "-e", script])).stdout, "Connection refused");
      assert.equal(host.connections(), 0);
      return undefined;
    },
  },
  {
    name: "11 no name is resolved and no datagram leaves",
    async run({ open }) {
      const sandbox = await open();
      assert.deepEqual(await sandbox.exec("getent hosts example.com").then(({ exitCode, stdout }) => [exitCode, stdout]), [2, ""]);
      assert.match((await sandbox.exec("echo x > /dev/udp/8.8.8.8/53")).stderr, /Network is unreachable/);
      assert.match((await sandbox.exec("cat /etc/resolv.conf")).stderr, /No such file or directory/);
    },
  },
  {
    name: "17 a daemon does not survive the end of its time",
    async run({ open, workspace }) {
      const sandbox = await open();
      const script = "setsid nohup sh -c 'while :; do echo x >> tick; sleep 0.01; done' > /dev/null 2>&1 & sleep 100";
      const tick = join(workspace, "tick");
      // On a busy machine it may not have begun yet when its time is over.
      for (const timeoutMs of [400, 3000, 12_000]) {
        const { stopped, exitCode, signal } = await sandbox.exec(script, { timeoutMs });
        assert.deepEqual([stopped, exitCode, signal], ["time", 137, "SIGKILL"]);
        if (existsSync(tick)) break;
      }
      await still(tick);
    },
  },
  {
    name: "18 a child that holds the output does not hold the call",
    async run({ open }) {
      const sandbox = await open();
      const { stdout, durationMs, exitCode } = await sandbox.exec("sleep 100 & setsid sleep 100 & echo done");
      assert.deepEqual([stdout, exitCode], ["done\n", 0]);
      assert.ok(durationMs < 5000, `${durationMs} ms`);
    },
  },
  {
    name: "22 descriptors of the host are closed",
    async run({ workspace, secret, script }) {
      const fd = openSync(secret, "r");
      try {
        const { stdout, stderr } = JSON.parse(await script("script-descriptors.js", [workspace], { 47: fd }).output) as Record<
          string,
          string
        >;
        assert.deepEqual(stdout?.trim().split("\n"), ["0", "1", "2"]);
        assert.match(stderr ?? "", /47: Bad file descriptor/);
      } finally {
        closeSync(fd);
      }
    },
  },
  {
    name: "36 a daemon is dead before the call returns",
    async run({ open, workspace }) {
      const sandbox = await open();
      for (let round = 0; round < 8; round++) {
        await sandbox.exec(
          "(setsid sh -c 'while :; do echo x >> tick; done' > /dev/null 2>&1 < /dev/null &); while [ ! -s tick ]; do :; done",
        );
        await still(join(workspace, "tick"), 25);
        await sandbox.remove("tick");
      }
    },
  },
  {
    name: "39 a crash of the runtime leaves no process and no mount",
    async run({ workspace, script, open }) {
      const mark = Math.random().toString(36).slice(2);
      const runtime = script("script-crash.js", [workspace, mark]);
      await runtime.said("running");
      assert.ok(processesWith(mark).length >= 3);
      runtime.kill();
      for (let wait = 0; wait < 500 && processesWith(mark).length > 0; wait++) await sleep(20);
      assert.deepEqual(processesWith(mark), []);
      assert.equal(readFileSync("/proc/self/mountinfo", "latin1").includes(workspace), false);
      // What a crash leaves of control groups goes with the next sandbox.
      await open();
      const groups = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].filter((place) => existsSync(place)).flatMap((place) => readdirSync(place));
      assert.deepEqual(
        groups.filter((name) => name.startsWith(`openrath-${runtime.pid}-`)),
        [],
      );
    },
  },
  {
    name: "40 two sandboxes of one user neither see nor signal each other",
    async run({ open }) {
      const [a, b] = [await open(), await open()];
      const mark = Math.random().toString(36).slice(2);
      const inside = await a.start?.(`exec -a ${mark} sleep 1000`);
      // Between two programs a process has no arguments: whoever was seen once is the one.
      let pids: readonly number[] = [];
      for (let wait = 0; wait < 500 && pids.length === 0; wait++) {
        await sleep(10);
        pids = processesWith(mark).map(Number);
      }
      assert.ok(pids.length > 0);
      for (const sandbox of [a, b]) {
        const { stderr } = await sandbox.exec(`kill -9 ${pids.join(" ")}; cat /proc/${pids[0]}/environ`);
        assert.match(stderr, /No such process/);
        assert.match(stderr, /No such file or directory/);
        assert.equal((await sandbox.exec("cat /proc/[0-9]*/cmdline")).stdout.includes(`a ${mark}`), false);
      }
      assert.equal(inside?.exitCode, undefined);
    },
  },
];

/** Nobody writes to a file any more. */
async function still(path: string, ms = 150): Promise<void> {
  const before = statSync(path).size;
  assert.ok(before > 0);
  await sleep(ms);
  assert.equal(statSync(path).size, before);
}
