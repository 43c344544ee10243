/** The log of a server: one line a call, with the ids by which it can be found again, and what went wrong inside. */
import { RathError } from "../session/errors.ts";
import { textOfThrown } from "../session/thrown.ts";
import { forLog, type Seen } from "./seen.ts";

/** What a logger like pino offers. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** `clean` takes secrets out of texts. */
export function logSeen(log: Logger, seen: Seen, clean: (text: string) => string): void {
  const { error, ms, about, session, run, ...fields } = seen;
  const named = Object.entries({ about, session, run }).map(([name, value]) => [name, value && forLog(value, clean)] as const);
  const known = Object.fromEntries([...Object.entries(fields), ...named].filter(([, value]) => value !== undefined));
  const line = { ...known, ms: Math.round(ms * 10) / 10, ...(error === undefined ? {} : { problem: clean(problemOf(error)) }) };
  const message = `${seen.method} ${seen.route ?? "unknown"} ${seen.status}`;
  if (seen.status >= 500 && !passes(error)) log.error(line, message);
  else if (seen.status >= 400) log.warn(line, message);
  else log.info(line, message);
}

/** Said on purpose, like that the server stops: no fault of it. */
function passes(error: unknown): boolean {
  return RathError.is(error) && error.retryable;
}

function problemOf(error: unknown): string {
  if (passes(error)) return textOfThrown(error);
  return error instanceof Error ? (error.stack ?? textOfThrown(error)) : textOfThrown(error);
}
