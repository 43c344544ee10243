/** The processes of the cluster. In production a process manager has them; here they are started, killed and stopped by the run. */
import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export class Workers implements AsyncDisposable {
  readonly #url: string;
  readonly #alive = new Map<number, ChildProcess>();

  constructor(url: string) {
    this.#url = url;
  }

  /** Gives its process id. */
  start(): number {
    const child = fork(fileURLToPath(new URL("worker.ts", import.meta.url)), { env: { ...process.env, DATABASE_URL: this.#url } });
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
