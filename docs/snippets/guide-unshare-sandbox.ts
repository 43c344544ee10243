import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { RathError } from "openrath";
import type { CommandResult, ExecOptions, OpenSandbox, SandboxBackend, SandboxSpec } from "openrath/sandbox";

/** A network and a list of processes of its own; the last process to go takes all others with it. */
const enter = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--"];

/** Commands without a network. Files of the host are not hidden from them, and so the isolation is "none". */
export function unshareSandbox(): SandboxBackend {
  return {
    kind: "unshare",
    capabilities: { isolation: "none", network: true, fork: false, snapshot: false, directory: true },
    async ready() {
      const child = spawn(enter[0] as string, [...enter.slice(1), "true"], { stdio: "ignore" });
      if ((await ended(child).catch(() => 1)) !== 0)
        throw new RathError("sandbox.unavailable", "unshare cannot make namespaces here: install util-linux, or allow user namespaces.");
    },
    open: async (spec) => openUnshare(spec),
  };
}

function openUnshare(spec: SandboxSpec): OpenSandbox {
  const { directory: root, network, env, layers = [], limits = {} } = spec;
  const { time = "10m", output = "8mb", ...others } = limits;
  // What cannot be kept is refused, never weakened.
  if (root === undefined || network !== "none" || layers.length > 0 || Object.keys(others).length > 0)
    throw new RathError("sandbox.unavailable", `"unshare" has a directory, no network, no layers, and limits of time and output alone.`);
  const most = { ms: durationMs(time), bytes: sizeBytes(output) };
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const inside = (path: string): string => {
    if (closing.signal.aborted) throw new RathError("sandbox.failed", "This sandbox is closed: open another one.");
    const whole = resolve(root, path);
    if (whole === root || whole.startsWith(root + sep)) return whole;
    throw new RathError("sandbox.outside", `${path} is outside the workspace.`);
  };
  return {
    id: randomUUID(),
    async exec(command, options = {}) {
      const argv = typeof command === "string" ? ["/bin/sh", "-c", command] : command;
      const child = { argv: [...enter, ...argv], cwd: inside(options.cwd ?? ""), env };
      const done = run(child, { ...options, timeoutMs: Math.min(options.timeoutMs ?? most.ms, most.ms) }, most.bytes, closing.signal);
      running.add(done);
      return done.finally(() => running.delete(done));
    },
    read: async (path) => new Uint8Array(await readFile(inside(path))),
    async write(path, content) {
      // A copy: the caller may change what it gave
      const bytes = Buffer.from(content as Uint8Array);
      await mkdir(dirname(inside(path)), { recursive: true });
      await writeFile(inside(path), bytes);
    },
    async *list(path = "") {
      for (const entry of await readdir(inside(path), { withFileTypes: true })) {
        const kind = entry.isSymbolicLink() ? "link" : entry.isDirectory() ? "directory" : "file";
        yield { path: relative(root, join(inside(path), entry.name)), kind };
      }
    },
    remove: async (path) => rm(inside(path), { recursive: true, force: true }),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.allSettled(running);
    },
  };
}

interface Child {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** One command to its end, or to the limit that ends it. A command that fails is a result. */
async function run({ argv, cwd, env }: Child, options: ExecOptions, most: number, closing: AbortSignal): Promise<CommandResult> {
  const began = performance.now();
  const took = () => Math.round(performance.now() - began);
  const output = { stdout: "", stderr: "" };
  const cut = { exitCode: 137, signal: "SIGKILL" };
  if (options.signal?.aborted) return { ...output, ...cut, durationMs: 0, stopped: "cancelled" };
  // Nothing of the host's environment goes in but what was named.
  const child = spawn(argv[0] as string, argv.slice(1), { cwd, env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env } });
  let stopped: CommandResult["stopped"];
  const stop = (why: CommandResult["stopped"]) => {
    stopped ??= why;
    child.kill("SIGKILL");
  };
  const cancel = () => stop("cancelled");
  for (const signal of [options.signal, closing]) signal?.addEventListener("abort", cancel, { once: true });
  const timer = setTimeout(() => stop("time"), options.timeoutMs);
  for (const from of ["stdout", "stderr"] as const) {
    const decoder = new StringDecoder();
    let left = most;
    child[from].on("data", (bytes: Buffer) => {
      const text = decoder.write(bytes.subarray(0, left));
      output[from] += text;
      options.onOutput?.(from, text);
      if (bytes.length > left) stop("output");
      left -= Math.min(left, bytes.length);
    });
  }
  // It need not read what it is given
  child.stdin.on("error", () => {}).end(options.stdin ?? "");
  try {
    const exitCode = await ended(child);
    return stopped === undefined ? { ...output, exitCode, durationMs: took() } : { ...output, ...cut, durationMs: took(), stopped };
  } finally {
    clearTimeout(timer);
    for (const signal of [options.signal, closing]) signal?.removeEventListener("abort", cancel);
  }
}

function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => child.on("error", reject).on("close", (code) => resolve(code ?? 137)));
}

function durationMs(text: string): number {
  return Number.parseFloat(text) * ({ ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 }[text.replace(/[\d.]/g, "")] ?? Number.NaN);
}

function sizeBytes(text: string): number {
  return (
    Number.parseFloat(text) * ({ b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 }[text.replace(/[\d.]/g, "")[0] ?? ""] ?? Number.NaN)
  );
}
