/** The simulated shell of memory sandboxes: the optional package just-bash, behind the few of its functions that are used here. */
import { posix } from "node:path";
import { RathError } from "../session/errors.ts";
import { textOfThrown } from "../session/thrown.ts";
import { type Files, isDirectory, MapFiles, noDirectory, notThere } from "./memory-files.ts";
import type { CommandResult, SandboxEntry } from "./sandbox.ts";

/** How a command is run, all of it decided. */
export interface ShellRun {
  readonly cwd: string;
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Of each of stdout and stderr. */
  readonly outputBytes: number;
}

export interface Shell {
  /** The files that its commands see. */
  readonly files: Files;
  run(command: string | readonly string[], options: ShellRun): Promise<CommandResult>;
}

interface JustBash {
  readonly InMemoryFs: new () => FileSystem;
  readonly Bash: new (
    options: object,
  ) => {
    exec(text: string, options: object): Promise<{ readonly stdout: string; readonly stderr: string; readonly exitCode: number }>;
  };
}
interface FileSystem {
  readFileBuffer(path: string): Promise<Uint8Array>;
  writeFile(path: string, bytes: Uint8Array): Promise<void>;
  exists(path: string): Promise<boolean>;
  lstat(path: string): Promise<{ readonly isDirectory: boolean; readonly isSymbolicLink: boolean; readonly mode: number }>;
  mkdir(path: string, options: { readonly recursive: true }): Promise<void>;
  readdir(path: string): Promise<string[]>;
  readlink(path: string): Promise<string>;
  realpath(path: string): Promise<string>;
  rm(path: string, options: { readonly recursive: true; readonly force: true }): Promise<void>;
}

/** Loads the shell and moves the files into it. */
export async function openShell(root: string, from: Files): Promise<Shell> {
  const justBash = await load();
  const system = new justBash.InMemoryFs();
  await makeDirectories(system, root);
  if (from instanceof MapFiles)
    for (const [path, entry] of from.entries())
      await (entry === "directory" ? system.mkdir(join(root, path), { recursive: true }) : system.writeFile(join(root, path), entry));
  return { files: new ShellFiles(root, system), run: (command, options) => run(justBash, system, root, command, options) };
}

/** By a variable, so that bundles of those who do not have it are made all the same. */
async function load(): Promise<JustBash> {
  const name: string = "just-bash";
  try {
    return (await import(name)) as JustBash;
  } catch (cause) {
    const fix = "memory sandboxes run commands with the package just-bash: npm install just-bash";
    throw new RathError("sandbox.unavailable", `just-bash cannot be loaded (${textOfThrown(cause)}); ${fix}.`, { cause });
  }
}

async function makeDirectories(system: FileSystem, root: string): Promise<void> {
  for (const path of [root, "/tmp"]) await system.mkdir(path, { recursive: true });
}

const endlessBytes = 64 * 2 ** 20;

async function run(
  { Bash }: JustBash,
  fs: FileSystem,
  root: string,
  command: string | readonly string[],
  options: ShellRun,
): Promise<CommandResult> {
  const { cwd, stdin, env, signal, timeoutMs, outputBytes } = options;
  // A command may have removed them.
  await makeDirectories(fs, root);
  if (!(await isDirectoryAt(fs, cwd))) throw noDirectory(posix.relative(root, cwd));
  // Its own deadline is also looked at by loops that never let a timer fire. Its own limit of output counts what goes through
  // pipes, too, and leaves nothing of a single large write: it is only there for commands without end.
  const executionLimits = { maxExecutionTimeMs: timeoutMs, maxOutputSize: Math.max(4 * outputBytes, endlessBytes) };
  const shell = new Bash({ fs, cwd, executionLimits });
  const [text, args] = typeof command === "string" ? [command, undefined] : argumentsOf(command, stdin);
  const began = performance.now();
  const result = await shell.exec(text, { args, stdin, env, replaceEnv: true, rawScript: true, signal });
  const durationMs = Math.round(performance.now() - began);
  const stopped = stoppedBy(result, options, performance.now() - began);
  const stdout = cut(result.stdout, outputBytes);
  const stderr = cut(stopped === undefined ? result.stderr : result.stderr.replace(/(?:^|\n)bash: [^\n]*\n$/, ""), outputBytes);
  if (stopped === undefined) return { exitCode: result.exitCode, stdout, stderr, durationMs };
  return { exitCode: 137, stdout, stderr, durationMs, signal: "SIGKILL", stopped };
}

