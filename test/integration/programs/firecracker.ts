/** A sandbox as somebody else would write it: a plain object over a folder and child processes that stand for a machine. */
import { spawn } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { RathError } from "openrath";
import type { CommandResult, ExecOptions, OpenSandbox, SandboxBackend, SandboxSpec } from "openrath/sandbox";

/** It says what it is: files of its own, and no isolation. */
export function firecracker(_options: { readonly kernel: string }): SandboxBackend {
  const open = new Map<string, { readonly session: string; readonly machine: OpenSandbox }>();
  return {
    kind: "firecracker",
    capabilities: { isolation: "none", network: false, fork: false, snapshot: false },
    async open(spec) {
      const root = await realpath(await mkdtemp(join(tmpdir(), "firecracker-")));
      const machine = boot(root, spec, () => open.delete(basename(root)));
      open.set(machine.id, { session: spec.session, machine });
      return machine;
    },
    attach: async (id) => open.get(id)?.machine,
    async *list() {
      for (const [id, { session }] of open) yield { id, session };
    },
  };
}

function boot(root: string, spec: SandboxSpec, onStop: () => void): OpenSandbox {
  const stopped = new AbortController();
  const running = new Set<Promise<unknown>>();
  const check = (): void => {
    if (stopped.signal.aborted) throw new RathError("sandbox.failed", `Machine ${basename(root)} was stopped.`);
  };
  const sandbox: OpenSandbox = {
    id: basename(root),
    async exec(command, options = {}) {
      check();
      const cwd = await inside(root, options.cwd ?? ".");
      await readdir(cwd);
      const signals = [stopped.signal, ...(options.signal === undefined ? [] : [options.signal])];
      const result = run(command, cwd, spec, { ...options, signal: AbortSignal.any(signals) });
      running.add(result);
      return result.finally(() => running.delete(result));
    },
    async read(path) {
      check();
      return new Uint8Array(await readFile(await inside(root, path)));
    },
    async write(path, content) {
      check();
      const at = await inside(root, path);
      await mkdir(dirname(at), { recursive: true });
      await writeFile(at, content);
    },
    async remove(path) {
      check();
      const [folder, name] = [dirname(resolve(root, path)), basename(resolve(root, path))];
      outside(root, path, resolve(root, path));
      await rm(join(await inside(root, folder), name), { recursive: true, force: true });
    },
    async *list(path = ".") {
      check();
      const at = await inside(root, path);
      for (const entry of await readdir(at, { withFileTypes: true })) {
        const kind = entry.isDirectory() ? "directory" : entry.isSymbolicLink() ? "link" : "file";
        const full = join(at, entry.name);
        const { mode } = await lstat(full);
        yield {
          path: relative(root, join(resolve(root, path), entry.name)),
          kind,
          mode: mode & 0o777,
          ...(kind === "link" ? { target: await readlink(full) } : {}),
        };
      }
    },
    async [Symbol.asyncDispose]() {
      stopped.abort();
      onStop();
      await Promise.allSettled([...running]);
      await rm(root, { recursive: true, force: true });
    },
  };
  return sandbox;
}

/** Where a path is when its links are followed; refused when that is outside. */
async function inside(root: string, path: string): Promise<string> {
  const at = resolve(root, path);
  outside(root, path, at);
  const real = await realpath(at).catch(async () => {
    const link = await readlink(at).catch(() => undefined);
    if (link !== undefined) return resolve(dirname(at), link);
    return dirname(at) === root ? at : join(await inside(root, dirname(at)), basename(at));
  });
  outside(root, path, real);
  return real;
}

function outside(root: string, path: string, at: string): void {
  if (at !== root && !at.startsWith(`${root}/`)) throw new RathError("sandbox.outside", `${path} is outside the workspace.`);
}

async function run(
  command: string | readonly string[],
  cwd: string,
  { env, limits }: SandboxSpec,
  options: ExecOptions,
): Promise<CommandResult> {
  const [program = "", ...args] = typeof command === "string" ? ["/bin/sh", "-c", command] : command;
  const began = performance.now();
  let stopped: CommandResult["stopped"];
  let signal: NodeJS.Signals | null = null;
  const output = { stdout: "", stderr: "" };
  const most = sizeOf(limits?.output ?? "16mb");
  const ended = (code: number): CommandResult => ({
    exitCode: signal === null ? code : 137,
    ...output,
    durationMs: performance.now() - began,
    ...(signal === null ? {} : { signal }),
    ...(stopped === undefined ? {} : { stopped }),
  });
  if (options.signal?.aborted) return { ...ended(130), stopped: "cancelled" };
  const child = spawn(program, args, { cwd, env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env }, detached: true });
  const stop = (why: typeof stopped): void => {
    stopped ??= why;
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  };
  const onAbort = (): void => stop("cancelled");
  const limit = Math.min(options.timeoutMs ?? Number.POSITIVE_INFINITY, msOf(limits?.time ?? "1h"));
  const timer = setTimeout(() => stop("time"), limit);
  options.signal?.addEventListener("abort", onAbort, { once: true });
  for (const from of ["stdout", "stderr"] as const)
    child[from].setEncoding("utf8").on("data", (text: string) => {
      const kept = text.slice(0, Math.max(0, most - output[from].length));
      output[from] += kept;
      options.onOutput?.(from, kept);
      if (kept.length < text.length) stop("output");
    });
  child.stdin.on("error", () => {}).end(options.stdin ?? "");
  try {
    return await new Promise((settle) => {
      child.on("error", (error) => {
        output.stderr += `${program}: ${error.message}\n`;
        settle(ended(127));
      });
      child.on("close", (code, by) => {
        signal = by;
        settle(ended(code ?? 1));
      });
    });
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
  }
}

function sizeOf(size: string): number {
  const [, count = "0", unit = ""] = /^(\d+)(kb|mb|gb)?$/.exec(size) ?? [];
  return Number(count) * 1024 ** ["", "kb", "mb", "gb"].indexOf(unit);
}

function msOf(time: string): number {
  const [, count = "0", unit = "ms"] = /^(\d+)(ms|s|m|h|d)$/.exec(time) ?? [];
  return Number(count) * ({ ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit] ?? 1);
}
