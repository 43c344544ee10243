/** Numbers in queries, where everything is text: written in digits, and in no other of the ways in which a text can mean a number. */
import { z } from "@hono/zod-openapi";

export function wholeNumber(least: number, most: number) {
  const text = z.string().regex(/^\d{1,16}$/, "is not a whole number");
  return read(text, z.number().int().min(least).max(most)).openapi({ type: "integer", minimum: least, maximum: most });
}

export function decimal(least: number, most: number) {
  const text = z.string().regex(/^\d{1,9}(\.\d{1,9})?$/, "is not a number");
  return read(text, z.number().min(least).max(most)).openapi({ type: "number", minimum: least, maximum: most });
}

/** What it is when nobody says. */
export function usually(number: ReturnType<typeof read>, usual: number) {
  return number.default(usual).openapi({ default: usual });
}

/** Callers of tools give numbers. */
function read(text: z.ZodString, number: z.ZodNumber) {
  return z.union([z.number(), text.transform(Number)]).pipe(number);
}
