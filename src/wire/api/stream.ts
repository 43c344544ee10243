/** What streams are asked, and what they tell. */
import { z } from "@hono/zod-openapi";
import type { StreamPart } from "../../session/stream.ts";
import type { Asked } from "./asked.ts";
import type { EventResource } from "./event.ts";
import type { PendingResource } from "./pending.ts";

export const streamCursor = z.string().min(1).max(400);
const after = streamCursor
  .optional()
  .describe("Goes on after the message with this id; the header Last-Event-ID says the same, and counts first.");
const from = z
  .enum(["now", "start"])
  .default("now")
  .describe("Where to begin when nothing was read yet: with what comes, or with the first event.");

export const projectStreamQuery = z.strictObject({ after, from });
/** Where the stream of a project begins. */
export type ProjectStreamQuery = Asked<typeof projectStreamQuery>;

export const sessionStreamQuery = z.strictObject({
  after,
  from,
  only: z.enum(["branch"]).optional().describe("branch: this log alone, without forks and nested work."),
});
/** Where the stream of a session begins, and how much of it. */
export type SessionStreamQuery = Asked<typeof sessionStreamQuery>;

export const runStreamQuery = z.strictObject({ after });
export const pendingStreamQuery = z.strictObject({
  after: after.describe("Is taken and means nothing: what waits is told whole to whoever comes back."),
});

/** Something on record that cannot be read, since a content of it is missing or the store is damaged. What comes after it follows. */
export interface UnreadablePart {
  readonly type: "unreadable";
  /** Its id, and who did it, where that much can be read. */
  readonly event?: string | undefined;
  readonly by?: string | undefined;
  readonly session?: string | undefined;
  readonly code: string;
  readonly message: string;
}

/** Something that happened: an event on record, or what is only shown while it happens. `run` says in which run, where one did it. */
export type StreamedPart = (
  | Exclude<StreamPart, { readonly type: "event" | "pending" }>
  | { readonly type: "event"; readonly event: EventResource; readonly by: string; readonly session: string }
  | { readonly type: "pending"; readonly pending: PendingResource; readonly by: string; readonly session: string }
  | UnreadablePart
) & { readonly run?: string | undefined };

/** What waits: all of it at first, then what comes and what waits no longer. */
export type PendingPart =
  | { readonly type: "snapshot"; readonly pending: readonly PendingResource[] }
  | { readonly type: "pending"; readonly pending: PendingResource }
  | ({ readonly type: "settled" } & Pick<PendingResource, "id" | "kind" | "session" | "run">);
