import { readFileSync } from "node:fs";
import type { Spawned } from "../workspace/spawner.ts";

/**
 * Ends a command and all it started. Process 1 of its namespace is killed, and bubblewrap waits for it: so the end is not reported
 * before the kernel has ended everything in there. Killing bubblewrap would be as sure, but reported too early.
 */
export function killNamespace(command: Spawned): void {
  const children = childrenOf(command.pid);
  // Before there is a namespace all are of one group.
  if (children.length === 0) command.kill();
  for (const pid of children) kill(pid);
  const timer = setTimeout(() => command.kill(), 500);
  void command.exited.catch(() => {}).finally(() => clearTimeout(timer));
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
