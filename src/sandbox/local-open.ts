/** An open sandbox of `local`: what its commands share, and how one is run. */
import { randomBytes } from "node:crypto";
import { existsSync, readlinkSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { posix } from "node:path";
import { RathError } from "../session/errors.ts";
import type { ExecOptions, SandboxProcess } from "../session/session.ts";
import { holdNamespaces, type Namespaces } from "../workspace/namespace.ts";
import type { Spawner } from "../workspace/spawner.ts";
import { type Bounds, boundsOf } from "./bounds.ts";
import { filesByCommand, inside } from "./files-by-command.ts";
import { startBackground } from "./local-background.ts";
import { type Group, makeGroup } from "./local-cgroup.ts";
import { type Etc, makeEtc } from "./local-etc.ts";
import { killNamespace } from "./local-kill.ts";
import type { Found } from "./local-probe.ts";
import { type Placing, placed, workspaceRoot } from "./local-profile.ts";
import { asText, type Ran, runCommand } from "./run-command.ts";
import type { OpenSandbox, SandboxSpec } from "./sandbox.ts";

export async function openLocal(spawner: Spawner, found: Found, spec: SandboxSpec, directory: string): Promise<OpenSandbox> {
  const bounds = boundsOf(spec.limits);
  if (spec.inside !== undefined && spec.network === "none") await checkNetwork(spawner, spec.inside.enter);
  const etc = await makeEtc(found.machine.etc, { network: spec.network === "all" });
  try {
    const group = found.hierarchy && (await makeGroup(found.hierarchy, bounds));
    return new LocalSandbox({ spawner, found, spec, directory, bounds, etc, group });
  } catch (error) {
    await etc[Symbol.asyncDispose]();
    throw new RathError("sandbox.failed", `The limits of a sandbox could not be set: ${(error as Error).message}.`, { cause: error });
  }
}

interface Parts {
  readonly spawner: Spawner;
  readonly found: Found;
  readonly spec: SandboxSpec;
  readonly directory: string;
  readonly bounds: Bounds;
  readonly etc: Etc;
  readonly group: Group | undefined;
}

interface Call extends Omit<ExecOptions, "stdin"> {
  readonly stdin?: Uint8Array | undefined;
  readonly output?: number | undefined;
}

class LocalSandbox implements OpenSandbox {
  readonly id = `local-${randomBytes(6).toString("hex")}`;
  readonly read: OpenSandbox["read"];
  readonly write: OpenSandbox["write"];
  readonly list: OpenSandbox["list"];
  readonly remove: OpenSandbox["remove"];
  readonly #parts: Parts;
  readonly #closed = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly #background = new Map<string, SandboxProcess>();
  #namespaces: Promise<Namespaces> | undefined;
  /** Its commands have a network each. */
  #apart = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    const files = filesByCommand(workspaceRoot, (argv, { stdin }) => this.#run(argv, { stdin, output: parts.bounds.file }));
    this.read = files.read;
    this.write = files.write;
    this.list = files.list;
    this.remove = files.remove;
  }

  async exec(command: string | readonly string[], options: ExecOptions = {}) {
    const { stdin, ...rest } = options;
    return asText(await this.#run(argvOf(command), { ...rest, stdin: stdin === undefined ? undefined : Buffer.from(stdin) }));
  }

  async start(command: string | readonly string[], options: { readonly cwd?: string | undefined } = {}) {
    const cwd = inside(workspaceRoot, options.cwd ?? "");
    await this.#shareNetwork();
    const placing = await this.#placing(false);
    const text = typeof command === "string" ? command : command.join(" ");
    const process = await startBackground(this.#parts.spawner, text, placed(placing, argvOf(command), cwd));
    this.#background.set(process.id, process);
    if (this.#closed.signal.aborted) await process.stop();
    return process;
  }

  process(id: string) {
    return this.#background.get(id);
  }

  async [Symbol.asyncDispose]() {
    this.#closed.abort();
    const { group, etc } = this.#parts;
    await Promise.allSettled([...this.#running, ...[...this.#background.values()].map((process) => process.stop())]);
    await this.#namespaces?.then(
      (namespaces) => namespaces[Symbol.asyncDispose](),
      () => {},
    );
    await group?.remove();
    await etc[Symbol.asyncDispose]();
  }

  /** From now on all commands share a network of their own, so that they reach each other's ports. */
  async #shareNetwork(): Promise<void> {
    const { spec } = this.#parts;
    if (spec.inside !== undefined || spec.network !== "none") return;
    this.#checkOpen();
    const known = this.#namespaces;
    if (known !== undefined && (await isHeld(known))) return;
    // One whose holder is gone is replaced, once by whoever sees it first.
    if (this.#namespaces === known || this.#namespaces === undefined) this.#namespaces = holdNamespaces({ network: false });
    const made = this.#namespaces;
    try {
      await made;
    } catch (error) {
      if (this.#namespaces === made) this.#namespaces = undefined;
      throw error;
    }
  }

  #checkOpen(): void {
    if (!this.#closed.signal.aborted) return;
    throw new RathError("sandbox.failed", `The sandbox ${this.id} is closed: open another one.`, { details: { id: this.id } });
  }

  #run(argv: readonly string[], call: Call): Promise<Ran> {
    const ran = this.#runPlaced(argv, call);
    this.#running.add(ran);
    void ran.catch(() => {}).finally(() => this.#running.delete(ran));
    return ran;
  }

  async #runPlaced(argv: readonly string[], call: Call): Promise<Ran> {
    const { spawner, spec, bounds, group } = this.#parts;
    const cwd = inside(workspaceRoot, call.cwd ?? "");
    // To enter a network that is there costs less than to make one for each command; without it each has its own.
    if (!this.#apart)
      await this.#shareNetwork().catch(() => {
        this.#apart = true;
      });
    const placing = await this.#placing(true);
    const before = (await group?.outOfMemory()) ?? 0;
    let began = false;
    const ran = await runCommand(spawner, {
      ...placed({ ...placing, heralded: true }, argv, cwd),
      stdin: call.stdin,
      timeMs: Math.min(call.timeoutMs ?? bounds.timeMs, bounds.timeMs),
      output: call.output ?? bounds.output,
      disk: spec.written && { most: bounds.disk, written: spec.written },
      signals: [call.signal, this.#closed.signal],
      onOutput: call.onOutput,
      onBegin: () => {
        began = true;
      },
      kill: killNamespace,
    });
    const starved = ran.stopped === undefined && group !== undefined && (await group.outOfMemory()) > before;
    if (starved) return { ...ran, stopped: "memory" };
    if (!began && ran.stopped === undefined) throw notPlaced(ran);
    return ran;
  }

  async #placing(writable: boolean): Promise<Placing> {
    const { found, spec, directory, bounds, etc, group } = this.#parts;
    this.#checkOpen();
    const layers = spec.layers ?? [];
    if (layers.length > 0) await checkLayers(spec.directory ?? directory, layers);
    const enter = spec.inside?.enter ?? (await this.#namespaces)?.enter ?? [];
    return {
      machine: found.machine,
      etc: etc.directory,
      workspace: { from: directory, writable },
      layers,
      env: spec.env,
      network: spec.network === "none" && enter.length === 0 ? "own" : "shared",
      bounds,
      join: group?.join ?? [],
      enter,
      counted: group !== undefined,
    };
  }
}

/** Whether the process that holds them still does. */
async function isHeld(namespaces: Promise<Namespaces>): Promise<boolean> {
  try {
    await (await namespaces).check();
    return true;
  } catch {
    return false;
  }
}

function argvOf(command: string | readonly string[]): readonly string[] {
  if (typeof command === "string") return [existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh", "-c", command];
  const [program] = command;
  if (program === undefined || program === "" || program.startsWith("-"))
    throw new RathError("value.unsupported", `${JSON.stringify(program ?? "")} is no program that can be run.`, { details: { command } });
  return command;
}

/** Namespaces that were handed over must keep the host's network out, when it was not asked for. */
async function checkNetwork(spawner: Spawner, enter: readonly string[]): Promise<void> {
  const argv = [...enter, "/usr/bin/readlink", "/proc/self/ns/net"];
  const asked = await runCommand(spawner, { argv, env: {}, timeMs: 10_000, output: 4096, kill: (command) => command.kill() });
  const { exitCode, stdout, stderr } = asText(asked);
  if (exitCode === 0 && stdout.trim() !== readlinkSync("/proc/self/ns/net") && stdout.startsWith("net:")) return;
  const reason = exitCode === 0 ? "they share the network of the host" : stderr.trim();
  throw new RathError("sandbox.failed", `The namespaces of this workspace cannot be used: ${reason}.`, { details: { enter } });
}

/**
 * A layer is mounted by a program outside the sandbox, and what it lacks on the way is made. A link that an earlier command left
 * there would lead it to the host's files, so there must be none.
 */
async function checkLayers(root: string, layers: NonNullable<SandboxSpec["layers"]>): Promise<void> {
  for (const { path } of layers) {
    if (path === "" || posix.normalize(path) !== path || path.startsWith("/") || path.startsWith("..") || path.endsWith("/"))
      throw new RathError("sandbox.outside", `${JSON.stringify(path)} is no place of a layer in the workspace.`, { details: { path } });
    let at = root;
    for (const name of path.split("/")) {
      at = `${at}/${name}`;
      const entry = await lstat(at).catch(() => undefined);
      if (entry === undefined) break;
      if (!entry.isDirectory())
        throw new RathError(
          "sandbox.failed",
          `A layer cannot be laid at ${JSON.stringify(path)}: there is something else than a directory.`,
          {
            details: { path },
          },
        );
    }
  }
}

/** Nothing of the command ran: all that was written is what those said who were to confine it. */
function notPlaced(ran: Ran): RathError {
  const [said] = Buffer.from(ran.stderr).toString("utf8").trim().split("\n");
  const reason = said || `it ended with ${ran.signal ?? ran.exitCode}`;
  return new RathError("sandbox.failed", `The command could not be placed in its sandbox: ${reason}.`, { retryable: true });
}
