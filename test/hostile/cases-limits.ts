/** More of everything than a sandbox may have. */
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DiskUse } from "../../src/workspace/disk-use.ts";
import type { Case } from "./stage.ts";

const forks = 'for (1..200) { my $pid = fork; if (!defined $pid) { print "$_ $!"; last } if (!$pid) { sleep 100; exit } }';

export const limitCases: readonly Case[] = [
  {
    name: "12 a fork bomb stops at the limit of processes",
    async run({ open }) {
      const sandbox = await open({ limits: { processes: 32 } });
      const { stdout } = await sandbox.exec(["perl", "-e", forks]);
      const [, count, reason] = /^(\d+) (.*)$/.exec(stdout) ?? [];
      assert.equal(reason, "Resource temporarily unavailable");
      assert.ok(Number(count) >= 30 && Number(count) <= 33, `refused at process ${count}`);
      const bomb = await sandbox.exec("b() { b | b & }; b; sleep 100", { timeoutMs: 700 });
      assert.equal(bomb.stopped, "time");
      assert.match(bomb.stderr, /Resource temporarily unavailable/);
      assert.equal((await sandbox.exec("echo well")).stdout, "well\n");
    },
  },
  {
    name: "13 memory beyond the limit is refused to one process",
    async run({ open }) {
      const sandbox = await open({ limits: { memory: "256mb" } });
      const { exitCode, stdout, stderr } = await sandbox.exec(["perl", "-e", 'my $x = "a" x (8 << 30); print "had it"']);
      assert.notEqual(exitCode, 0);
      assert.equal(stdout, "");
      assert.match(stderr, /Out of memory/);
    },
  },
  {
    name: "13b memory beyond the limit is refused to processes together",
    async run({ open, root }) {
      if (!root) return "without control groups memory is limited for each process alone";
      const sandbox = await open({ limits: { memory: "96mb" } });
      const script = 'for (1..5) { if (!fork) { my $x = "a" x (40 << 20); sleep 1; exit } } wait for 1..5; print "over"';
      const { stopped, stdout } = await sandbox.exec(["perl", "-e", script]);
      assert.deepEqual([stopped, stdout], ["memory", "over"]);
      return undefined;
    },
  },
  {
    name: "14 /tmp and /dev/shm have a size",
    async run({ open }) {
      const sandbox = await open({ limits: { memory: "256mb" } });
      for (const [path, bytes] of [
        ["/tmp/x", 128 << 20],
        ["/dev/shm/x", 64 << 20],
      ] as const) {
        const { stdout, stderr } = await sandbox.exec(`head -c 200M /dev/zero > ${path}; stat -c %s ${path}`);
        assert.match(stderr, /No space left on device/);
        assert.equal(Number(stdout), bytes);
      }
    },
  },
  {
    name: "15 a file ends at the limit of one file",
    async run({ open, workspace }) {
      const sandbox = await open({ limits: { file: "1mb" } });
      const { signal, exitCode } = await sandbox.exec(["dd", "if=/dev/zero", "of=big", "bs=64k", "count=64"]);
      assert.deepEqual([signal, exitCode], ["SIGXFSZ", 153]);
      assert.equal(statSync(join(workspace, "big")).size, 1 << 20);
      assert.match((await sandbox.exec("trap '' XFSZ; truncate -s 5G sparse")).stderr, /File too large/);
    },
  },
  {
    name: "16 a flood of output is cut",
    async run({ open }) {
      const sandbox = await open({ limits: { output: "1mb" } });
      const { stopped, stdout, exitCode } = await sandbox.exec("yes");
      assert.deepEqual([stopped, stdout.length, exitCode], ["output", 1 << 20, 137]);
      assert.equal((await sandbox.exec("yes >&2")).stderr.length, 1 << 20);
    },
  },
  {
    name: "26 a loop without end is ended by its time",
    async run({ open }) {
      const sandbox = await open({ limits: { time: "300ms" } });
      const { stopped, durationMs } = await sandbox.exec("while :; do :; done", { timeoutMs: 60_000 });
      assert.equal(stopped, "time");
      assert.ok(durationMs < 3000, `${durationMs} ms`);
    },
  },
  {
    name: "28 an archive that grows without end stops at the limit of one file",
    async run({ open, workspace }) {
      const sandbox = await open({ limits: { file: "1mb" } });
      await sandbox.exec("head -c 20M /dev/zero | gzip -1 > bomb.gz; gunzip -c bomb.gz > bomb");
      assert.equal(statSync(join(workspace, "bomb")).size, 1 << 20);
    },
  },
  {
    name: "29 many small files stop at the limit of the disk",
    async run({ open, workspace }) {
      const use = new DiskUse(workspace);
      const sandbox = await open({ limits: { disk: "2mb" }, written: (when) => use.bytes(when) });
      const { stopped, exitCode } = await sandbox.exec("i=0; while :; do : > $i; i=$((i+1)); done", { timeoutMs: 20_000 });
      assert.deepEqual([stopped, exitCode], ["disk", 137]);
      assert.ok(readdirSync(workspace).length > 500);
    },
  },
  {
    name: "29b what may not be read is not hidden from the limit of the disk",
    async run({ open, workspace }) {
      const use = new DiskUse(workspace);
      const sandbox = await open({ limits: { disk: "2mb" }, written: (when) => use.bytes(when) });
      for (const mode of ["300", "600", "000"]) {
        const { stopped } = await sandbox.exec(`mkdir d; head -c 4M /dev/zero > d/x; chmod ${mode} d; sleep 20`);
        assert.deepEqual([mode, stopped], [mode, "disk"]);
        await sandbox.exec("chmod 700 d; rm -r d");
      }
    },
  },
  {
    name: "29c directories in directories are not hidden from the limit of the disk, and take no descriptors of the host",
    async run({ open, workspace }) {
      const use = new DiskUse(workspace);
      const sandbox = await open({ limits: { disk: "20mb" }, written: (when) => use.bytes(when) });
      let most = 0;
      const timer = setInterval(() => {
        most = Math.max(most, readdirSync("/proc/self/fd").length);
      }, 5);
      const { stopped } = await sandbox.exec([
        "perl",
        "-e",
        "for (1..700) { mkdir 'd'; chdir 'd' } system('head -c 60M /dev/zero > x'); sleep 20",
      ]);
      clearInterval(timer);
      assert.equal(stopped, "disk");
      assert.ok(most < 500, `${most} descriptors`);
    },
  },
  {
    name: "29d what is written faster than anybody looks is found at the end",
    async run({ open, workspace }) {
      const use = new DiskUse(workspace);
      const sandbox = await open({ limits: { disk: "2mb" }, written: (when) => use.bytes(when) });
      assert.equal((await sandbox.exec("true")).stopped, undefined);
      // It ended by itself, and what only looks or removes afterwards is not blamed.
      const { stopped, exitCode } = await sandbox.exec("head -c 4M /dev/zero > x");
      assert.deepEqual([stopped, exitCode], ["disk", 0]);
      for (const command of ["ls", "rm x", "ls"]) assert.equal((await sandbox.exec(command)).stopped, undefined);
    },
  },
];
