/** What functions say that decide whether a person must say yes first. */
import { RathError } from "../session/errors.ts";
import { shown, unsupported } from "../session/given.ts";

/** Whether a person is asked. Whoever says neither yes nor no, or says it later, has not allowed the call: throws. */
export function asksPerson(said: unknown): boolean {
  if (typeof said === "boolean") return said;
  if (!(said instanceof Promise)) throw unsupported(field, `gave ${shown(said)}`, "give a boolean");
  said.catch(() => {}); // nobody waits for what it comes to
  throw unsupported(field, "gave a Promise", "it cannot be async, give a boolean");
}

/** Whether it is this that was thrown, not something by the function itself. */
export function isUnsaid(error: unknown): error is RathError {
  return RathError.is(error, "value.unsupported") && error.details?.["field"] === field;
}

const field = "needsApproval";
