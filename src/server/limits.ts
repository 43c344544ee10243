/** How much one server takes, of whom. What is over a limit is refused by name before it costs anything. */
import { unsupported } from "../session/given.ts";

/** How much one server takes. */
export interface Limits {
  /** Bytes of a body; imports have a limit of their own. */
  readonly body: number;
  /** Bytes of an imported bundle. */
  readonly upload: number;
  /** Calls a second for each key, over ten seconds. */
  readonly rate: number;
  /** Streams that are open at once: of each key, and of all. */
  readonly streams: number;
  readonly allStreams: number;
  /** Questions to everything on record that are answered at once, like grep and verify: of each key, and of all. */
  readonly questions: number;
  readonly allQuestions: number;
  /** Bytes that may wait for a reader of a stream; one that leaves more unread is let go. */
  readonly unread: number;
  /** Milliseconds between two signs of life on a stream. */
  readonly heartbeat: number;
  /** Runs that wait for a worker, in each project. */
  readonly queue: number;
  /** Projects beside the server's own that are open at once; the longest unused one is closed for another. */
  readonly projects: number;
  /** Exports and dossiers that are made at once; others wait. */
  readonly jobs: number;
  /** Bytes that what they made may take on disk; what nobody fetched for longest goes first, and is made again when asked for. */
  readonly jobBytes: number;
  /** Entries of the access log that are kept of each project, and for how many days; Infinity: all. */
  readonly accessEntries: number;
  readonly accessDays: number;
  /** Milliseconds for a call to be read and answered; streams and downloads take as long as they take. */
  readonly timeout: number;
}

const usual: Limits = {
  body: 1 << 20,
  upload: 256 << 20,
  rate: 200,
  streams: 1100,
  allStreams: 5000,
  questions: 16,
  allQuestions: 64,
  unread: 1 << 20,
  heartbeat: 15_000,
  queue: 10_000,
  projects: 32,
  jobs: 2,
  jobBytes: 1 << 30,
  accessEntries: 1_000_000,
  accessDays: 400,
  timeout: 60_000,
};

export function limitsOf(given: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(usual, name)) throw unsupported(`limits.${name}`, "is not a limit", `use one of ${Object.keys(usual).join(", ")}`);
    if (value !== undefined && (typeof value !== "number" || !(value > 0)))
      throw unsupported(`limits.${name}`, `is ${String(value)}`, "give a number above 0");
  }
  return { ...usual, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}
