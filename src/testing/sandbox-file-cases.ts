/** The sandbox contract: files. */
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listed, rejects, type SandboxCase, textOf } from "./sandbox-case.ts";
import { expect } from "./vitest.ts";

const names = ["a b.txt", "ü→😀", "-n", "…", "it's", 'say "x"', "$HOME", "a\\b", ".hidden", "*"];

export const fileCases: readonly SandboxCase[] = [
  {
    name: "bytes come back exactly",
    async run({ open }) {
      const sandbox = await open();
      const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      const contents = { all, empty: new Uint8Array(), big: randomBytes(1_000_000), "no-end": Buffer.from("a\r\nb") };
      for (const [name, bytes] of Object.entries(contents)) await sandbox.write(name, bytes);
      for (const [name, bytes] of Object.entries(contents)) expect(Buffer.from(await sandbox.read(name)).equals(bytes)).toBe(true);
      expect((await sandbox.exec("wc -c < all; wc -c < big; wc -c < empty")).stdout.split(/\s+/).filter(Boolean)).toEqual([
        "256",
        "1000000",
        "0",
      ]);
    },
  },
  {
    name: "text is written as UTF-8",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("text.txt", "ü→😀\n");
      expect(Buffer.from(await sandbox.read("text.txt")).equals(Buffer.from("ü→😀\n"))).toBe(true);
      expect((await sandbox.exec("cat text.txt")).stdout).toBe("ü→😀\n");
    },
  },
  {
    name: "what is written and read is not the caller's",
    async run({ open }) {
      const sandbox = await open();
      const bytes = Buffer.from("kept");
      await sandbox.write("file", bytes);
      bytes.fill(0);
      (await sandbox.read("file")).fill(0);
      expect(await textOf(sandbox, "file")).toBe("kept");
    },
  },
  {
    name: "commands and files are the same files",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("in.txt", "from outside");
      await sandbox.exec("mkdir -p made && cp in.txt made/out.txt && echo more >> made/out.txt");
      expect(await textOf(sandbox, "made/out.txt")).toBe("from outsidemore\n");
      await sandbox.write("made/out.txt", "new");
      expect((await sandbox.exec("cat made/out.txt")).stdout).toBe("new");
    },
  },
  {
    name: "directories above a file are made, and a file is replaced whole",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("a/b/c/file.txt", "a long first version");
      await sandbox.write("./a//b/../b/c/file.txt", "short");
      expect(await textOf(sandbox, "a/b/c/file.txt")).toBe("short");
      expect((await sandbox.exec("cat a/b/c/file.txt")).stdout).toBe("short");
      await rejects(sandbox.write("a/b", "a directory is here"));
      await rejects(sandbox.write("a/b/c/file.txt/under", "a file is above"));
      expect(await textOf(sandbox, "a/b/c/file.txt")).toBe("short");
    },
  },
  {
    name: "list gives one level with kinds, by path from the root of the workspace",
    async run({ open }) {
      const sandbox = await open();
      expect(await listed(sandbox)).toEqual({});
      await sandbox.write("top.txt", "");
      await sandbox.write("dir/inner.txt", "");
      await sandbox.write("dir/deep/below.txt", "");
      await sandbox.exec("ln -s inner.txt dir/link && mkdir empty");
      expect(await listed(sandbox)).toEqual({ "top.txt": "file", dir: "directory", empty: "directory" });
      expect(await listed(sandbox, "dir")).toEqual({ "dir/inner.txt": "file", "dir/deep": "directory", "dir/link": "link" });
      expect(await listed(sandbox, "./dir/deep/")).toEqual({ "dir/deep/below.txt": "file" });
      expect(await listed(sandbox, "empty")).toEqual({});
    },
  },
  {
    name: "names may have spaces, quotes and letters of any script",
    async run({ open }) {
      const sandbox = await open();
      for (const name of names) await sandbox.write(`in/${name}`, name);
      expect(Object.keys(await listed(sandbox, "in")).sort()).toEqual(names.map((name) => `in/${name}`).sort());
      for (const name of names) expect(await textOf(sandbox, `in/${name}`)).toBe(name);
      expect((await sandbox.exec(["cat", ...names.map((name) => `in/${name}`)])).stdout).toBe(names.join(""));
      await sandbox.remove("in/*");
      expect(Object.keys(await listed(sandbox, "in"))).toHaveLength(names.length - 1);
    },
  },
  {
    name: "remove takes a directory with all that is in it, and nothing happens when nothing is there",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("dir/a/b.txt", "");
      await sandbox.write("dir/c.txt", "");
      await sandbox.write("dirty.txt", "stays");
      await sandbox.exec("ln -s dirty.txt link");
      for (const path of ["dir", "dir", "link", "never/was/there"]) await sandbox.remove(path);
      expect(await listed(sandbox)).toEqual({ "dirty.txt": "file" });
      expect(await textOf(sandbox, "dirty.txt")).toBe("stays");
      expect((await sandbox.exec("ls")).stdout).toBe("dirty.txt\n");
    },
  },
  {
    name: "what is not there, or is no file, is an error",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("dir/file.txt", "");
      await rejects(sandbox.read("missing.txt"));
      await rejects(sandbox.read("dir"));
      await rejects(sandbox.read("dir/file.txt/below"));
      await rejects(listed(sandbox, "missing"));
      await rejects(listed(sandbox, "dir/file.txt"));
    },
  },
  {
    name: "a path out of the workspace is refused",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("dir/file.txt", "");
      const outside = ["../outside.txt", "dir/../../outside.txt", "/openrath-outside.txt"];
      for (const path of [...outside, "/etc/passwd", "..", "/"]) {
        await rejects(sandbox.read(path), "sandbox.outside");
        await rejects(listed(sandbox, path), "sandbox.outside");
      }
      // Only where it does no harm: a sandbox under test may not refuse.
      for (const path of outside) {
        await rejects(sandbox.write(path, "x"), "sandbox.outside");
        await rejects(sandbox.remove(path), "sandbox.outside");
      }
      const { stdout: root } = await sandbox.exec("pwd");
      await sandbox.write(`${root.trim()}/dir/file.txt`, "by its whole path");
      expect(await textOf(sandbox, "dir/file.txt")).toBe("by its whole path");
    },
  },
  {
    name: "a link is followed in the workspace",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("dir/file.txt", "inside");
      await sandbox.exec("ln -s dir near; ln -s ../dir/file.txt dir/self");
      expect(await textOf(sandbox, "near/file.txt")).toBe("inside");
      await sandbox.write("dir/self", "through the link");
      expect(await textOf(sandbox, "dir/file.txt")).toBe("through the link");
      expect(await listed(sandbox, "near")).toEqual({ "near/file.txt": "file", "near/self": "link" });
    },
  },
  {
    name: "a link never leads to files of the host",
    unless: ({ capabilities }) => (capabilities.isolation === "none" ? "it keeps nothing from the host" : undefined),
    async run({ open }) {
      const outside = await mkdtemp(join(tmpdir(), "openrath-outside-"));
      try {
        const secret = join(outside, "secret.txt");
        await writeFile(secret, "of the host");
        const sandbox = await open();
        await sandbox.exec(["ln", "-s", secret, "leak"]);
        await sandbox.exec(["ln", "-s", outside, "far"]);
        for (const path of ["leak", "far/secret.txt"]) {
          expect(await textOf(sandbox, path).catch(() => "refused")).not.toContain("of the host");
          await sandbox.write(path, "changed").catch(() => {});
        }
        expect(await listed(sandbox, "far").catch(() => ({}))).not.toHaveProperty("far/secret.txt");
        await sandbox.remove("far/secret.txt").catch(() => {});
        await sandbox.remove("far");
        expect(await readFile(secret, "utf8")).toBe("of the host");
      } finally {
        await rm(outside, { recursive: true, force: true });
      }
    },
  },
  {
    name: "many files are written and read at once",
    async run({ open }) {
      const sandbox = await open();
      const paths = Array.from({ length: 50 }, (_, n) => `many/${n % 5}/${n}.txt`);
      await Promise.all([...paths.map((path) => sandbox.write(path, path)), sandbox.exec("echo beside > beside.txt")]);
      expect(await Promise.all(paths.map((path) => textOf(sandbox, path)))).toEqual(paths);
      expect(await textOf(sandbox, "beside.txt")).toBe("beside\n");
    },
  },
];
