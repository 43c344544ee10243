/** `openrath` as a real process in the folder of a project. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { afterAll, afterEach } from "vitest";
import { builtCommand, builtDoor } from "./built.ts";

/** The file to hand to Node. */
export const command = await builtCommand();
const door = await builtDoor();

const children = new Set<ChildProcess>();

/** Ends what a test left running, and removes the folders at the end of the file. */
export function cleaned(): void {
  afterEach(async () => {
    for (const child of children) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
  });
  afterAll(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });
}

const folders: string[] = [];

/** A folder with a project whose configuration is this, after what it imports: as JavaScript, which starts sooner, or as it is. */
export async function projectFolder(config: string, written: "js" | "ts" = "js"): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "openrath-called-")));
  folders.push(folder);
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const text = withImports(config);
  await writeFile(join(folder, `openrath.config.${written}`), written === "ts" ? text : transformSync(text, { loader: "ts" }).code);
  return folder;
}

function withImports(config: string): string {
  return `import { appendFileSync } from "node:fs";
import { Agent, openrath, scripted, type Session, tool, Workflow } from ${JSON.stringify(door)};
${config}`;
}

export class Called {
  readonly child: ChildProcess;
  readonly ended: Promise<number | NodeJS.Signals | null>;
  out = "";
  err = "";
  readonly #waiting = new Set<() => void>();

  constructor(argv: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
    const { OPENRATH_HOME: _, OPENRATH_STORE: __, NODE_OPTIONS: ___, ...own } = process.env;
    this.child = spawn(process.execPath, [command, ...argv], { cwd, env: { ...own, ...env } });
    children.add(this.child);
    this.child.stdout?.on("data", (chunk: Buffer) => {
      this.out += chunk.toString();
      this.#heard();
    });
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.err += chunk.toString();
      this.#heard();
    });
    this.ended = new Promise((resolve) =>
      this.child.on("close", (code, signal) => {
        children.delete(this.child);
        resolve(code ?? signal);
        this.#heard();
      }),
    );
  }

  #heard(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const hear of waiting) hear();
  }

  /** Waits until it says so, behind this place of what it said. */
  async says(what: RegExp, from = 0): Promise<RegExpExecArray> {
    for (;;) {
      const found = what.exec(this.err.slice(from));
      if (found !== null) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`It ended without saying ${String(what)}: ${this.err}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Where a server listens. */
  async url(from = 0): Promise<string> {
    return (await this.says(/(http:\/\/\S+) answers for/, from))[1] as string;
  }

  async ends(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    this.child.kill(signal);
    return this.ended;
  }
}
