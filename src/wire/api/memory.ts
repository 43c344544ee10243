/** Memories as they are asked for and answered with. */
import { z } from "@hono/zod-openapi";
import { usually, wholeNumber } from "./number.ts";
import { pageQuery } from "./page.ts";

const memoryScope = z.enum(["user", "agent", "project", "workflow", "session"]);
const origin = z.enum(["tool", "human", "failure", "validation", "model", "import"]);

/** A key, a uri, or "uri@version". In a path a uri is written with %2F. */
export const memoryName = z.string().min(1).max(2000);

const item = {
  uri: z.string(),
  key: z.string(),
  content: z.string(),
  value: z.unknown().optional(),
  scope: memoryScope,
  owner: z.string().optional(),
  version: z.number().int(),
  state: z.enum(["staged", "published", "retracted"]),
  origin,
  trust: z.enum(["trusted", "untrusted"]),
  because: z.array(z.string()),
  from: z.array(z.string()),
  event: z.string(),
  session: z.string().optional(),
  by: z.string(),
  at: z.string(),
  expires: z.string().optional(),
  reason: z.string().optional(),
  erased: z.string().optional(),
};

export const memoryRecord = z.object({ ...item, revision: z.number().int() }).openapi("Memory");
/** A version of a memory. */
export type MemoryRecordResource = z.infer<typeof memoryRecord>;

const memoryHit = z.object({ ...item, score: z.number(), query: z.string() }).openapi("MemoryHit");
/** A memory that matches. */
export type MemoryHitResource = z.infer<typeof memoryHit>;

const asOf = wholeNumber(0, Number.MAX_SAFE_INTEGER).optional().describe("As it was at this revision.");
const scope = memoryScope.optional();

export const memoryListQuery = z.strictObject({ ...pageQuery, scope, state: z.enum(["published", "retracted"]).optional(), asOf });

export const memorySearchQuery = z.strictObject({
  query: z.string().min(1).max(10_000),
  scope,
  limit: usually(wholeNumber(1, 100), 5),
  trust: z.literal("trusted").optional(),
  origin: origin.optional(),
  asOf,
});

export const memoryFound = z.object({ revision: z.number().int(), items: z.array(memoryHit) }).openapi("MemoryFound");
/** Memories that match, best first. */
export type MemoryFound = z.infer<typeof memoryFound>;

const reason = z.string().min(1).max(10_000);

/** What is to be remembered. Its key is in the path. */
export const memoryPut = z
  .strictObject({
    content: z
      .unknown()
      .refine((value) => value !== undefined, { message: "is missing" })
      .describe("Text, or JSON."),
    scope: z.enum(["project", "user"]).default("project").describe("Everybody's in the project, or the caller's own."),
    expires: z
      .string()
      .max(32)
      .regex(/^\d{1,15}(\.\d{1,6})?(ms|s|m|h|d)$/, 'is not a duration like "30d"')
      .optional(),
    reason: reason.optional().describe("Why it is so: kept as its evidence."),
    based: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe("The version that was looked at: refused when there is a newer one. 0: there was none."),
  })
  .openapi("MemoryPut");
/** What is to be remembered. */
export type MemoryPut = z.input<typeof memoryPut>;

export const memoryForgetQuery = z.strictObject({ reason });
export const memoryDecision = z.strictObject({ reason });
export const memoryRollback = z.strictObject({
  to: z.union([z.number().int().min(0), z.iso.datetime({ offset: true })]).describe("A revision, or a time."),
  reason,
});

export const memoryChanged = z.object({ items: z.array(memoryRecord) }).openapi("MemoryChanged");
/** Memories that were changed. */
export type MemoryChanged = z.infer<typeof memoryChanged>;

export const memoryUse = z
  .object({
    uri: z.string(),
    version: z.number().int(),
    session: z.string(),
    event: z.string(),
    at: z.string(),
    by: z.string(),
    query: z.string().optional(),
    injected: z.boolean(),
    readBy: z.array(z.string()),
  })
  .openapi("MemoryUse");
/** Where a memory was recalled. */
export type MemoryUseResource = z.infer<typeof memoryUse>;
