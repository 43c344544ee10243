/** What a session's bundle holds: the events as they are stored, also those of the run's own log. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { write } from "../../src/audit/audit.ts";
import type { Session } from "../../src/session/session.ts";

export interface BundledEvent {
  readonly id: string;
  readonly envelope: Record<string, unknown>;
  readonly data: Record<string, unknown>;
}

/** Exports a session and reads the events of the file. */
export async function stored(session: Session): Promise<readonly BundledEvent[]> {
  const folder = await mkdtemp(join(tmpdir(), "openrath-bundle-"));
  try {
    await write(session, join(folder, "session.jsonl"));
    return eventsIn(await readFile(join(folder, "session.jsonl"), "utf8"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** As they were parsed. */
export function eventsIn(bundle: string) {
  return bundle
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter((line) => "envelope" in line);
}
