/** Sessions as they are answered with, and what they are made of. */
import { z } from "@hono/zod-openapi";
import { givenContent } from "./content.ts";
import { words } from "./place.ts";
import { usage } from "./totals.ts";

/** Half characters become whole ones, as they do on record: rows and events say the same. No NUL: not every store can keep one. */
export const name = z
  .string()
  .min(1)
  .max(200)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what must not be in it
  .regex(/^[^\u0000]*$/, "has a NUL character")
  .overwrite((text) => (text as string & { toWellFormed(): string }).toWellFormed());

export const sessionStatus = z.enum(["idle", "waiting", "failed", "cancelled", "rejected"]);

/** How a session stands by itself, or as the runs that work on it do. */
export const sessionStanding = z.enum(["idle", "queued", "running", "waiting", "failed", "cancelled", "rejected"]);

const lineage = z.object({
  kind: z.enum(["root", "fork", "detach", "merge", "import"]),
  parents: z.array(z.string()),
  label: z.string().optional(),
  implicit: z.boolean(),
});

/** What is known of a session without reading its events. */
const listed = {
  id: z.string(),
  head: z.string(),
  title: z.string().optional(),
  tags: z.array(z.string()),
  principal: z.string().optional().describe("Whose session it is."),
  parent: z.string().optional().describe("The session that its first event continues."),
  step: z.number().int(),
  changed: z.string().describe("The time of its newest event."),
};

/** What a fold of its events says. */
const folded = {
  created: z.string(),
  status: sessionStatus,
  waiting: z.number().int().describe("Calls without a result."),
  usage,
  lineage,
  events: z.number().int().describe("How many its own log has: what it continues is not counted."),
  begins: z.string().optional().describe("Where it has no title, the beginning of the first thing said in it: 120 characters at most."),
  agents: z.array(z.string()).describe("Who called a model on its line, the first first: the names of 20 at most."),
};

/** What others say of it: it is read for a whole page at once. */
const around = {
  children: z.number().int().describe("How many sessions continue it directly: their own children are counted with them."),
  standing: sessionStanding.describe(
    "running, waiting or queued as a run that works on it is, whichever of its branches that is busy with or waits on; else its status.",
  ),
  run: z
    .object({ id: z.string(), workflow: z.string(), status: z.enum(["running", "queued"]) })
    .describe("The newest run at work on it, or else the newest that waits for somebody who takes it up.")
    .optional(),
};

/** A session in a list. With `fields=index` without what takes a look at its events. */
export const sessionRow = z.object({ ...listed, ...z.object({ ...folded, ...around }).partial().shape }).openapi("SessionRow");
/** A session as lists have it. */
export type SessionRow = z.infer<typeof sessionRow>;

export const sessionResource = z
  .object({
    ...listed,
    ...folded,
    stop: z.string().optional(),
    text: z.string().describe("The newest output, when it is text."),
    placement: z.looseObject({ sandbox: z.string() }).optional(),
  })
  .openapi("Session");
/** A session as it stands. */
export type SessionResource = z.infer<typeof sessionResource>;

export const newSession = z
  .strictObject({
    message: givenContent.optional(),
    title: name.optional(),
    tags: z.array(name).max(50).optional(),
    principal: name
      .optional()
      .describe("Whose session it is, and whose memories it reads. Left out: the caller's; another needs people:act."),
  })
  .openapi("NewSession");
/** A session to make. */
export type NewSession = z.infer<typeof newSession>;

/** Compare and set: a write that names the head it was made for is refused with 409 when the session was continued since. */
const ifHead = {
  ifHead: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, "is not the id of an event")
    .toLowerCase()
    .optional()
    .describe("Only if this is still the newest event. Left out: whatever is newest is continued."),
};

export const said = z.strictObject({ message: givenContent, ...ifHead }).openapi("Say");
export const noted = z.strictObject({ text: z.string().min(1).max(100_000), ...ifHead }).openapi("Note");
export const rejected = z.strictObject({ reason: words, ...ifHead }).openapi("Reject");
export const forked = z
  .strictObject({ at: z.union([z.number().int().min(1), z.string().regex(/^[0-9a-fA-F]{1,64}$/)]).optional(), label: name.optional() })
  .openapi("Fork");
export const merged = z
  .strictObject({
    others: z
      .array(
        z
          .string()
          .min(1)
          .max(140)
          .regex(/^[0-9a-fA-F-]+(@[0-9a-fA-F]+)?$/)
          .toLowerCase(),
      )
      .min(1)
      .max(100)
      .describe("Sessions, or places in them as ID@step."),
    conflicts: z
      .enum(["ours", "theirs"])
      .optional()
      .describe("Who wins, with the whole file, where both changed the same. Left out: 409, and nothing is changed."),
    context: z.enum(["answers", "all"]).optional(),
    reason: words.optional(),
    ...ifHead,
  })
  .openapi("Merge");
/** A message of the user. */
export type Say = z.infer<typeof said>;
/** A remark that no model reads. */
export type Note = z.infer<typeof noted>;
/** Why a branch is not wanted. */
export type Reject = z.infer<typeof rejected>;
/** Where a branch begins, and its label. */
export type Fork = z.infer<typeof forked>;
/** What is joined, and how conflicts are decided. */
export type Merge = z.infer<typeof merged>;
