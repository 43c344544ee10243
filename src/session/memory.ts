/** Memory as sessions see it: what is remembered, with its evidence, and what is recalled, with its score. */
import type { Duration } from "./span.ts";

/**
 * Whom a memory belongs to: everybody in the project, one person, one agent, one workflow, or one session and its branches. Agents
 * and workflows are known by their names: those without a name of their own share one memory.
 */
export type MemoryScope = "user" | "agent" | "project" | "workflow" | "session";
/** What a memory was learned from. */
export type MemoryOrigin = "tool" | "human" | "failure" | "validation" | "model" | "import";
/** The lowest of what something was made of: text of tools and of the outside world is never trusted, nor is what was made of it. */
export type Trust = "trusted" | "untrusted";

/** One version of something remembered, with its evidence. */
export interface MemoryItem {
  /** Its full name: "memory://project/test-command", "memory://user/ada/editor". */
  readonly uri: string;
  /** Its name within its scope. */
  readonly key: string;
  /** As text; of a structured content, its JSON. */
  readonly content: string;
  /** The structured content, when it was given one. */
  readonly value?: unknown;
  readonly scope: MemoryScope;
  /** The person, agent, workflow or session it belongs to; none for those of the project. */
  readonly owner?: string | undefined;
  /** Raised by each write of the same uri, not always by one. */
  readonly version: number;
  /** Staged: seen by its branch alone. Published: by everybody. Retracted: by nobody. In a session it is as it was there. */
  readonly state: "staged" | "published" | "retracted";
  readonly origin: MemoryOrigin;
  readonly trust: Trust;
  /** The events that justify it. */
  readonly because: readonly string[];
  /** Other memories that were read before it was written, as "uri@version". */
  readonly from: readonly string[];
  /** The call that wrote it; of a decision outside a session, its own id. */
  readonly event: string;
  readonly session: string | undefined;
  readonly by: string;
  readonly at: string;
  /** ISO time from which it is not recalled any more. */
  readonly expires?: string | undefined;
  /** Why it was forgotten, retracted or rolled back. */
  readonly reason?: string | undefined;
  /** Its content was erased, and is empty since then: the entry of the erasure log that says by whom and why. */
  readonly erased?: string | undefined;
}

/** Something recalled, with its score. */
export interface MemoryHit extends MemoryItem {
  readonly score: number;
  readonly query: string;
}

/** Something recalled in a session, and by which recall. */
export interface MemoryRead extends MemoryHit {
  readonly recall: {
    readonly event: string;
    readonly by: string;
    readonly step: number;
    /** The revision of the store that was read. */
    readonly revision: number;
    /** Whether a model was given it to read. */
    readonly injected: boolean;
  };
}

/** When something staged becomes visible to others: when the run returns, at once, never, or when a check of this name has passed by then. */
export type Publish = "return" | "now" | "never" | { readonly check: string };

/** What is to be remembered. A key that is known gets a new version. */
export interface Remembered {
  readonly key: string;
  /** Text, or JSON. */
  readonly content: unknown;
  /** Default: "project". */
  readonly scope?: MemoryScope | undefined;
  /** Ids of events that justify it. Default: the newest reply, question or message on the line. */
  readonly because?: readonly string[] | undefined;
  /** How long it is recalled. */
  readonly expires?: Duration | undefined;
  /** Default: "return", or what the policy says. */
  readonly publish?: Publish | undefined;
}

/** What is recalled, and from where. */
export interface RecallOptions {
  /** Default: all that this session may see. */
  readonly scope?: MemoryScope | readonly MemoryScope[] | undefined;
  /** At most so many; 5 when not given. */
  readonly limit?: number | undefined;
  /** Only what is trusted. */
  readonly trust?: "trusted" | undefined;
  readonly origin?: MemoryOrigin | undefined;
  /** Forks from the past and reruns read what was there then; "latest" reads what is there now. */
  readonly memory?: "latest" | undefined;
}

/** A part of what a model read that was replaced or shortened. */
export interface Compression {
  /** The event that recorded it. */
  readonly event: string;
  readonly step: number;
  readonly by: string;
  /** A function that said nothing to stand for the rest is a "window" too. */
  readonly policy: "full" | "window" | "summary" | "trim" | "custom";
  /** Ids of the events a model no longer reads, oldest first. */
  readonly dropped: readonly string[];
  /** Ids of those it still reads. */
  readonly kept: readonly string[];
  /** Results it reads shortened, and to how many characters. */
  readonly shortened: readonly { readonly event: string; readonly to: number }[];
  /** What it reads in place of what was dropped. */
  readonly replacedBy: string | undefined;
  /** Estimates, before and after. */
  readonly tokens: { readonly before: number; readonly after: number };
  /** What the summary cost. */
  readonly usage:
    | {
        readonly input: number;
        readonly output: number;
        readonly cached: number;
        readonly cacheWrite: number;
        readonly reasoning: number;
        readonly usd: number;
      }
    | undefined;
}
