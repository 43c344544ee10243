/** What was thrown: anything can be. */
import { RathError } from "./errors.ts";

/** The code of an effect says itself that nobody knows what became of it: a connection was lost, for one. */
export function isUnknown(error: unknown): boolean {
  return RathError.is(error, "effect.unknown") && error.session === undefined;
}

/** In words. */
export function textOfThrown(thrown: unknown): string {
  try {
    if (typeof thrown !== "object" || thrown === null) return String(thrown);
    const { message } = thrown as { readonly message?: unknown };
    return message === undefined ? JSON.stringify(thrown) : String(message);
  } catch {
    return "something that cannot be shown";
  }
}

/** Why the system refused something, in its own words and without its codes: "permission denied", "no space left on device". */
export function refusalOf(thrown: unknown): string {
  const text = textOfThrown(thrown);
  return /\bE[A-Z0-9]+: ([^,]+)/.exec(text)?.[1] ?? text;
}
