import { childrenOf, killOne } from "../workspace/processes.ts";
import type { Spawned } from "../workspace/spawner.ts";

/**
 * Ends a command and all it started. Process 1 of its namespace is killed, and bubblewrap waits for it: so the end is not reported
 * before the kernel has ended everything in there. Killing bubblewrap would be as sure, but reported too early.
 */
export function killNamespace(command: Spawned): void {
  const kill = () => {
    const children = childrenOf(command.pid);
    for (const pid of children) killOne(pid);
    // Before there is a namespace all are of one group.
    if (children.length === 0) command.kill();
  };
  kill();
  const timer = setInterval(kill, 100);
  void command.exited.catch(() => {}).finally(() => clearInterval(timer));
}
