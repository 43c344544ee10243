/** The package as a project has it: built into a folder of its own and linked under node_modules, with the dependencies that are asked for. */
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { builtPackage, declarations } from "../support/built.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
};
export const { version } = manifest;

/** The package as it is built in `built`, without its declarations; gives the folder around it, in which its dependencies are found. */
export async function build(): Promise<string> {
  const scratch = await realpath(await mkdtemp(join(tmpdir(), "openrath-cli-")));
  const built = join(scratch, "built");
  await mkdir(built);
  await writeFile(join(built, "package.json"), JSON.stringify(manifest));
  await cp(join(await builtPackage(), "dist"), join(built, "dist"), { recursive: true });
  await link(join(scratch, "node_modules"), Object.keys(manifest.dependencies));
  return scratch;
}

/** The declarations, for a project that is compiled. */
export async function declare(folder: string): Promise<void> {
  await cp(await declarations(), join(folder, "node_modules/openrath/dist"), { recursive: true });
}

async function link(modules: string, packages: readonly string[]): Promise<void> {
  for (const one of packages) {
    await mkdir(dirname(join(modules, one)), { recursive: true });
    await symlink(await realpath(join(root, "node_modules", one)), join(modules, one));
  }
}

/** A project with the package, and with what else it is to have. */
export async function project(
  scratch: string,
  name: string,
  packages: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = join(scratch, name);
  const modules = join(folder, "node_modules");
  await mkdir(modules, { recursive: true });
  await cp(join(scratch, "built"), join(modules, "openrath"), { recursive: true });
  await link(modules, [...Object.keys(manifest.dependencies), "better-sqlite3", ...packages]);
  for (const [file, text] of Object.entries({ "package.json": '{ "type": "module", "private": true }', ...files })) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return folder;
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly ms: number;
}

export interface How {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Another Node. */
  readonly node?: string;
  /** Called with what was written so far, and how to send a signal. */
  readonly watch?: (written: string, send: (signal: NodeJS.Signals) => void) => void;
}

/** Runs the command line of a folder as a process, without a terminal. */
export function openrath(built: string, argv: readonly string[], how: How): Promise<Ended> {
  return node([join(built, "dist/cli/main.js"), ...argv], how);
}

export function node(argv: readonly string[], { cwd, env, node: binary = process.execPath, watch }: How): Promise<Ended> {
  const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, OPENRATH_HOME: ___, OPENRATH_STORE: ____, ...inherited } = process.env;
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(binary, argv, { cwd, env: { ...inherited, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    const seen = (): void => watch?.(out + err, (signal) => void child.kill(signal));
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      seen();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString();
      seen();
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err, ms: performance.now() - start }));
  });
}
