/** Who executes a run: machine, process and a random part, so that a dead process of this machine can be recognised. */
import { randomUUID } from "node:crypto";
import { isRunning, machine } from "../workspace/machine.ts";

export function newWorkerId(): string {
  return `${machine()}:${process.pid}:${randomUUID().slice(0, 8)}`;
}

/** True only when the owner was a process of this machine and that process is gone. */
export function isDeadHere(owner: string): boolean {
  const [place, pid] = owner.split(":");
  return place === machine() && pid !== undefined && /^\d+$/.test(pid) && !isRunning(Number(pid));
}
