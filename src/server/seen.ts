/** What is known of a call once it was answered: for the log, the metrics and the access log. Never a query, a body or a key's secret. */
import type { Scope } from "../access/access.ts";
import { neutral } from "../wire/neutral.ts";

export interface Seen extends Partial<Scope> {
  readonly request: string;
  readonly method: string;
  /** The route as it is declared, so that there are few; undefined when there is none. */
  readonly route: string | undefined;
  readonly status: number;
  readonly code?: string | undefined;
  readonly ms: number;
  /** Who called: the id of the key, and whose it is. */
  readonly key?: string | undefined;
  readonly identity?: string | undefined;
  /** What the path names, in words. */
  readonly about?: string | undefined;
  readonly session?: string | undefined;
  readonly run?: string | undefined;
  /** What went wrong inside, where the caller was told nothing of it. */
  readonly error?: unknown;
}

/** What a path names, in words. */
export function aboutOf(params: Readonly<Record<string, string>>): string | undefined {
  const named = Object.entries(params).map(([name, value]) => `${name}=${value}`);
  return named.length === 0 ? undefined : named.join(" ");
}

/** What a path names is whatever the caller wrote: for a log it is bounded, without control characters and secrets, and such that every store can hold it. */
export function forLog(given: string, clean: (text: string) => string): string {
  return neutral(clean(given)).slice(0, 300);
}
