/**
 * The host itself as a sandbox: no isolation at all, for those who ask for it by name. Commands see every file and the network of the
 * user who runs them. They get an environment of their own, and limits as far as a process can be held to them: per process, not
 * together. A command that starts a session of its own (`setsid`) can survive its end.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { RathError } from "../session/errors.ts";
import type { ExecOptions } from "../session/session.ts";
import { spawner as ownSpawner, type Spawner } from "../workspace/spawner.ts";
import { type Bounds, boundsOf } from "./bounds.ts";
import { filesByCommand, inside } from "./files-by-command.ts";
import { findProgram } from "./find-program.ts";
import { asText, type Ran, runCommand } from "./run-command.ts";
import type { OpenSandbox, SandboxBackend, SandboxSpec } from "./sandbox.ts";

/**
 * Commands on the host as it is. Files are reached below the directory, but links in it are followed wherever they lead, and a
 * network of "none" is not kept: `capabilities` says so, and whoever opens it has to have asked for it by name.
 */
export function hostSandbox(options: { readonly spawner?: Spawner | undefined } = {}): SandboxBackend {
  const spawner = options.spawner ?? ownSpawner();
  return {
    kind: "host",
    capabilities: { isolation: "none", network: false, fork: false, snapshot: false, directory: true },
    open: async (spec) => openHost(spawner, spec),
  };
}

interface Call extends Omit<ExecOptions, "stdin"> {
  readonly stdin?: Uint8Array | undefined;
  readonly output?: number;
}

function openHost(spawner: Spawner, spec: SandboxSpec): OpenSandbox {
  const root = checked(spec);
  const bounds = boundsOf(spec.limits);
  const env = { PATH: defaultPath, HOME: process.env["HOME"] ?? "/", LANG: "C.UTF-8", TMPDIR: tmpdir(), ...spec.env };
  const closed = new AbortController();
  const running = new Set<Promise<unknown>>();
  const run = async (argv: readonly string[], call: Call): Promise<Ran> => {
    if (closed.signal.aborted) throw new RathError("sandbox.failed", "This sandbox is closed: open another one.");
    const ran = runCommand(spawner, {
      argv: [...limited(bounds), ...argv],
      cwd: inside(root, call.cwd ?? ""),
      env,
      stdin: call.stdin,
      timeMs: Math.min(call.timeoutMs ?? bounds.timeMs, bounds.timeMs),
      output: call.output ?? bounds.output,
      disk: spec.written && { most: bounds.disk, written: spec.written },
      signals: [call.signal, closed.signal],
      onOutput: call.onOutput,
      kill: (process) => process.kill(),
    });
    running.add(ran);
    void ran.catch(() => {}).finally(() => running.delete(ran));
    return ran;
  };
  return {
    id: `host-${randomBytes(6).toString("hex")}`,
    async exec(command, options = {}) {
      const argv = typeof command === "string" ? [shell(), "-c", command] : command;
      const { stdin, ...rest } = options;
      return asText(await run(argv, { ...rest, ...(stdin !== undefined && { stdin: Buffer.from(stdin) }) }));
    },
    ...filesByCommand(root, (argv, { stdin }) => run(argv, { stdin, output: bounds.file })),
    async [Symbol.asyncDispose]() {
      closed.abort();
      await Promise.allSettled([...running]);
    },
  };
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

function shell(): string {
  return existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
}

/** Memory and files are held per process; processes are not, since they are counted for all that the user runs. */
function limited(bounds: Bounds): readonly string[] {
  const prlimit = findProgram("prlimit");
  return prlimit === undefined ? [] : [prlimit, `--data=${bounds.memory}`, `--fsize=${bounds.file}`, "--core=0", "--"];
}

function checked(spec: SandboxSpec): string {
  // "none" is what placements have by default. That it is not kept here is said by the capabilities, before anything is opened.
  if (typeof spec.network === "object")
    throw new RathError("sandbox.unavailable", `"host" has no lists of hosts: its commands use the network as they like.`, {
      details: { network: spec.network },
    });
  if (spec.inside !== undefined || spec.layers?.length)
    throw new RathError("sandbox.unavailable", `"host" works in a plain directory: it has no namespaces and no layers.`);
  if (spec.directory === undefined)
    throw new RathError("sandbox.failed", `"host" needs a directory to work in: say session.to("host", { workspace: "./repo" }).`);
  return spec.directory;
}
