/** The sandbox contract: opening, closing, what sandboxes share, and what a backend may offer beyond that. */
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { OpenSandbox } from "../sandbox/sandbox.ts";
import { listed, pause, rejects, type SandboxCase, textOf } from "./sandbox-case.ts";
import { collect } from "./store-case.ts";
import { expect } from "./vitest.ts";

export const lifeCases: readonly SandboxCase[] = [
  {
    name: "a backend that is ready says so and nothing else",
    async run({ backend }) {
      expect(await backend.ready?.()).toBe(undefined);
    },
  },
  {
    name: "two open sandboxes share no files",
    async run({ open, backend }) {
      const [a, b] = [await open({ session: "a" }), await open({ session: "b" })];
      expect(a.id).not.toBe(b.id);
      await a.write("of-a.txt", "a");
      await b.exec("echo b > of-b.txt");
      expect(await listed(a)).toEqual({ "of-a.txt": "file" });
      expect(await listed(b)).toEqual({ "of-b.txt": "file" });
      expect((await b.exec("cat of-a.txt")).exitCode).not.toBe(0);
      if (backend.capabilities.isolation === "none") return;
      const name = `/tmp/openrath-${process.pid}-${Date.now()}`;
      await a.exec(`echo a > ${name}`);
      expect((await b.exec(`cat ${name}`)).exitCode).not.toBe(0);
    },
  },
  {
    name: "a sandbox that is opened again for a session begins with no files of the last one",
    async run({ open }) {
      const first = await open();
      await first.write("old.txt", "old");
      await first[Symbol.asyncDispose]();
      expect(await listed(await open())).toEqual({});
    },
  },
  {
    name: "closing twice is closing once, and nothing works afterwards",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("file", "x");
      await sandbox[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
      await rejects(sandbox.exec("true"));
      await rejects(sandbox.read("file"));
      await rejects(sandbox.write("file", "y"));
      await rejects(listed(sandbox));
      await rejects(sandbox.remove("file"));
    },
  },
  {
    name: "commands reach no network when there is to be none",
    unless: ({ capabilities }) => (capabilities.network ? undefined : "it cannot keep commands off the network"),
    async run({ open }) {
      let reached = 0;
      const server = createServer((socket) => {
        reached += 1;
        socket.on("error", () => {}).end("HTTP/1.0 200 OK\r\n\r\nhello");
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as { readonly port: number };
      try {
        const sandbox = await open({ network: "none" });
        // Whichever of them is there.
        for (const command of [
          ["bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/${port}`],
          ["curl", "-s", "-m", "3", `http://127.0.0.1:${port}/`],
          ["python3", "-c", `import socket; socket.create_connection(("127.0.0.1", ${port}), 3)`],
          ["node", "-e", `require("node:net").connect(${port}, "127.0.0.1").on("error", () => process.exit(1))`],
        ])
          await sandbox.exec(command, { timeoutMs: 5000 });
        expect(reached).toBe(0);
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    },
  },
  {
    name: "what commands write is in the directory of the host, and the other way round",
    unless: ({ capabilities }) => (capabilities.directory === true ? undefined : "it does not work in a directory of the host"),
    async run({ open, directory }) {
      const host = (await directory()) as string;
      await writeFile(join(host, "before.txt"), "before");
      const sandbox = await open({ directory: host });
      expect((await sandbox.exec("cat before.txt && echo made > made.txt")).stdout).toBe("before");
      expect(await readFile(join(host, "made.txt"), "utf8")).toBe("made\n");
      await sandbox.write("dir/written.txt", "written");
      expect(await readFile(join(host, "dir/written.txt"), "utf8")).toBe("written");
      await writeFile(join(host, "later.txt"), "later");
      expect(await textOf(sandbox, "later.txt")).toBe("later");
      await sandbox[Symbol.asyncDispose]();
      expect(await readFile(join(host, "made.txt"), "utf8")).toBe("made\n");
    },
  },
  {
    name: "open sandboxes are listed, and those that are closed are not",
    unless: ({ list }) => (list === undefined ? "it does not list sandboxes" : undefined),
    async run({ open, backend }) {
      const sandbox = await open({ session: "listed" });
      const found = async () => (await collect(backend.list?.() ?? nothing())).filter(({ id }) => id === sandbox.id);
      expect(await found()).toEqual([{ id: sandbox.id, session: "listed" }]);
      await sandbox[Symbol.asyncDispose]();
      expect(await found()).toEqual([]);
    },
  },
  {
    name: "an open sandbox can be attached to by its id",
    unless: ({ attach }) => (attach === undefined ? "it cannot be attached to" : undefined),
    async run({ open, backend }) {
      const sandbox = await open();
      await sandbox.write("file.txt", "here");
      const again = await backend.attach?.(sandbox.id);
      expect(again?.id).toBe(sandbox.id);
      expect(await textOf(again as OpenSandbox, "file.txt")).toBe("here");
      expect(await backend.attach?.("no-such-sandbox")).toBe(undefined);
      await sandbox[Symbol.asyncDispose]();
      expect(await backend.attach?.(sandbox.id)).toBe(undefined);
    },
  },
  {
    name: "a fork begins with the files and goes its own way",
    unless: ({ capabilities }) => (capabilities.fork ? undefined : "it cannot fork"),
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("file.txt", "before");
      const fork = (await sandbox.fork?.()) as OpenSandbox;
      await fork.write("file.txt", "of the fork");
      await sandbox.exec("echo more > more.txt");
      expect([await textOf(sandbox, "file.txt"), await textOf(fork, "file.txt")]).toEqual(["before", "of the fork"]);
      expect(await listed(fork)).toEqual({ "file.txt": "file" });
      await fork[Symbol.asyncDispose]();
      expect(await textOf(sandbox, "file.txt")).toBe("before");
    },
  },
  {
    name: "a process that was started goes on until it is stopped",
    async run({ open, skip }) {
      const sandbox = await open();
      if (sandbox.start === undefined) return skip("it starts no processes");
      const started = await sandbox.start("echo begun; sleep 60");
      let stdout = "";
      for (let tries = 0; tries < 50 && stdout === ""; tries++) {
        await pause(100);
        stdout += (await started.read()).stdout;
      }
      expect([stdout, started.exitCode]).toEqual(["begun\n", undefined]);
      expect(sandbox.process?.(started.id)?.id).toBe(started.id);
      await started.stop();
      expect(started.exitCode).not.toBe(undefined);
      expect(sandbox.process?.("no-such-process")).toBe(undefined);
    },
  },
];

async function* nothing(): AsyncIterable<{ readonly id: string; readonly session: string }> {}
