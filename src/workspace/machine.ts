/** This machine and the processes that can be seen from here. */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** The first namespace of processes has this number on every Linux. */
const first = "pid:[4026531836]";

/**
 * The name of the machine; in a container, whose processes nobody outside can see, with the number of its namespace: two containers
 * may have one host name, and to each the other's processes would seem to be gone.
 */
export function machine(): string {
  const namespace = namespaceOfProcesses();
  return namespace === undefined ? hostname() : `${hostname()}/${namespace}`;
}

function namespaceOfProcesses(): string | undefined {
  try {
    const name = readlinkSync("/proc/self/ns/pid");
    return name === first ? undefined : name.replace(/\D/g, "");
  } catch {
    return undefined; // not on Linux, or without /proc
  }
}

/** Which start of the machine this is. */
export function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  } catch {
    return "unknown";
  }
}

/** When this process began, for `isRunning`; empty where the system does not say. */
export function startOfThis(): string {
  return startOf(process.pid) ?? "";
}

/** Whether a process runs; with its start, whether it is still the same one, since numbers are given again. */
export function isRunning(pid: number, started = ""): boolean {
  // Where there is no /proc, as on macOS, another process with its number passes for it: that keeps files too long, never too short.
  if (startOf(process.pid) === undefined) return answers(pid);
  const now = startOf(pid);
  return now !== undefined && (started === "" || started === now);
}

/** In ticks since the machine started; undefined when there is no such process. The dead that nobody buried are gone too. */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function answers(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
