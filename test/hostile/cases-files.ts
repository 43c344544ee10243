/** Files of the host, of other workspaces and other branches. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RathError } from "../../src/session/errors.ts";
import { bytesOf, nameOf } from "../../src/workspace/name.ts";
import { holdNamespaces } from "../../src/workspace/namespace.ts";
import type { Case } from "./stage.ts";

const none = /No such file or directory/;

export const fileCases: readonly Case[] = [
  {
    name: "01 files of the host are not there",
    async run({ open, secret }) {
      const sandbox = await open();
      for (const path of [secret, "/etc/shadow", "/root", "/home", "/var", "/sys", "/run", "/etc/ssl/private"]) {
        const { exitCode, stderr } = await sandbox.exec(["ls", "-d", path]);
        assert.equal(exitCode, 2, path);
        assert.match(stderr, none, path);
      }
      assert.deepEqual((await sandbox.exec("cat /etc/passwd | cut -d: -f1")).stdout, "root\nsandbox\n");
    },
  },
  {
    name: "02 nothing is written outside the workspace and /tmp",
    async run({ open }) {
      const sandbox = await open();
      for (const path of ["/x", "/usr/x", "/etc/x", "/etc/passwd", "/dev/x", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"]) {
        const { exitCode, stderr } = await sandbox.exec(["sh", "-c", ': > "$1"', "sh", path]);
        assert.equal(exitCode, 2, path);
        // Where the machine has no such file, it cannot be made.
        assert.match(stderr, /Read-only file system|nonexistent/, path);
      }
      const { stdout } = await sandbox.exec("find / -xdev -writable -not -type l 2>/dev/null; find /proc/sys -type f -writable");
      assert.deepEqual(stdout.trim().split("\n").sort(), ["/tmp", "/workspace"]);
    },
  },
  {
    name: "03 a link to a file of the host leads nowhere",
    async run({ open, workspace, secret }) {
      symlinkSync(secret, join(workspace, "planted"));
      const sandbox = await open();
      const { exitCode, stderr } = await sandbox.exec(`ln -s ${secret} made; cat planted; cat made`);
      assert.equal(exitCode, 1);
      assert.match(stderr, /planted: No such file or directory\n.*made: No such file or directory/);
      for (const name of ["planted", "made"]) {
        await assert.rejects(sandbox.read(name), (error) => RathError.is(error, "sandbox.failed") && none.test(error.message));
        await assert.rejects(sandbox.write(name, "x"), (error) => RathError.is(error, "sandbox.failed"));
      }
      assert.equal(readFileSync(secret, "utf8"), "secret of the host\n");
    },
  },
  {
    name: "04 the workspace of another session is not there",
    async run({ open, directory }) {
      mkdirSync(join(directory, "other"));
      writeFileSync(join(directory, "other/file"), "of another");
      const sandbox = await open();
      for (const path of ["../other/file", join(directory, "other/file")]) assert.match((await sandbox.exec(["cat", path])).stderr, none);
      assert.equal((await sandbox.exec("ls /workspace/..")).stdout.includes("other"), false);
      for (const path of ["../other/file", "/etc/passwd", "a/../../x"])
        await assert.rejects(sandbox.read(path), (error) => RathError.is(error, "sandbox.outside"));
      await assert.rejects(sandbox.exec("true", { cwd: ".." }), (error) => RathError.is(error, "sandbox.outside"));
    },
  },
  {
    name: "25 names, links and depths that are meant to confuse",
    async run({ open, workspace }) {
      const sandbox = await open();
      const odd = [
        "-rf",
        "new\nline",
        "$(touch pwned)",
        "`touch pwned`",
        "'; touch pwned; '",
        "a b",
        "\\0101",
        "end\n",
        "\udcff\udcfe",
        "ü",
      ];
      for (const name of odd) {
        await sandbox.write(`odd/${name}`, bytesOf(name));
        assert.equal(nameOf(await sandbox.read(`odd/${name}`)), name, JSON.stringify(name));
      }
      const seen: string[] = [];
      for await (const { path } of sandbox.list("odd")) seen.push(path.slice(4));
      assert.deepEqual(seen.sort(), [...odd].sort());
      assert.equal(existsSync(join(workspace, "pwned")), false);
      await sandbox.exec("mkfifo fifo; ln -s . loop; ln -s self self; ln odd/ü hard; for i in $(seq 200); do mkdir d; cd d; done");
      const kinds: string[] = [];
      for await (const { path, kind } of sandbox.list()) kinds.push(`${path} ${kind}`);
      assert.deepEqual(kinds.sort(), ["d directory", "hard file", "loop link", "odd directory", "self link"]);
      await assert.rejects(sandbox.read("self"), /Too many levels of symbolic links/);
      for (const name of ["odd/-rf", "odd/end\n", "odd/\udcff\udcfe", "d", "loop", "self"]) await sandbox.remove(name);
      assert.equal((await sandbox.exec("ls -A odd | wc -l; ls -d d loop self")).stdout, `${odd.length - 3 + 1}\n`);
    },
  },
  {
    name: "27 hooks and monitors planted in a repository run nowhere but inside",
    async run({ open, workspace, directory }) {
      const marker = join(directory, "marker");
      const sandbox = await open();
      if ((await sandbox.exec("command -v git")).exitCode !== 0) return "git is not installed";
      const plant = `git init -q . && printf '#!/bin/sh\\nid -u > ran; echo > ${marker}\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit
        cp .git/hooks/pre-commit .git/monitor && git config core.fsmonitor .git/monitor && git config user.email a@b && git config user.name a
        git commit -q --allow-empty -m x`;
      await sandbox.exec(plant);
      assert.equal(readFileSync(join(workspace, "ran"), "utf8"), "65534\n");
      await sandbox.write("file", "x");
      for await (const _entry of sandbox.list()) await sandbox.read("file");
      assert.equal(existsSync(marker), false);
      return undefined;
    },
  },
  {
    name: "33 branches share neither /tmp nor shared memory nor a home",
    async run({ open, directory }) {
      const other = join(directory, "other");
      mkdirSync(other);
      const [a, b] = [await open(), await open({ directory: other })];
      const places = ["/tmp/mark", "/dev/shm/mark", "$HOME/.cache-mark"];
      assert.equal((await a.exec(places.map((place) => `echo x > ${place}`).join(" && "))).exitCode, 0);
      for (const sandbox of [b, a]) for (const place of places) assert.match((await sandbox.exec(`cat ${place}`)).stderr, none, place);
      assert.match((await b.exec(`touch x; ls ${join(directory, "workspace")}`)).stderr, none);
    },
  },
  {
    name: "34 in an overlay a file is removed by removing it, and in no other way",
    async run({ open, directory }) {
      for (const name of ["lower", "upper", "work", "merged"]) mkdirSync(join(directory, name));
      for (const name of ["kept", "removed"]) writeFileSync(join(directory, "lower", name), name);
      const overlay = { directory, lower: "lower", upper: "upper", work: "work", merged: "merged" };
      await using namespaces = await holdNamespaces({ network: false, overlay });
      const merged = join(directory, "merged");
      const sandbox = await open({ directory: namespaces.outside(merged), inside: { enter: namespaces.enter, directory: merged } });
      const { stdout, stderr } = await sandbox.exec("id -u; rm removed; echo new > made; mknod forged c 0 0; ls");
      assert.equal(stdout, "65534\nkept\nmade\n");
      assert.match(stderr, /mknod: forged: Operation not permitted/);
      assert.deepEqual(readdirSync(join(directory, "upper")).sort(), ["made", "removed"]);
      assert.deepEqual(readdirSync(join(directory, "lower")).sort(), ["kept", "removed"]);
      assert.match(
        (await sandbox.exec(`exec 3<>/dev/tcp/1.1.1.1/80; ls ${directory}`)).stderr,
        /unreachable[\s\S]*No such file or directory/,
      );
      await sandbox[Symbol.asyncDispose]();
    },
  },
  {
    name: "37 control characters and bytes that are no text arrive as they are, and whole",
    async run({ open }) {
      const sandbox = await open();
      const pieces: string[] = [];
      const script = String.raw`printf '\033]0;title\007\033[2J\r\xff\xc3'; sleep 0.05; printf '\xa4\xf0\x9f'; sleep 0.05; printf '\x98\x80\xe2\x82'`;
      const { stdout } = await sandbox.exec(script, { onOutput: (_from, text) => pieces.push(text) });
      assert.equal(stdout, "\u001b]0;title\u0007\u001b[2J\r\ufffdä😀\ufffd");
      assert.equal(pieces.join(""), stdout);
      assert.deepEqual(JSON.parse(JSON.stringify({ stdout })), { stdout });
    },
  },
];
