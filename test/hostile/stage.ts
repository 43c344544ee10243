/** What a hostile case is given, wherever it runs: in the test runner, or as another user in a process of its own. */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localSandbox } from "../../src/sandbox/local.ts";
import type { OpenSandbox, SandboxSpec } from "../../src/sandbox/sandbox.ts";

export interface Case {
  readonly name: string;
  /** Throws when the sandbox let something through. A text is why it could not be tried here. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most cases have nothing to say
  run(stage: Stage): Promise<string | undefined | void>;
}

export interface Stage {
  /** A directory of this case alone, with `workspace` and `secret` in it. */
  readonly directory: string;
  readonly workspace: string;
  /** A file of the host that everybody may read. */
  readonly secret: string;
  readonly root: boolean;
  open(spec?: Partial<SandboxSpec>): Promise<OpenSandbox>;
  /** Runs one of the scripts of this folder on a bare Node, with descriptors beside the usual three. */
  script(name: string, args: readonly string[], descriptors?: Readonly<Record<number, number>>): Running;
}

export interface Running {
  readonly pid: number;
  readonly output: Promise<string>;
  kill(): void;
  /** Resolves when it has written this. */
  said(text: string): Promise<void>;
}

const backend = localSandbox();

/** Runs a case with all it needs, and leaves nothing behind. */
export async function perform(hostile: Case, scripts: string): Promise<string | undefined> {
  const directory = mkdtempSync(join(tmpdir(), "openrath-hostile-"));
  chmodSync(directory, 0o755);
  const workspace = join(directory, "workspace");
  const secret = join(directory, "secret");
  mkdirSync(workspace);
  writeFileSync(secret, "secret of the host\n", { mode: 0o644 });
  const opened: OpenSandbox[] = [];
  const open = async (spec: Partial<SandboxSpec> = {}) => {
    const sandbox = await backend.open({ session: "s", directory: workspace, network: "none", env: {}, ...spec });
    opened.push(sandbox);
    return sandbox;
  };
  const script: Stage["script"] = (name, args, descriptors) => start(join(scripts, name), args, descriptors);
  try {
    return (await hostile.run({ directory, workspace, secret, root: process.getuid?.() === 0, open, script })) ?? undefined;
  } finally {
    for (const sandbox of opened) await sandbox[Symbol.asyncDispose]();
    // An overlay leaves a directory that not even its owner may read.
    spawnSync("chmod", ["-R", "u+rwx", directory]);
    rmSync(directory, { recursive: true, force: true });
  }
}

function start(path: string, args: readonly string[], descriptors: Readonly<Record<number, number>> = {}): Running {
  const highest = Math.max(2, ...Object.keys(descriptors).map(Number));
  const stdio = Array.from({ length: highest + 1 }, (_, fd) => descriptors[fd] ?? (fd === 1 || fd === 2 ? "pipe" : "ignore"));
  const child = spawn(process.execPath, [path, ...args], { stdio: stdio as ("pipe" | "ignore" | number)[] });
  let text = "";
  const heard = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (bytes: Buffer) => {
      text += bytes.toString();
      for (const each of heard) each();
    });
  const output = new Promise<string>((resolve) => child.on("close", () => resolve(text)));
  const said = (wanted: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => text.includes(wanted) && resolve();
      heard.add(look);
      look();
      void output.then(() => reject(new Error(`It ended without "${wanted}": ${text}`)));
    });
  return { pid: child.pid as number, output, kill: () => child.kill("SIGKILL"), said };
}
