/** What events of effects say, as far as it is shown. */

export interface Called {
  readonly name?: string;
  readonly input?: unknown;
  readonly raw?: string;
  readonly approval?: string;
  readonly question?: string;
  readonly signal?: string;
  readonly until?: string;
  readonly for?: string;
  readonly query?: string;
  readonly key?: string;
  readonly content?: unknown;
  readonly reason?: string;
  readonly candidates?: readonly { readonly name: string }[];
}

export interface Returned {
  readonly value?: unknown;
  readonly message?: string;
  readonly reason?: string;
  readonly input?: unknown;
  readonly passed?: boolean;
  readonly score?: number;
  /** The event that answered it. */
  readonly answer?: string;
  readonly injected?: readonly string[];
  readonly item?: { readonly uri: string; readonly version: number; readonly origin: string; readonly trust: string };
  readonly acted?: { readonly changes: readonly { readonly path: string }[] };
}

/** What is called, asked or waited for. */
export function nameOf(op: string, called: Called | undefined): string {
  if (called === undefined) return "";
  const { name, question, signal, until, query, key } = called;
  if (op === "recall") return query ?? key ?? "all";
  return name ?? question ?? signal ?? key ?? until ?? called.for ?? "";
}
