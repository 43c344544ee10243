/** What the shapes of many kinds of events are made of. */
import { z } from "zod";

export const id = z.string().regex(/^[0-9a-f]{64}$/);
export const session = z.string().min(1);
export const iso = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
export const duration = z.string().regex(/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/);
export const place = z.strictObject({ session, head: id });

export const totals = z.strictObject({
  cacheWrite: z.number(),
  cached: z.number(),
  input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  usd: z.number(),
});

/** What an envelope says in clear, and what survives erasure. */
export const facts = z.strictObject({
  /** It acted in a sandbox: its data says where. */
  acted: z.literal(true).optional(),
  alone: z.literal(true).optional(),
  attempts: z.int().min(1).optional(),
  call: id.optional(),
  closed: z.literal(true).optional(),
  /** Of a reply that a rerun reused and that cost nothing: the tokens its provider counted, read and written. */
  counted: z.int().min(1).optional(),
  /** Its data names the tree of files that the branch has from here on. */
  files: z.literal(true).optional(),
  /** What was recalled is given to the model to read. */
  injected: z.literal(true).optional(),
  /** A merge that says which of two writes of a memory holds. */
  memory: z.literal(true).optional(),
  ms: z.number().min(0).optional(),
  /** Of an implicit fork: how many equal requests came before, at this place, the one that it begins with. */
  nth: z.int().min(1).optional(),
  outcome: z.enum(["ok", "error", "denied", "cancelled", "expired", "unknown"]).optional(),
  /** A reply for which the provider read the outside world, or a message made of text that is not trusted. */
  outside: z.literal(true).optional(),
  /** A fork from a place that was already continued: memory is read as it was then. */
  past: z.literal(true).optional(),
  /** Its data says of background processes that they began or ended. */
  processes: z.literal(true).optional(),
  redacted: z.int().min(1).optional(),
  source: id.optional(),
  started: z.literal(true).optional(),
  /** A result that brings no text from outside into the conversation. */
  trusted: z.literal(true).optional(),
  usage: totals.optional(),
});
