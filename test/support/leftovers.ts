/** What a sandbox may leave behind on this machine, looked for from outside. */
import { readdirSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { localSandbox } from "../../src/sandbox/local.ts";

/** Why commands cannot be isolated here; undefined when they can. Said aloud, so that a skipped test is seen. */
export async function whyNoLocal(): Promise<string | undefined> {
  try {
    await localSandbox().ready?.();
    return undefined;
  } catch (error) {
    const reason = (error as Error).message;
    console.warn(`skipped, since there is no local sandbox: ${reason}`);
    return reason;
  }
}

/** Processes of the machine with this text among their arguments, without this one. The dead that nobody buried do not count. */
export function processesWith(text: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return line.includes(text) ? [`${pid} ${line}`] : [];
      } catch {
        return [];
      }
    });
}

export function mountsWith(text: string): readonly string[] {
  return readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .filter((line) => line.includes(text));
}

/** What is in the folders where open sandboxes and removals of a home lie. */
export async function leftIn(home: string): Promise<readonly string[]> {
  const found = await Promise.all(
    ["sandboxes", "trash"].map(async (name) => (await readdir(join(home, name)).catch(() => [])).map((entry) => `${name}/${entry}`)),
  );
  return found.flat();
}
