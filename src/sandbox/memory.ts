/**
 * The memory sandbox: files in this process and a simulated shell, for tests and for work on text. None of the host's programs,
 * files, variables or network is in it; its isolation is called "process", since the simulation itself runs in the runtime's own
 * process and a busy command keeps that from other work until it ends. Nothing outlives `asyncDispose`.
 */
import { posix } from "node:path";
import { durationMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { sizeBytes } from "../session/size.ts";
import { mount as root } from "../workspace/path.ts";
import type { Files } from "./memory-files.ts";
import { MapFiles } from "./memory-files.ts";
import { openShell, type Shell } from "./memory-shell.ts";
import type { CommandResult, ExecOptions, OpenSandbox, SandboxBackend, SandboxEntry, SandboxSpec } from "./sandbox.ts";

/**
 * A backend whose sandboxes are memory alone. Commands need the optional package `just-bash`, a shell with the usual text tools
 * and no others; without it files work, and `exec` rejects with `sandbox.unavailable`. Limits of time and output hold; a busy loop
 * is also ended after some hundred thousand steps. There is no network to allow.
 *
 * @example
 * const sandbox = await memorySandbox().open({ session: "s", directory: undefined, network: "none", env: { NAME: "Ann" } });
 * await sandbox.write("a.txt", "one\ntwo\n");
 * const { stdout } = await sandbox.exec("wc -l < a.txt");
 */
export function memorySandbox(): SandboxBackend {
  const opened = new Map<string, number>();
  return Object.freeze({
    kind: "memory",
    capabilities: Object.freeze({ isolation: "process", network: true, fork: false, snapshot: false } as const),
    open: async (spec: SandboxSpec) => {
      // Counted, not random: what is recorded of the same program is the same.
      const count = (opened.get(spec.session) ?? 0) + 1;
      opened.set(spec.session, count);
      return new MemorySandbox(`memory-${spec.session}-${count}`, spec);
    },
  });
}

class MemorySandbox implements OpenSandbox {
  readonly id: string;
  readonly #spec: SandboxSpec;
  #files: Files = new MapFiles();
  #shell: Promise<Shell> | undefined;
  #closed = new AbortController();

  constructor(id: string, spec: SandboxSpec) {
    this.id = id;
    this.#spec = spec;
  }

  async exec(command: string | readonly string[], options: ExecOptions = {}): Promise<CommandResult> {
    this.#checkOpen();
    const shell = await this.#openShell();
    this.#checkOpen();
    const { limits, env } = this.#spec;
    const signals = [this.#closed.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const result = await shell.run(command, {
      cwd: posix.resolve(root, options.cwd ?? "."),
      stdin: options.stdin ?? "",
      env: { HOME: root, PATH: "/usr/bin:/bin", ...env },
      signal: AbortSignal.any(signals),
      timeoutMs: Math.min(options.timeoutMs ?? Infinity, limits?.time === undefined ? Infinity : durationMs(limits.time)),
      outputBytes: sizeBytes(limits?.output ?? "8mb"),
    });
    for (const from of ["stdout", "stderr"] as const) if (result[from] !== "") options.onOutput?.(from, result[from]);
    return result;
  }

  async read(path: string): Promise<Uint8Array> {
    return this.#at(path, (files, inside) => files.read(inside));
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    const bytes = typeof content === "string" ? Buffer.from(content) : Uint8Array.from(content);
    return this.#at(path, (files, inside) => files.write(inside, bytes));
  }

  async *list(path = "."): AsyncIterable<SandboxEntry> {
    yield* await this.#at(path, (files, inside) => files.list(inside));
  }

  async remove(path: string): Promise<void> {
    return this.#at(path, (files, inside) => {
      if (inside === "") throw new RathError("sandbox.denied", "The root of the workspace cannot be removed: remove what is in it.");
      return files.remove(inside);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    this.#files = new MapFiles();
    this.#shell = undefined;
  }

  /** Files are moved into the shell when the first command comes: whoever only reads and writes never loads it. */
  async #openShell(): Promise<Shell> {
    this.#shell ??= openShell(root, this.#files).then((shell) => {
      if (!this.#closed.signal.aborted) this.#files = shell.files;
      return shell;
    });
    this.#shell.catch(() => {
      this.#shell = undefined;
    });
    return this.#shell;
  }

  async #at<T>(path: string, act: (files: Files, inside: string) => Promise<T>): Promise<T> {
    this.#checkOpen();
    const inside = posix.relative(root, posix.resolve(root, path));
    if (inside === ".." || inside.startsWith("../"))
      throw new RathError("sandbox.outside", `${JSON.stringify(path)} is outside the workspace: give a path in it.`, { details: { path } });
    // While files move into the shell, what is written to the old ones would be lost.
    await this.#shell?.catch(() => {});
    this.#checkOpen();
    return act(this.#files, inside);
  }

  #checkOpen(): void {
    if (this.#closed.signal.aborted) throw new RathError("sandbox.failed", `Sandbox ${this.id} is closed: open another one.`);
  }
}
