/** Who executes a run: host, process and a random part, so that a dead process of this host can be recognised. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

export function newWorkerId(): string {
  return `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
}

/** True only when the owner was a process of this host and that process is gone. */
export function isDeadHere(owner: string): boolean {
  const [host, pid] = owner.split(":");
  if (host !== hostname() || pid === undefined || !/^\d+$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
