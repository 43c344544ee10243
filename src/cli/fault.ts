/** How a command ends when it does not end well: an exit code scripts can act on, what happened, why, and what to type next. */

export const exits = {
  ok: 0,
  error: 1,
  usage: 2,
  notFound: 3,
  /** Diverged, conflict or failed verification. */
  differs: 4,
  invalid: 5,
  notAllowed: 6,
  limit: 7,
  waiting: 8,
  timeout: 124,
  interrupted: 130,
} as const;
export type Exit = (typeof exits)[keyof typeof exits];

/** What the command line itself has to complain about. */
export class Fault extends Error {
  readonly exit: Exit;
  /** A command that helps. */
  readonly next: string | undefined;
  constructor(exit: Exit, message: string, options: { readonly next?: string | undefined; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Fault";
    this.exit = exit;
    this.next = options.next;
  }
}