/** A name is quoted, so that it is no syntax. A shell that is to read its input as a script is this one. */
function argumentsOf([name = "", ...rest]: readonly string[], stdin: string): readonly [string, readonly string[] | undefined] {
  if ((name === "bash" || name === "sh") && rest.length === 1 && rest[0] === "-s") return [stdin, undefined];
  return [`'${name.replaceAll("'", "'\\''")}'`, rest];
}

const clockSlackMs = 20;

function stoppedBy(
  { stdout, stderr, exitCode }: { readonly stdout: string; readonly stderr: string; readonly exitCode: number },
  { signal, timeoutMs, outputBytes }: ShellRun,
  ms: number,
): CommandResult["stopped"] {
  if (exitCode === 124 && signal.aborted) return "cancelled";
  // A program may end with 124 as well, but not at that moment; clocks differ by a little.
  if (exitCode === 124 && ms >= timeoutMs - clockSlackMs) return "time";
  const overfull = exitCode === 126 && /output size exceeded/.test(stderr);
  return overfull || [stdout, stderr].some((text) => Buffer.byteLength(text) > outputBytes) ? "output" : undefined;
}

/** The beginning, never half a character. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  return Buffer.from(text)
    .subarray(0, bytes)
    .toString()
    .replace(/\ufffd$/, "");
}

async function isDirectoryAt(system: FileSystem, path: string): Promise<boolean> {
  return (await system.exists(path)) && (await system.lstat(await system.realpath(path))).isDirectory;
}

class ShellFiles implements Files {
  readonly #root: string;
  readonly #system: FileSystem;

  constructor(root: string, system: FileSystem) {
    this.#root = root;
    this.#system = system;
  }

  async read(path: string): Promise<Uint8Array> {
    const real = await this.#resolved(path);
    if (!(await this.#system.exists(real))) throw notThere(path);
    if (await isDirectoryAt(this.#system, real)) throw isDirectory(path);
    return Uint8Array.from(await this.#system.readFileBuffer(real));
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    const real = await this.#resolved(path);
    if (await isDirectoryAt(this.#system, real)) throw isDirectory(path);
    for (let above = posix.dirname(real); above !== "/"; above = posix.dirname(above))
      if ((await this.#system.exists(above)) && !(await isDirectoryAt(this.#system, above)))
        throw noDirectory(posix.relative(this.#root, above));
    await this.#system.mkdir(posix.dirname(real), { recursive: true });
    await this.#system.writeFile(real, bytes);
  }

  async list(path: string): Promise<readonly SandboxEntry[]> {
    const real = await this.#resolved(path);
    if (!(await this.#system.exists(real))) throw notThere(path);
    if (!(await isDirectoryAt(this.#system, real))) throw noDirectory(path);
    const names = (await this.#system.readdir(real)).sort();
    return Promise.all(names.map((name) => this.#entry(join(path, name), posix.join(real, name))));
  }

  /** A link itself, not what it leads to. */
  async remove(path: string): Promise<void> {
    const real = posix.join(await this.#resolved(posix.dirname(path)), posix.basename(path));
    await this.#system.rm(real, { recursive: true, force: true });
  }

  async #entry(path: string, real: string): Promise<SandboxEntry> {
    const { isDirectory: directory, isSymbolicLink: link, mode } = await this.#system.lstat(real);
    if (link) return { path, kind: "link", mode, target: await this.#system.readlink(real) };
    return { path, kind: directory ? "directory" : "file", mode };
  }

  /** Where a path leads, links followed as far as there is something. */
  async #resolved(path: string, hops = 0): Promise<string> {
    let at = this.#root;
    for (const [index, name] of path.split("/").entries()) {
      if (name === "" || name === ".") continue;
      at = posix.join(at, name);
      const isLink = await this.#system.lstat(at).then(
        ({ isSymbolicLink }) => isSymbolicLink,
        () => false,
      );
      if (!isLink) continue;
      const target = posix.resolve(posix.dirname(at), await this.#system.readlink(at));
      const inside = posix.relative(this.#root, target);
      if (hops > 40 || inside === ".." || inside.startsWith("../"))
        throw new RathError("sandbox.outside", `${JSON.stringify(path)} leads out of the workspace: give a path in it.`, {
          details: { path },
        });
      const rest = path.split("/").slice(index + 1);
      return this.#resolved([inside, ...rest].join("/"), hops + 1);
    }
    return at;
  }
}

function join(above: string, name: string): string {
  return above === "" ? name : name === "" ? above : `${above}/${name}`;
}
