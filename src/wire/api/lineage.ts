/**
 * All events of a session and of every branch beside it, without what they say: about a hundred bytes each, so that a hundred
 * thousand can be looked at once. Columns, since rows would say the name of every field again.
 */
import { z } from "@hono/zod-openapi";

const row = z.number().int();
const rows = z.array(row);

export const lineageIndex = z
  .object({
    session: z.string().describe("The session that was asked about."),
    head: z.string(),
    cursor: z.string().optional().describe("A stream of the session that goes on after this misses nothing that is not in here."),
    count: z.number().int().describe("How many events follow, parents first, in the order in which they happened."),
    cut: z.number().int().describe("How many older ones were left out."),
    sessions: z.array(z.string()).describe("What `branch` counts in."),
    kinds: z.array(z.string()).describe("What `kind` counts in."),
    writers: z.array(z.string()).describe("What `by` counts in."),
    id: z.string().describe("The ids, 64 digits each, one after the other."),
    branch: rows.describe("Of each event the branch that wrote it."),
    kind: rows,
    by: rows,
    step: z.array(z.number().int()),
    at: z.array(z.number()).describe("Milliseconds since 1970 for the first one, since the one before it for the others."),
    parents: z
      .array(rows)
      .describe("[event, ...parents], where they are not the event before it on its branch, alone; -1 for one that was left out."),
    marks: z
      .object({
        row: rows,
        mark: z.array(z.enum(["implicit", "nested", "adopt", "detached", "erased", "decided", "files", "passed", "failed"])),
      })
      .describe(
        "What is known of events beside their kinds. decided: a result that waited for what a person said about the call. files: files were recorded with it. passed and failed: the verdict of a check.",
      ),
    outcomes: z
      .object({ row: rows, outcome: z.array(z.enum(["error", "denied", "cancelled", "expired", "unknown"])) })
      .describe("Of results that are not ok."),
    calls: z.object({ row: rows, call: rows }).describe("Of results whose call is not their parent."),
    retried: z.object({ row: rows, attempts: z.array(z.number().int()) }).describe("Of results that took more than one attempt."),
    spent: z
      .object({ row: rows, ms: z.array(z.number()), input: z.array(z.number()), output: z.array(z.number()), usd: z.array(z.number()) })
      .describe("Of results: time, tokens read and written, US dollars."),
  })
  .openapi("LineageIndex");
/** All events of a session and of every branch beside it, without what they say. */
export type LineageIndex = z.infer<typeof lineageIndex>;
