/** Processes of this machine by their numbers, as Linux tells of them. */
import { readFileSync } from "node:fs";

export function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Whether it leads a session of its own, as what is spawned here does: whoever has its number now may be another. */
export function leadsSession(pid: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[3] === String(pid);
  } catch {
    return false;
  }
}

/** Kills it, or below zero all of its group. */
export function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
