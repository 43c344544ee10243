/** Files of sessions as they were recorded, and what changed in them. */
import { z } from "@hono/zod-openapi";

/** From the root of the workspace. */
export const path = z.string().min(1).max(3800);

export const change = z
  .object({
    path: z.string().describe("Bytes that are no UTF-8 are lone surrogates U+DC80 to U+DCFF."),
    kind: z.enum(["added", "changed", "removed"]),
    before: z.string().optional(),
    after: z.string().optional(),
    of: z.enum(["mode", "type"]).optional(),
  })
  .openapi("Change");

/** A change with its patch, as git writes it, and how many lines it adds and removes. */
export const changedFile = z
  .object({
    ...change.shape,
    patch: z.string().optional().describe("Missing where it would be too long."),
    lines: z.object({ added: z.number().int(), removed: z.number().int() }).optional(),
  })
  .openapi("ChangedFile");
/** A file that was changed, perhaps with its patch. */
export type ChangedFile = z.infer<typeof changedFile>;

/** Something in a directory of a recorded tree. */
export const fileEntry = z
  .object({
    path: z.string(),
    type: z.enum(["file", "directory", "link", "special", "withheld"]),
    mode: z.number().int().optional(),
    size: z.number().int().optional(),
    hash: z.string().optional().describe("Of a file its content, of a directory its tree."),
    target: z.string().optional().describe("Of a link."),
    why: z.string().optional().describe("Of what was not kept: why."),
  })
  .openapi("FileEntry");
/** Something in a directory of recorded files. */
export type FileEntry = z.infer<typeof fileEntry>;
