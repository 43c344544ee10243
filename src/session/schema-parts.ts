/** What the shapes of many kinds of events are made of. */
import { z } from "zod";

export const id = z.string().regex(/^[0-9a-f]{64}$/);
export const session = z.string().min(1);
export const iso = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
export const duration = z.string().regex(/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/);
export const place = z.strictObject({ session, head: id });
