/** How calls name sessions, events and places in sessions. */
import { z } from "@hono/zod-openapi";
import { wholeNumber } from "./number.ts";

/** An id, or the beginning of one. */
export const sessionId = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[0-9a-fA-F-]+$/, "is not an id")
  .toLowerCase();

export const eventId = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, "is not the id of an event: 64 hex digits")
  .toLowerCase();

/** A step, or an event by its id or the beginning of it: nine digits and fewer are a step. */
export const at = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[0-9a-fA-F]+$/, "is neither a step nor the id of an event")
  .toLowerCase()
  .describe("A step, or the id of an event among its ancestors.");

export const step = wholeNumber(0, 1_000_000_000);

/** A session, perhaps at a place: ID, ID@step or ID@event. */
export const sessionPlace = z
  .string()
  .min(1)
  .max(140)
  .regex(/^[0-9a-fA-F-]+(@[0-9a-fA-F]+)?$/, "is neither a session nor a place in one, like ID@step")
  .toLowerCase();

export const ofSession = z.object({ session: sessionId });
export const atPlace = { at: at.optional() };

/** A query says true or false in words. */
export const flag = z.enum(["true", "false"]).default("false");

/** Texts that people write: a reason, a title. */
export const words = z.string().min(1).max(1000);
