/** The limits of a sandbox as numbers. Each has a default: a sandbox without limits does not exist. */
import { durationMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import type { SandboxLimits } from "../session/session.ts";
import { sizeBytes } from "../session/size.ts";

export interface Bounds {
  /** Bytes. */
  readonly memory: number;
  readonly disk: number;
  readonly file: number;
  readonly output: number;
  readonly timeMs: number;
  readonly processes: number;
}

export function boundsOf(limits: SandboxLimits | undefined): Bounds {
  const processes = limits?.processes ?? 256;
  if (!Number.isSafeInteger(processes) || processes < 1)
    throw new RathError("value.unsupported", `A sandbox cannot have ${processes} processes: write a whole number of at least 1.`);
  return {
    memory: sizeBytes(limits?.memory ?? "2gb"),
    disk: sizeBytes(limits?.disk ?? "2gb"),
    file: sizeBytes(limits?.file ?? "512mb"),
    output: sizeBytes(limits?.output ?? "8mb"),
    timeMs: durationMs(limits?.time ?? "10m"),
    processes,
  };
}
