/** Writing sessions to files, one function for all formats. */
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";

/** The formats `write` knows by name; those that are not there yet are refused with `session.not-here`. */
export type WriteFormat = "bundle" | "otlp" | "atif" | "chat-jsonl" | "lineage-jsonl" | "html";

/** How a session is written. */
export interface WriteOptions {
  /** Default: "bundle", which `rath.import` takes in again. */
  readonly format?: WriteFormat | undefined;
}

/**
 * Writes a session to a file. A bundle becomes one file when its name ends in ".jsonl", else a folder with its blobs beside it.
 * What is not stored yet is saved first.
 *
 * @example
 * await write(session, "fix.jsonl");
 * await write(session, "lineage.jsonl", { format: "lineage-jsonl" }); // jq 'select(.status == "rejected") | .reason' lineage.jsonl
 */
export async function write(session: Session, file: string, options: WriteOptions = {}): Promise<void> {
  const { format = "bundle" } = options;
  switch (format) {
    case "bundle": {
      const { writeBundle } = await import("./bundle-write.ts");
      return writeBundle(session, file);
    }
    case "lineage-jsonl": {
      const { writeLineage } = await import("./lineage.ts");
      return writeLineage(session, file);
    }
    case "html": {
      const { writePage } = await import("../dossier/page.ts");
      return writePage(session, file);
    }
    case "otlp":
    case "atif":
    case "chat-jsonl":
      throw new RathError(
        "session.not-here",
        `This version of openrath does not write "${format}" yet: use "bundle", "html" or "lineage-jsonl".`,
        {
          session,
        },
      );
    default:
      throw unknown(format satisfies never, session);
  }
}

function unknown(format: string, session: Session): RathError {
  return new RathError("session.not-here", `There is no format "${format}": use "bundle", "html" or "lineage-jsonl".`, { session });
}
