/** What reaches into the kernel: namespaces, other processes' memory, terminals, devices, privileges. */
import assert from "node:assert/strict";
import { refusedCalls } from "../../src/sandbox/local-seccomp.ts";
import type { Case } from "./stage.ts";

const column = process.arch === "arm64" ? 1 : 0;

/** Makes system calls by number and prints the number of the error that each gave, 0 for none. */
export function systemCalls(calls: readonly (readonly number[])[]): readonly string[] {
  const lines = calls.map((call) => `$! = 0; $result = syscall(${call.join(", ")}); print $result == -1 ? $! + 0 : 0, "\\n";`);
  return ["perl", "-e", lines.join("\n")];
}

export const kernelCases: readonly Case[] = [
  {
    name: "19 nothing is mounted and no namespace is made",
    async run({ open }) {
      const sandbox = await open();
      assert.match((await sandbox.exec("unshare -Ur true")).stderr, /unshare failed: Operation not permitted/);
      assert.match((await sandbox.exec("mount -t tmpfs x /tmp")).stderr, /permission denied|must be superuser|not permitted/i);
      const newUser = 0x10000000;
      const clone = process.arch === "arm64" ? 220 : 56;
      assert.equal(
        (
          await sandbox.exec(
            systemCalls([
              [clone, newUser | 17, 0],
              [435, 0, 0],
            ]),
          )
        ).stdout,
        "1\n38\n",
      );
    },
  },
  {
    name: "20 each refused call is refused with EPERM",
    async run({ open }) {
      const sandbox = await open();
      const numbers = Object.values(refusedCalls).flatMap((pair) => (pair[column] === null ? [] : [pair[column] as number]));
      const { stdout } = await sandbox.exec(systemCalls(numbers.map((number) => [number, 0, 0, 0, 0, 0])));
      assert.deepEqual(
        stdout.trim().split("\n"),
        numbers.map(() => "1"),
      );
      const socket = process.arch === "arm64" ? 198 : 41;
      const personality = process.arch === "arm64" ? 92 : 135;
      const more = await sandbox.exec(
        systemCalls([
          [socket, 17, 3, 0],
          [socket, 40, 1, 0],
          [socket, 16, 3, 9],
          [personality, 0x40000],
          [socket, 2, 1, 0],
        ]),
      );
      assert.equal(more.stdout, "1\n1\n1\n1\n0\n");
    },
  },
  {
    name: "21 there is no terminal to type into",
    async run({ open }) {
      const sandbox = await open();
      assert.match((await sandbox.exec("echo x > /dev/tty")).stderr, /No such device or address/);
      const script = 'for my $request (0x5412, 0x541c) { my $c = "x"; $! = 0; ioctl(STDIN, $request, $c); print $! + 0, "\\n" }';
      assert.equal((await sandbox.exec(["perl", "-e", script])).stdout, "1\n1\n");
    },
  },
  {
    name: "23 no device can be made or opened",
    async run({ open }) {
      const sandbox = await open();
      assert.match((await sandbox.exec("mknod disk b 8 0")).stderr, /Operation not permitted/);
      assert.match((await sandbox.exec("mknod gone c 0 0")).stderr, /Operation not permitted/);
      const expected = "core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero";
      assert.equal((await sandbox.exec("echo $(ls /dev)")).stdout.trim(), expected);
      assert.equal((await sandbox.exec("ls /dev/pts")).stdout.trim(), "ptmx");
    },
  },
  {
    name: "24 nobody becomes anybody else",
    async run({ open, root }) {
      const sandbox = await open();
      const { stdout } = await sandbox.exec("id -u; id -g; grep -E '^(NoNewPrivs|Seccomp|Cap[A-Z]..):' /proc/self/status | tr -d '\\t'");
      const none = "0000000000000000";
      const expected = [
        "65534",
        "65534",
        ...["Inh", "Prm", "Eff", "Bnd", "Amb"].map((set) => `Cap${set}:${none}`),
        "NoNewPrivs:1",
        "Seccomp:2",
      ];
      assert.deepEqual(stdout.trim().split("\n"), expected);
      const { stdout: errors } = await sandbox.exec([
        "perl",
        "-MPOSIX",
        "-e",
        '$! = 0; POSIX::setuid(0); print $! + 0, " "; $! = 0; POSIX::setgid(0); print $! + 0',
      ]);
      // EINVAL: in there no user 0 exists.
      assert.equal(errors, "22 22");
      // On the host such a file would be its owner's: root's, when root runs this.
      for (const mode of ["u+s", "g+s", "6755"]) {
        const { stderr, stdout: own } = await sandbox.exec(`cp /usr/bin/id own; chmod ${mode} own; ./own -u`);
        assert.match(stderr, /changing permissions of 'own': Operation not permitted/);
        assert.equal(own, "65534\n");
      }
      if (root) assert.equal((await sandbox.exec("cat /usr/bin/id > /dev/null; ls -ld /etc/ssl/private")).stdout, "");
    },
  },
];
