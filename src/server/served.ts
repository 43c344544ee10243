/** What all calls of one server share. */
import type { AccessStore } from "../access/access.ts";
import type { Answer } from "./answer.ts";
import type { Identified } from "./authenticate.ts";
import type { Caller } from "./caller.ts";
import type { Invites } from "./invites.ts";
import type { Jobs } from "./jobs.ts";
import type { Limits } from "./limits.ts";
import type { Metrics } from "./metrics.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { Projects } from "./projects.ts";
import type { Rates } from "./rates.ts";
import type { Seen } from "./seen.ts";

export interface Served {
  readonly access: () => Promise<AccessStore>;
  readonly identify: (request: Request) => Promise<Identified>;
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly projects: Projects;
  /** Aborted when the server begins to stop: streams and long questions end, who waits is told how things stand, other calls are still answered. */
  readonly stopping: AbortSignal;
  readonly stop: () => void;
  /** Throws once the server is closed: nothing new is answered. */
  readonly checkOpen: () => void;
  /** Aborted when calls under way were answered: what still lasts, like a download, ends. */
  readonly closed: AbortSignal;
  readonly rates: Rates;
  readonly streams: OpenStreams;
  /** Calls that look at everything on record. */
  readonly questions: OpenStreams;
  readonly invites: Invites;
  /** Exports and dossiers under way, and what they made. */
  readonly jobs: Jobs;
  /** Whether a caller would be let in again: a stream that is open asks it at every heartbeat, and ends when not. */
  readonly stillValid: (caller: Caller) => Promise<boolean>;
  /** Takes secrets out of a text. */
  readonly clean: (text: string) => string;
  /** Told of every call that was answered, those of tools among them. */
  readonly seen: (call: Seen) => void;
}

/** A server as whoever listens for it needs it. */
export interface Behind extends Served {
  /** What `fetch` makes a Response of. */
  readonly answer: (request: Request, env?: unknown) => Promise<Answer>;
}

const behind = new WeakMap<object, Behind>();

/** Remembers what is behind a server. */
export function serves(server: object, served: Behind): void {
  behind.set(server, served);
}

/** What is behind a server that `createServer` made. */
export function servedBy(server: object): Behind {
  const served = behind.get(server);
  if (served === undefined) throw new Error("this server was not made by createServer()");
  return served;
}
