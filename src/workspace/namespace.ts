/**
 * A process that does nothing but hold namespaces of its own: users, mounts, and the network unless the host's may be used. An overlay
 * that is mounted in there is seen by nobody else, and is gone with the holder: a crash leaves no mount behind.
 */
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { RathError } from "../session/errors.ts";
import { type Exit, spawner } from "./spawner.ts";

export interface NamespaceOptions {
  /** Whether what enters uses the host's network. Otherwise it is one with a loopback alone, shared by all that enter. */
  readonly network: boolean;
  /** An overlay to mount. All paths are below `directory` or relative to it, of letters, digits, dots, dashes and slashes. */
  readonly overlay?: OverlayMount | undefined;
}

export interface OverlayMount {
  readonly directory: string;
  readonly lower: string;
  readonly upper: string;
  readonly work: string;
  readonly merged: string;
}

export interface Namespaces extends AsyncDisposable {
  /** Of the holder, as the host sees it. */
  readonly pid: number;
  /** The command that enters them; what is to run there follows it, and begins in `/`. */
  readonly enter: readonly string[];
  /** Where the host's own code finds a path of theirs. */
  outside(path: string): string;
  /** Rejects with `sandbox.failed` when the holder has ended or its overlay is not what is seen. */
  check(): Promise<void>;
}

/**
 * Holds new namespaces until it is disposed of or this process ends. Rejects with `sandbox.unavailable` when the system does not let
 * us have them; `details.reason` is what it said.
 */
export async function holdNamespaces({ network, overlay }: NamespaceOptions): Promise<Namespaces> {
  const bwrap = program("bwrap");
  const nsenter = program("nsenter");
  const options = ["--unshare-user", ...(network ? [] : ["--unshare-net"]), "--uid", "0", "--gid", "0", "--cap-add", "ALL"];
  const place = overlay === undefined ? [] : ["--chdir", overlay.directory];
  const argv = [bwrap, ...options, "--dev-bind", "/", "/", "--die-with-parent", ...place, "/bin/sh", "-c", script(overlay)];
  const holder = await startHolder(argv);
  let ended: Exit | undefined;
  const gone = holder.exited.then(
    (exit) => {
      ended = exit;
    },
    () => {
      ended = { code: undefined, signal: undefined };
    },
  );
  const outside = (path: string) => `/proc/${holder.inner}/root${path}`;
  const merged = overlay === undefined ? undefined : join(overlay.directory, overlay.merged);
  const seen = merged === undefined ? undefined : identity(outside(merged));
  return {
    pid: holder.inner,
    enter: [nsenter, "-t", String(holder.inner), "-U", "-m", ...(network ? [] : ["-n"]), "--preserve-credentials", "--"],
    outside,
    // Without its holder the path leads nowhere, or one day into another process: the place below the mount is empty, and an
    // empty directory must never be taken for files that were deleted.
    check: async () => {
      if (ended === undefined && (merged === undefined || identity(outside(merged)) === seen)) return;
      throw new RathError("sandbox.failed", "The process that holds the files of this checkout has ended. Open it again.", {
        retryable: true,
        details: { pid: holder.inner },
      });
    },
    [Symbol.asyncDispose]: async () => {
      holder.keepsAlive(true);
      holder.kill();
      await gone;
      // The process within dies at the same time, but is waited for by nobody: until it is dead the mount is there.
      for (let wait = 0; wait < 1000 && isAlive(holder.inner); wait++) await new Promise((resolve) => setTimeout(resolve, 1));
    },
  };
}

/** Relative names, so that no character of a path can end an option of mount. */
function script(overlay: OverlayMount | undefined): string {
  const ready = 'echo "ready $$" && read line';
  if (overlay === undefined) return ready;
  const { lower, upper, work, merged } = overlay;
  for (const path of [lower, upper, work, merged]) {
    if (!/^[\w./-]+$/.test(path)) throw new RathError("workspace.invalid", `${JSON.stringify(path)} cannot be part of an overlay.`);
  }
  return `mount -n -i -t overlay overlay -o lowerdir=${lower},upperdir=${upper},workdir=${work},userxattr ${merged} && ${ready}`;
}

/** The process that ends with its input, once it has said that all is in place. */
async function startHolder(argv: readonly string[]) {
  let said = "";
  let problem = "";
  let ready: (inner: number) => void = () => {};
  const inner = new Promise<number>((resolve) => {
    ready = resolve;
  });
  const holder = await spawner().spawn({
    argv,
    env: { PATH: searchPath() },
    stdin: "open",
    onOutput: (from, bytes) => {
      if (from === "stderr") problem += Buffer.from(bytes).toString("utf8").slice(0, 1000);
      else said += Buffer.from(bytes).toString("latin1");
      const found = /^ready (\d+)\n/.exec(said)?.[1];
      if (found !== undefined) ready(Number(found));
    },
  });
  const result = await Promise.race([inner, holder.exited]);
  if (typeof result === "number") {
    holder.keepsAlive(false);
    return { ...holder, inner: result };
  }
  throw unavailable(problem.trim() === "" ? `it ended with ${result.code ?? result.signal}` : problem.trim());
}

function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

function identity(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
}

function searchPath(): string {
  return [process.env["PATH"] ?? "", "/usr/sbin", "/usr/bin", "/sbin", "/bin"].filter((folder) => folder !== "").join(delimiter);
}

/** Where a program is. What starts it may have another path, or none. */
function program(name: string): string {
  for (const folder of searchPath().split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // The next one may have it.
    }
  }
  throw unavailable(`${name} is not installed`);
}

function unavailable(reason: string): RathError {
  return new RathError("sandbox.unavailable", `Namespaces cannot be had here: ${reason}.`, { details: { reason } });
}
