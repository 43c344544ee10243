/** A command of `local` that goes on after the call that started it. Of its output the newest is kept until somebody asks. */
import { randomBytes } from "node:crypto";
import type { SandboxProcess } from "../session/session.ts";
import type { Spawned, Spawner, SpawnRequest } from "../workspace/spawner.ts";
import { killNamespace } from "./local-kill.ts";
import { codeOf } from "./run-command.ts";

/** Characters that are kept of each stream. */
const kept = 1 << 20;

export async function startBackground(
  spawner: Spawner,
  command: string,
  request: Pick<SpawnRequest, "argv" | "env" | "extra">,
): Promise<SandboxProcess> {
  const output = { stdout: new Unread(), stderr: new Unread() };
  const spawned = await spawner.spawn({ ...request, onOutput: (from, bytes) => output[from].add(bytes) });
  spawned.keepsAlive(false);
  return background(spawned, command, output);
}

function background(spawned: Spawned, command: string, output: { readonly stdout: Unread; readonly stderr: Unread }): SandboxProcess {
  let exitCode: number | undefined;
  const over = spawned.exited.then(
    (exit) => {
      exitCode = codeOf(exit).exitCode;
    },
    () => {
      exitCode = 137;
    },
  );
  return {
    id: `process-${randomBytes(4).toString("hex")}`,
    command,
    get exitCode() {
      return exitCode;
    },
    read: async () => ({ stdout: output.stdout.take(), stderr: output.stderr.take() }),
    stop: () => {
      if (exitCode !== undefined) return over;
      spawned.keepsAlive(true);
      killNamespace(spawned);
      return over;
    },
  };
}

class Unread {
  #text = "";
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  add(bytes: Uint8Array): void {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    // Cut now and then, not with each piece: a copy of the whole text is dear.
    if (this.#text.length > 2 * kept) this.#text = this.#text.slice(-kept);
  }

  take(): string {
    const text = this.#text.slice(-kept);
    this.#text = "";
    return text;
  }
}
