/** What sessions can be asked, beside their ids. */
import { z } from "@hono/zod-openapi";
import type { Asked } from "./asked.ts";
import { path } from "./file.ts";
import { pageQuery } from "./page.ts";
import { at, atPlace, eventId, flag, sessionId, sessionPlace, step, words } from "./place.ts";
import { sandboxStatus } from "./sandbox.ts";
import { sessionStanding } from "./session.ts";
import { costBy } from "./why.ts";

export const placeQuery = z.strictObject(atPlace);
/** A place in a session. */
export type PlaceQuery = Asked<typeof placeQuery>;

export const sessionsQuery = z.strictObject({
  ...pageQuery,
  status: sessionStanding.optional().describe("Only those that stand so: what rows call `standing`."),
  tag: z.string().min(1).max(200).optional(),
  title: z.string().min(1).max(200).optional().describe("Only those whose title has this text, whatever its case."),
  parent: sessionId.optional().describe("Only what forked from this session: its whole id."),
  roots: flag.describe("Only sessions that continue no other one."),
  fields: z.enum(["all", "index"]).default("all").describe("index: only what is known without reading events."),
});
/** Which sessions a list has. */
export type SessionsQuery = Asked<typeof sessionsQuery>;

export const eventsQuery = z.strictObject({
  ...pageQuery,
  after: z
    .string()
    .regex(/^\d{1,10}\.[0-9a-f]{64}$/, "is not the `next` of a page")
    .optional()
    .describe("Where the page before ended: its `next`."),
  from: step.optional().describe("From this step on."),
  to: step.optional().describe("Up to this step."),
  of: z
    .enum(["ancestors", "log"])
    .default("ancestors")
    .describe("ancestors: everything behind the session, merged and nested work included. log: only what lies in this branch itself."),
  fields: z.enum(["all", "index"]).default("all").describe("index: without what the events say."),
});
/** Which events of a session. */
export type EventsQuery = Asked<typeof eventsQuery>;

/** Lists whose items are known by their events: messages and checks. */
export const saidQuery = z.strictObject({ ...pageQuery, after: eventId.optional(), ...atPlace });
/** Which messages or checks of a session. */
export type SaidQuery = Asked<typeof saidQuery>;

export const conflictsQuery = z.strictObject({
  with: sessionPlace.describe("The other session, or a place in it as ID@step."),
  ...atPlace,
});
/** Whom a session would be merged with. */
export type ConflictsQuery = Asked<typeof conflictsQuery>;

export const graphQuery = z.strictObject({ ...atPlace, format: z.enum(["json", "svg", "mermaid", "dot"]).default("json") });
/** Where, and how it is drawn. */
export type GraphQuery = Asked<typeof graphQuery>;

export const diffQuery = z.strictObject({
  a: sessionPlace.describe("A session, or a place in it as ID@step."),
  b: sessionPlace,
  format: z.enum(["json", "text", "html"]).default("json"),
});
/** What is compared, and how it is shown. */
export type DiffQuery = Asked<typeof diffQuery>;

export const eventLinesQuery = z.strictObject({
  ids: z
    .string()
    .max(130 * 65)
    .regex(/^[0-9a-fA-F]{64}(,[0-9a-fA-F]{64})*$/, "is not a list of ids of events with commas")
    .toLowerCase()
    .describe("The ids of events, 130 at most, with commas between them."),
  fields: z.enum(["line", "all"]).default("line").describe("line: what each says in a line. all: the events, as many as one answer holds."),
});
/** Which events are told, in a line or whole. */
export type EventLinesQuery = Asked<typeof eventLinesQuery>;

export const blameQuery = z.strictObject({
  ...pageQuery,
  after: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional(),
  path,
  ...atPlace,
});
/** Whose lines. */
export type BlameQuery = Asked<typeof blameQuery>;

export const costQuery = z.strictObject({ by: costBy.default("branch"), ...atPlace });
/** What a cost is split by. */
export type CostQuery = Asked<typeof costQuery>;

export const filesQuery = z.strictObject({ ...pageQuery, under: path.optional().describe("A directory; left out: the root."), ...atPlace });
/** Which files of a session. */
export type FilesQuery = Asked<typeof filesQuery>;

export const fileQuery = z.strictObject({ path, ...atPlace });
/** One file of a session. */
export type FileQuery = Asked<typeof fileQuery>;

export const changesQuery = z.strictObject({
  ...pageQuery,
  from: at.optional().describe("Since this place; left out: since the files were taken from their directory."),
  at: at.optional(),
  patches: flag.describe("Each with its patch, as long as there is room for it."),
});
/** Since when, and whether with patches. */
export type ChangesQuery = Asked<typeof changesQuery>;

export const patchQuery = z.strictObject({
  from: at.optional().describe("Since this place; left out: since the files were taken from their directory."),
  at: at.optional(),
});
/** Since when, and up to where. */
export type PatchQuery = Asked<typeof patchQuery>;

export const eraseQuery = z.strictObject({ reason: words.describe("For the record: without what is erased."), dryRun: flag });
/** Why a session is erased, or whether it only would be. */
export type EraseQuery = Asked<typeof eraseQuery>;

export const sandboxesQuery = z.strictObject({
  ...pageQuery,
  session: sessionId.optional().describe("The whole id."),
  run: sessionId.optional().describe("The whole id."),
  status: sandboxStatus.optional(),
});
/** Which sandboxes. */
export type SandboxesQuery = Asked<typeof sandboxesQuery>;

export const blobQuery = z.strictObject({ event: eventId.describe("An event of this project whose data names it.") });
/** Which event names a content. */
export type BlobQuery = Asked<typeof blobQuery>;
