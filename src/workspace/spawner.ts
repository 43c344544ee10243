/**
 * Starts processes from a small helper process: a fork of this one would stop it for a time that grows with its memory. Output
 * comes over real pipes, inherited descriptors are closed, and all that was started ends when this process does.
 */

export interface SpawnRequest {
  readonly argv: readonly string[];
  readonly cwd?: string | undefined;
  /** The whole environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Bytes it reads, or "open" for one that lives until its input ends. Default: nothing. */
  readonly stdin?: Uint8Array | "open" | undefined;
  /** Bytes it reads from descriptor 3. */
  readonly extra?: Uint8Array | undefined;
  readonly onOutput?: ((from: "stdout" | "stderr", bytes: Uint8Array) => void) | undefined;
}

export interface Spawned {
  readonly pid: number;
  /** After its output has all been handed over. */
  readonly exited: Promise<Exit>;
  kill(signal?: "SIGKILL" | "SIGTERM"): void;
}

export interface Exit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}
