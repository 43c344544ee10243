/** Keys and the access log as they are answered with. The secret of a key is in one answer only: the one that made it. */
import { z } from "@hono/zod-openapi";
import { pageQuery } from "./page.ts";

const role = z.enum(["viewer", "operator", "approver", "admin"]);
const permission = z.enum([
  "sessions:read",
  "sessions:write",
  "sessions:erase",
  "runs:read",
  "runs:write",
  "pending:read",
  "pending:decide",
  "memory:read",
  "memory:write",
  "keys:read",
  "keys:write",
  "metrics:read",
  "people:act",
]);

export const keyId = z
  .string()
  .max(20)
  .regex(/^rath_[a-z2-7]{10}$/, "is not the id of a key");

const time = z.iso.datetime({ offset: true }).max(40);

export const keyResource = z
  .object({
    id: keyId.describe("The public beginning of the key."),
    tenant: z.string(),
    project: z.string(),
    identity: z.string().describe("Who uses it: what records name."),
    roles: z.array(role),
    permissions: z.array(permission).optional().describe("Narrows what the roles allow."),
    valid: z.boolean().describe("Neither expired nor revoked."),
    created: z.string(),
    by: z.string().describe("Who made it."),
    expires: z.string().optional(),
    revoked: z.string().optional().describe("From when on it counts no more: of one that was rotated, when its grace ends."),
    replaces: z.string().optional().describe("The key it was made from."),
    used: z.string().optional().describe("About when it was last used."),
  })
  .openapi("Key");
/** A key, without its secret. */
export type KeyResource = z.infer<typeof keyResource>;

export const newKeyResource = keyResource
  .extend({ token: z.string().describe("The whole key. It is shown here once, and kept nowhere.") })
  .openapi("NewKey");
/** A key that was just made, with its secret. */
export type NewKeyResource = z.infer<typeof newKeyResource>;

export const keyBody = z
  .strictObject({
    identity: z.string().min(3).max(200).describe('Who will use it, like "human:ada" or "service:ci".'),
    roles: z.array(role).min(1).max(4),
    permissions: z.array(permission).max(13).optional(),
    expires: time.optional().describe("Left out: when the key that makes it does, if that expires. No later than that."),
  })
  .openapi("KeyRequest");
/** A key to make: for whom, and what it may do. */
export type KeyBody = z.infer<typeof keyBody>;

export const rotateBody = z
  .strictObject({
    graceSeconds: z
      .number()
      .int()
      .min(0)
      .max(30 * 86_400)
      .default(3600)
      .describe("How long the old key still counts."),
    expires: time.optional().describe("When the new key expires. Left out: when the old one does. No later than the key that asks for it."),
  })
  .openapi("KeyRotation");

/** How long an old key still counts, and when the new one expires. */
export type KeyRotation = z.input<typeof rotateBody>;

export const exchangeBody = z.strictObject({ code: z.string().min(1).max(100) }).openapi("KeyExchange");

export const accessEntry = z
  .object({
    no: z.number().int(),
    at: z.string(),
    request: z.string().describe("The id of the call, as its answer named it."),
    key: z.string().optional(),
    identity: z.string().optional(),
    method: z.string(),
    route: z.string(),
    about: z.string().optional().describe("What the path named."),
    status: z.number().int(),
    code: z.string().optional().describe("The code of the error it was answered with."),
  })
  .openapi("AccessEntry");
/** Somebody who changed something, or was turned away. */
export type AccessEntryResource = z.infer<typeof accessEntry>;

export const accessQuery = z.strictObject({
  ...pageQuery,
  after: z
    .string()
    .regex(/^\d{1,16}$/, "is no cursor")
    .optional(),
});
