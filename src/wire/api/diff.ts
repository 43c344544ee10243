/** What differs between two sessions, as `diff` says it. */
import { z } from "@hono/zod-openapi";
import { check } from "./check.ts";
import { message } from "./content.ts";
import { eventResource } from "./event.ts";
import { change, changedFile } from "./file.ts";
import { sessionStatus } from "./session.ts";
import { totals, usage } from "./totals.ts";

const both = <T extends z.ZodType>(side: T) => z.object({ a: side, b: side });
const differing = <T extends z.ZodType>(side: T) => z.object({ a: side.optional(), b: side.optional() });

const place = z.object({ session: z.string(), event: z.string(), step: z.number().int() });
const outcome = z.looseObject({ type: z.enum(["ok", "error", "denied", "cancelled", "expired", "unknown"]) });

const diffEvent = z
  .object({
    id: z.string(),
    session: z.string(),
    step: z.number().int(),
    kind: z.string(),
    at: z.string(),
    by: z.string(),
    line: z.string(),
    inside: z.string().optional(),
    source: z.string().optional(),
  })
  .openapi("DiffEvent");

const call = z
  .object({
    event: z.string(),
    op: z.enum(["tool", "do"]),
    name: z.string(),
    input: z.unknown().optional(),
    outcome: outcome.optional(),
    by: z.string(),
    step: z.number().int(),
    ms: z.number(),
    changes: z.array(change),
    inside: z.string().optional(),
  })
  .openapi("DiffCall");

const agent = z
  .object({
    by: z.string(),
    model: z.string(),
    settings: z.looseObject({}),
    instructions: z.string(),
    tools: z.array(z.object({ name: z.string(), description: z.string(), input: z.looseObject({}) })),
    output: z.looseObject({}).optional(),
  })
  .openapi("DiffAgent");

const item = z.object({ version: z.number().int(), content: z.string(), forgotten: z.boolean(), event: z.string() });
const model = z.object({ model: z.string(), calls: z.number().int(), reused: z.number().int(), usage: totals });
const route = z.looseObject({ choice: z.string(), candidates: z.array(z.string()), reason: z.string(), event: z.string() });
const answer = z.object({
  kind: z.enum(["question", "approval", "signal"]),
  question: z.string(),
  outcome,
  input: z.unknown().optional(),
  event: z.string(),
});
const spent = z.object({
  events: z.number().int(),
  calls: z.number().int(),
  failed: z.number().int(),
  usage: totals,
  effectMs: z.number(),
  wallMs: z.number(),
});
const reuse = z.object({ results: z.number().int(), of: z.number().int(), saved: totals });

export const diffResource = z
  .object({
    a: place,
    b: place,
    identical: z.boolean(),
    ancestor: z.string().optional(),
    ancestors: z.array(place),
    detached: z.boolean(),
    first: differing(eventResource),
    events: z.array(differing(diffEvent).extend({ relation: z.enum(["same", "changed", "only"]) })),
    messages: z.array(differing(message).extend({ patch: z.string().optional() })),
    files: z.array(changedFile),
    memory: z.array(differing(item).extend({ what: z.enum(["read", "write"]), uri: z.string() })),
    calls: z.array(differing(call)),
    agents: z.array(both(agent)),
    models: z.array(differing(model)),
    routes: z.array(differing(route)),
    checks: z.array(differing(check)),
    answers: z.array(differing(answer)),
    renamed: z.array(both(z.string())),
    reused: differing(reuse),
    usage: both(usage),
    spent: both(spent),
    status: both(sessionStatus),
    stop: differing(z.string()),
    text: both(z.string()),
  })
  .openapi("Diff");
/** What differs between two sessions. */
export type DiffResource = z.infer<typeof diffResource>;
