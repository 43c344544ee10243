/**
 * Starts processes from a small helper process: a fork of this one would stop it for a time that grows with its memory. Output
 * comes over real pipes, inherited descriptors are closed, and all that was started ends when this process does.
 */
import { type ChildProcess, fork } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { RathError } from "../session/errors.ts";
import { childrenOf, killOne, leadsSession } from "./processes.ts";
import type { Order, Report } from "./spawner-process.mjs";

export interface Spawner {
  /** Rejects with `sandbox.failed` when it cannot be started; `details.code` is the system's reason. */
  spawn(request: SpawnRequest): Promise<Spawned>;
}

export interface SpawnRequest {
  readonly argv: readonly string[];
  readonly cwd?: string | undefined;
  /** The whole environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Bytes it reads, or "open" for one that lives until its input ends. Default: nothing. */
  readonly stdin?: Uint8Array | "open" | undefined;
  /** Bytes it reads from descriptor 3. */
  readonly extra?: Uint8Array | undefined;
  /** Called with its output as it comes. When it throws, the process is killed and `exited` rejects with what was thrown. */
  readonly onOutput?: ((from: "stdout" | "stderr", bytes: Uint8Array) => void) | undefined;
}

export interface Spawned {
  readonly pid: number;
  /** After its output has all been handed over. Rejects with `sandbox.failed` when nobody knows how it ended; it is dead then too. */
  readonly exited: Promise<Exit>;
  /** Signals it and its process group. Does nothing once it has ended. */
  kill(signal?: "SIGKILL" | "SIGTERM"): void;
  /** Whether this process stays alive for it. It does until it is told otherwise; what is left when this process ends, ends too. */
  keepsAlive(keeps: boolean): void;
}

export interface Exit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

/** The one of this process, started at its first use. */
export function spawner(): Spawner {
  only ??= new HelperProcess();
  return only;
}
let only: Spawner | undefined;

/** How many bytes are taken before the helper is told, so that it may send more. */
const tellAfter = 1 << 18;

interface Running {
  readonly request: SpawnRequest;
  pid: number | undefined;
  keepsAlive: boolean;
  taken: number;
  thrown: { readonly error: unknown } | undefined;
  readonly started: Deferred<Spawned>;
  readonly exited: Deferred<Exit>;
}

class HelperProcess implements Spawner {
  #helper: ChildProcess | undefined;
  #next = 0;
  readonly #running = new Map<number, Running>();

  spawn(request: SpawnRequest): Promise<Spawned> {
    const id = this.#next++;
    const entry: Running = {
      request,
      pid: undefined,
      keepsAlive: true,
      taken: 0,
      thrown: undefined,
      started: deferred(),
      exited: deferred(),
    };
    this.#running.set(id, entry);
    const { argv, cwd, env, stdin, extra } = request;
    this.#send({
      do: "spawn",
      id,
      argv: [...argv],
      ...(cwd !== undefined && { cwd }),
      ...(env !== undefined && { env: { ...env } }),
      ...(stdin !== undefined && { stdin }),
      ...(extra !== undefined && { extra }),
    });
    return entry.started.promise;
  }

  /** Orders go to the helper that runs; a new one is started when there is none. */
  #send(order: Order): void {
    const helper = this.#helper ?? this.#start();
    this.#hold();
    helper.send(order, () => {});
  }

  /** The helper keeps this process alive while something runs that does. */
  #hold(): void {
    const holds = [...this.#running.values()].some(({ keepsAlive }) => keepsAlive);
    if (holds) {
      this.#helper?.ref();
      this.#helper?.channel?.ref();
    } else {
      this.#helper?.unref();
      this.#helper?.channel?.unref();
    }
  }

  #start(): ChildProcess {
    const helper = fork(fileURLToPath(new URL("../workspace/spawner-process.mjs", import.meta.url)), [tmpdir()], {
      execArgv: [],
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
      // Its own session: an interrupt from the terminal is for this process, which decides what ends.
      detached: true,
    });
    this.#helper = helper;
    helper.on("message", (report: Report) => this.#take(helper, report));
    helper.once("error", () => this.#lost(helper));
    helper.once("exit", () => this.#lost(helper));
    return helper;
  }

  #take(helper: ChildProcess, report: Report): void {
    const entry = this.#running.get(report.id);
    if (entry === undefined) return;
    switch (report.is) {
      case "started":
        entry.pid = report.pid;
        entry.started.resolve(this.#spawned(helper, report.id, report.pid, entry));
        return;
      case "failed":
        this.#end(report.id);
        entry.started.reject(notStarted(entry.request, report.reason, report.code));
        return;
      case "output":
        this.#hand(helper, report.id, entry, report.from, report.bytes);
        return;
      case "exited":
        this.#end(report.id);
        if (entry.thrown !== undefined) entry.exited.reject(entry.thrown.error);
        else entry.exited.resolve({ code: report.code, signal: report.signal });
        return;
      default:
        report satisfies never;
    }
  }

  #spawned(helper: ChildProcess, id: number, pid: number, entry: Running): Spawned {
    return {
      pid,
      exited: entry.exited.promise,
      kill: (signal = "SIGKILL") => {
        if (this.#running.get(id) === entry) helper.send({ do: "kill", id, signal } satisfies Order, () => {});
      },
      keepsAlive: (keeps) => {
        entry.keepsAlive = keeps;
        this.#hold();
      },
    };
  }

  #hand(helper: ChildProcess, id: number, entry: Running, from: "stdout" | "stderr", bytes: Uint8Array): void {
    try {
      if (entry.thrown === undefined) entry.request.onOutput?.(from, bytes);
    } catch (error) {
      entry.thrown = { error };
      helper.send({ do: "kill", id, signal: "SIGKILL" } satisfies Order, () => {});
    }
    entry.taken += bytes.length;
    if (entry.taken < tellAfter) return;
    helper.send({ do: "taken", id, bytes: entry.taken } satisfies Order, () => {});
    entry.taken = 0;
  }

  #end(id: number): void {
    this.#running.delete(id);
    this.#hold();
  }

  /** The helper died, though nobody asked it to: what it had started is ended here, and the next spawn starts another. */
  #lost(helper: ChildProcess): void {
    if (this.#helper !== helper) return;
    this.#helper = undefined;
    for (const entry of this.#running.values()) {
      if (entry.pid !== undefined) killTree(entry.pid);
      const error = lost(entry.request);
      if (entry.pid === undefined) entry.started.reject(error);
      else entry.exited.reject(error);
    }
    this.#running.clear();
  }
}

/** As the helper does when this process is gone. */
function killTree(pid: number): void {
  if (leadsSession(pid)) for (const child of childrenOf(pid)) killOne(child);
  killOne(-pid);
}

function notStarted({ argv, cwd }: SpawnRequest, reason: string, code: string | undefined): RathError {
  const where = code === "ENOENT" && cwd !== undefined ? ` It or the directory ${cwd} does not exist.` : "";
  return new RathError("sandbox.failed", `${JSON.stringify(argv[0])} could not be started: ${reason}.${where}`, {
    details: { command: argv[0], cwd, code },
    retryable: code === "EAGAIN" || code === "EMFILE" || code === "ENFILE" || code === "ENOMEM",
  });
}

function lost({ argv }: SpawnRequest): RathError {
  return new RathError(
    "sandbox.failed",
    `The process that starts processes ended, and ${JSON.stringify(argv[0])} with it: its result is not known. Try again.`,
    { details: { command: argv[0], code: "lost" }, retryable: true },
  );
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Whoever does not wait for it is not told; it is no crash of this process.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
