/** Sessions that act on files, in a sandbox that does the same in every run and under a directory that every machine has. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Session, tool, Workflow } from "../../src/index.ts";
import type { OpenSandbox, SandboxBackend } from "../../src/sandbox/sandbox.ts";
import type { Case } from "./cases.ts";

const directory = "/tmp/openrath-golden-workspace";

function makeDirectory(): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, "src"), { recursive: true });
  mkdirSync(join(directory, "node_modules"));
  writeFileSync(join(directory, "README.md"), "# Read me\n", { mode: 0o644 });
  writeFileSync(join(directory, "src/a.txt"), "one\ntwo\nthree\nfour\nfive\n", { mode: 0o644 });
  writeFileSync(join(directory, "token.txt"), `the key is AKIA${"A".repeat(16)}\n`, { mode: 0o644 });
}

/** Whatever command it is given, it adds it to a file. */
function fixedSandbox(): SandboxBackend {
  return {
    kind: "fixed",
    capabilities: { isolation: "process", network: true, fork: false, snapshot: false },
    open: async () => openFixed("fixed-1"),
  };
}

function openFixed(id: string): OpenSandbox {
  const files = new Map<string, Uint8Array>();
  return {
    id,
    exec: async (command) => {
      const before = Buffer.from(files.get("log.txt") ?? []).toString();
      files.set("log.txt", Buffer.from(`${before}${String(command)}\n`));
      return { exitCode: 0, stdout: `ran ${String(command)}`, stderr: "", durationMs: 1 };
    },
    read: async (path) => files.get(path) as Uint8Array,
    write: async (path, content) => void files.set(path, Buffer.from(content)),
    remove: async (path) => {
      for (const name of [...files.keys()]) if (name === path || name.startsWith(`${path}/`)) files.delete(name);
    },
    async *list(path = ".") {
      const under = path === "." ? "" : `${path}/`;
      const names = new Set(
        [...files.keys()].filter((name) => name.startsWith(under)).map((name) => name.slice(under.length).split("/")[0] ?? ""),
      );
      for (const name of names) yield { path: `${under}${name}`, kind: files.has(`${under}${name}`) ? "file" : "directory" };
    },
    start: async (command) => ({
      id: "p1",
      command: String(command),
      exitCode: undefined,
      read: async () => ({ stdout: "", stderr: "" }),
      stop: async () => {},
    }),
    [Symbol.asyncDispose]: async () => {},
  };
}

const put = tool({
  name: "put",
  description: "Writes a file.",
  input: z.object({ path: z.string(), text: z.string() }),
  writes: "files",
  run: ({ path, text }, { sandbox }) => sandbox.write(path, text),
});
const run = tool({
  name: "run",
  description: "Runs a command.",
  input: z.object({ command: z.string() }),
  writes: "files",
  run: ({ command }, { sandbox }) => sandbox.exec(command),
});
const serve = tool({
  name: "serve",
  description: "Starts a server.",
  input: z.object({}),
  writes: "files",
  run: async (_, { sandbox }) => (await sandbox.start?.("serve"))?.id,
});

class Work extends Workflow {
  readonly name = "work";
  async forward(session: Session): Promise<Session> {
    const written = await session.call(put, { path: "src/b.txt", text: "new\n" });
    const ran = await written.call(run, { command: "make" });
    const checked = await ran.check("tests", async ({ sandbox }) => (await sandbox.exec("make test")).exitCode === 0);
    const removed = await checked.do("clean", ({ sandbox }) => sandbox.remove("README.md"), { repeat: "safe" });
    return removed.call(serve, {});
  }
}

const placed: Case = {
  options: { sandboxes: { fixed: fixedSandbox() }, workflows: { work: new Work() } },
  record: async (rath) => {
    makeDirectory();
    const session = rath.session("Work on files").to("fixed", { workspace: directory, env: { CI: "1" }, limits: { time: "30s" } });
    const done = await (await rath.run("work", session)).result();
    rmSync(directory, { recursive: true });
    return done;
  },
};

const mergedFiles: Case = {
  options: { sandboxes: { fixed: fixedSandbox() } },
  record: async (rath) => {
    makeDirectory();
    const base = await rath.session("Two ways").to("fixed", { workspace: directory }).call(put, { path: "x", text: "base\n" });
    const left = await base.fork("left").call(put, { path: "x", text: "left\n" });
    const right = await base.fork("right").call(put, { path: "src/a.txt", text: "one\ntwo\nthree\nfour\nFIVE\n" });
    const more = await right.call(put, { path: "x", text: "right\n" });
    rmSync(directory, { recursive: true });
    return left.merge(more, { conflicts: "theirs", reason: "right is right" });
  },
};

export const fileCases: Readonly<Record<string, Case>> = { placed, "merged-files": mergedFiles };
