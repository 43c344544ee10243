/** Worker processes. In production a process manager has them; here they are started, killed and stopped by the example. */
import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export class Workers implements AsyncDisposable {
  readonly #file: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #alive = new Map<number, ChildProcess>();

  constructor(file: URL, env: NodeJS.ProcessEnv) {
    this.#file = fileURLToPath(file);
    this.#env = { ...process.env, ...env };
  }

  /** Gives its process id. */
  start(): number {
    const child = fork(this.#file, { env: this.#env });
    const pid = child.pid as number;
    this.#alive.set(pid, child);
    child.once("exit", () => this.#alive.delete(pid));
    return pid;
  }

  /** As a crash ends it: nothing is finished, nothing is given back. False where there is no such worker. */
  kill(pid: number): boolean {
    const child = this.#alive.get(pid);
    return this.#alive.delete(pid) && child?.kill("SIGKILL") === true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#alive.values()) child.kill("SIGTERM");
    for (let left = 100; this.#alive.size > 0 && left > 0; left--) await sleep(100);
    for (const child of this.#alive.values()) child.kill("SIGKILL");
  }
}
