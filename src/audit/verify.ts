/**
 * Is a record what was written? Everything is read again from the stored bytes; nothing in memory is trusted. Covers the
 * ancestors of a place and all that the runs wrote which made them: see gather.ts.
 */
import type { Session } from "../session/session.ts";
import type { Verification, VerifyOptions } from "./check-record.ts";

export type { Verification, VerifyOptions } from "./check-record.ts";
export type { CheckedParts, Unchecked } from "./coverage.ts";
export type { RecordedErasure } from "./erased.ts";
export type { Problem, ProblemKind } from "./problem.ts";

/**
 * Checks the record of a session against its own hashes and signatures. What is wrong is in `problems`, never thrown.
 * Whoever holds the signing key can forge a record that passes; an `anchor` kept elsewhere shows even that.
 *
 * @example
 * const { ok, problems, statement } = await verify(session);
 * if (!ok) for (const { event, problem, next } of problems) console.error(event, problem, next);
 * await appendFile("/elsewhere/anchors.jsonl", `${statement}\n`); // later: verify(session, { anchor: "/elsewhere/anchors.jsonl" })
 */
export async function verify(session: Session, options: VerifyOptions = {}): Promise<Verification> {
  // Loaded when somebody verifies: most programs that import the package never do.
  const { verifySession } = await import("./check-record.ts");
  return verifySession(session, options);
}
