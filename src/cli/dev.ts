/**
 * What `openrath dev` does: it starts `openrath serve` as a process of its own and watches the project's files. A change ends the
 * server, which leaves its runs, and starts it again: the new one takes them up with the new code.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { watch } from "node:fs";
import { dirname, sep } from "node:path";
import { emitKeypressEvents } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Cli } from "./cli.ts";
import { storeAddress } from "./project.ts";
import { show } from "./shown.ts";

interface Developed {
  readonly config: string;
  readonly port: number;
  readonly open: boolean;
}

/** Editors write a file in several steps. */
const settleMs = 100;
const watched = /\.(?:[cm]?[jt]sx?|json|md|txt|ya?ml|sql|py)$/;
const unwatched = ["node_modules", ".git", ".openrath", "dist", "coverage"];
const command = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../cli/main.ts" : "../cli/main.js", import.meta.url));

export class Dev {
  readonly #cli: Cli;
  readonly #about: Developed;
  readonly #folder: string;
  #server: ChildProcess | undefined;
  #restarting = false;
  #stopping = false;

  constructor(cli: Cli, about: Developed) {
    this.#cli = cli;
    this.#about = about;
    this.#folder = dirname(about.config);
  }

  async run(): Promise<void> {
    const { signal } = this.#cli.host;
    const watcher = this.#watch();
    const keys = this.#listen();
    const stop = (): void => {
      this.#stopping = true;
      this.#changed();
      this.#server?.kill("SIGTERM");
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (let first = true; !this.#stopping; first = false) {
        const code = await this.#serve(first);
        if (this.#stopping) break;
        // What does not start is not started again before it was changed.
        if (!this.#restarting && code !== 0) await this.#change();
        this.#restarting = false;
      }
    } finally {
      watcher.close();
      keys();
      signal.removeEventListener("abort", stop);
    }
  }

  /** Until it ends. */
  #serve(first: boolean): Promise<number | null> {
    const { config, port, open } = this.#about;
    const { cwd, env } = this.#cli.host;
    const argv = ["serve", "--dev", "--port", String(port), "--drain", "2s", ...(first ? [open ? "--open" : "--link"] : [])];
    this.#server = spawn(process.execPath, [...process.execArgv, command, ...argv, "--config", config], {
      cwd: this.#folder,
      // A path in it means the folder in which the command was called, not the project's.
      env: { ...process.env, OPENRATH_STORE: storeAddress(env["OPENRATH_STORE"] ?? "", cwd) },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    return new Promise((resolve) => this.#server?.once("close", resolve));
  }

  #changed: () => void = () => {};
  #change(): Promise<void> {
    this.#cli.note(show`waiting for a change`);
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  #watch(): { close(): void } {
    let timer: NodeJS.Timeout | undefined;
    const watcher = watch(this.#folder, { recursive: true }, (_, name) => {
      if (name === null || !watched.test(name) || name.split(sep).some((part) => unwatched.includes(part))) return;
      clearTimeout(timer);
      timer = setTimeout(() => this.#restart(name), settleMs);
    });
    return {
      close: () => {
        clearTimeout(timer);
        watcher.close();
      },
    };
  }

  #restart(file: string): void {
    if (this.#stopping) return;
    this.#cli.note(show`${file} changed: starting again`);
    this.#restarting = true;
    this.#changed();
    this.#server?.kill("SIGTERM");
  }

  /** r runs the newest session again, l lets another browser in, q ends. */
  #listen(): () => void {
    const { stdin } = process;
    if (!this.#cli.canAsk || stdin.setRawMode === undefined) return () => {};
    emitKeypressEvents(stdin);
    stdin.setRawMode(true);
    stdin.resume();
    const hear = (_: string, key: { readonly name?: string; readonly ctrl?: boolean }): void => {
      if (key.name === "q" || (key.ctrl === true && key.name === "c")) process.kill(process.pid, "SIGINT");
      else if (key.name === "r") this.#server?.send("rerun");
      else if (key.name === "l") this.#server?.send("link");
    };
    stdin.on("keypress", hear);
    return () => {
      stdin.off("keypress", hear);
      stdin.setRawMode(false);
      stdin.pause();
    };
  }
}
