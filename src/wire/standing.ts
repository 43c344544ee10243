/** How a session stands, told with the same words by the server, the command line and the inspector. */

/** A run that has not ended. */
export interface OpenRun {
  readonly status: string;
  /** Who executes it now. */
  readonly owner?: string | undefined;
}

/** What runs make of a session, the first that one of them says. */
const words = ["running", "waiting", "queued"] as const;

/**
 * As the runs on it that have not ended, whichever of its branches they are busy with or wait on; else as its own line says.
 * A run whose worker died runs by its record alone: it says nothing.
 */
export function standingOf<Own>(own: Own, runs: readonly OpenRun[]): Own | (typeof words)[number] {
  return words.find((word) => runs.some(({ status, owner }) => status === word && (word !== "running" || owner !== undefined))) ?? own;
}
