/** What can be said, as it travels: bytes as `{ "$": "bytes", "base64": … }`, as everywhere in answers. */
import { z } from "@hono/zod-openapi";

const longestText = 1_000_000;
/** More than any server takes in one body. */
const longestBase64 = 100_000_000;
const mostParts = 100;

const base64 = z
  .base64()
  .max(longestBase64)
  .openapi({ contentEncoding: "base64" } as object);
const bytes = z.strictObject({ $: z.literal("bytes"), base64 }).openapi("Bytes");

const link = z
  .url({ protocol: /^https?$/ })
  .max(4096)
  .describe("An address of the file. The server does not read it.");

const givenPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string().max(longestText) }),
  z.strictObject({ type: z.literal("file"), mediaType: z.string().min(1).max(200), data: z.union([bytes, link]) }),
]);

/** What a caller says: text, or parts. */
export const givenContent = z.union([z.string().min(1).max(longestText), z.array(givenPart).min(1).max(mostParts)]).openapi("Content");
/** What is said to a session: text, or parts. */
export type GivenContent = z.infer<typeof givenContent>;

/** A piece of what was said, with calls, results and sources. */
const part = z.looseObject({ type: z.enum(["text", "reasoning", "file", "call", "result", "source"]) }).openapi("MessagePart");

export const message = z
  .object({
    role: z.enum(["system", "user", "assistant", "tool"]),
    parts: z.array(part),
    text: z.string(),
    by: z.string(),
    event: z.string(),
    session: z.string(),
  })
  .openapi("Message");
/** A message of a session. */
export type MessageResource = z.infer<typeof message>;

/** What a model was asked. */
const modelRequest = z
  .object({
    model: z.string(),
    instructions: z.string(),
    messages: z.array(z.looseObject({ role: z.enum(["system", "user", "assistant", "tool"]) })),
    tools: z.array(z.object({ name: z.string(), description: z.string(), input: z.looseObject({}) })),
    settings: z.looseObject({}),
    output: z.looseObject({}).optional(),
  })
  .openapi("ModelRequest");

/** A model call on record: what it read, and what of that is new since the call before it. */
export const recordedRequest = z
  .object({
    event: z.string(),
    session: z.string(),
    step: z.number().int(),
    request: modelRequest,
    previous: z
      .object({
        event: z.string(),
        session: z.string(),
        step: z.number().int(),
        same: z.number().int().describe("So many messages, from the first, are those of the call before."),
        changed: z.array(z.enum(["model", "instructions", "tools", "settings", "output"])),
      })
      .optional()
      .describe("The model call before it on the line."),
  })
  .openapi("RecordedRequest");
/** What a model call read, and what of it was new. */
export type RecordedRequest = z.infer<typeof recordedRequest>;
