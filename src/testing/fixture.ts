/** Sessions kept beside tests: loaded when they are there, recorded when they are not. */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { write } from "../audit/audit.ts";
import type { Rath } from "../runtime/rath.ts";
import type { Session } from "../session/session.ts";

/**
 * Loads a bundle; records it by calling `record` when it is missing or UPDATE_SESSIONS=1. Where nothing may be recorded (CI is
 * set), a missing file is an error.
 *
 * @example
 * const session = await fixture("test/sessions/fix.jsonl", rath, async () => {
 *   await using live = openrath();
 *   const run = await live.run(new Fix(), live.session("Fix the failing test"));
 *   return await run.result(); // without this await, live is closed before there is a result
 * });
 */
export async function fixture(file: string, rath: Rath, record: () => Promise<Session>): Promise<Session> {
  const update = process.env["UPDATE_SESSIONS"] === "1";
  const there = await stat(file).then(
    () => true,
    () => false,
  );
  if (there && !update) return rath.import(file);
  if (!update && process.env["CI"] !== undefined && process.env["CI"] !== "")
    throw new Error(`${file} is missing, and nothing is recorded where CI is set: record it with UPDATE_SESSIONS=1 and commit it.`);
  const session = await record();
  await mkdir(dirname(file), { recursive: true });
  await write(session, file);
  return rath.import(file);
}
