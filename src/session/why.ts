/** Answers to "why": events, each with how it led to another one of them. */
import type { Event } from "./event.ts";

/**
 * One step back. "was-in-context" says that a model had read it, not that it was the cause. What explains an event stands at one of its
 * hops, also when there are several because it stands in several relations.
 */
export interface WhyHop {
  readonly relation:
    | "wrote"
    | "called"
    | "decided"
    | "sent"
    | "was-in-context"
    | "justified"
    | "approved"
    /** It brought the files of another branch here. */
    | "merged"
    /** Its directory held the file before anybody here wrote to it. */
    | "captured"
    /** It judged what was asked about. */
    | "judged"
    /** A summary stands in its place. */
    | "compressed"
    /** It is part of the sum. */
    | "spent"
    /** The branch began with it. */
    | "began";
  /** The hops that it explains, by their places in `hops`; none when it explains what was asked about. */
  readonly explains: readonly number[];
  readonly event: Event;
  readonly summary: string;
  readonly evidence: WhyEvidence;
}

/** What can be looked up and compared, beside the event itself, whose id is the hash of what it says. */
export interface WhyEvidence {
  /** Of a model call: the digest of what was read. `request()` of its session at its step rebuilds that and compares. */
  readonly request?: string | undefined;
  /** The hashes of the workspace before and after it. */
  readonly trees?: { readonly before?: string | undefined; readonly after: string } | undefined;
  /** A file that it wrote, with the hashes of its contents. */
  readonly file?: { readonly path: string; readonly before?: string | undefined; readonly after?: string | undefined } | undefined;
  /** Versions of memories that it wrote or that were read there, as "uri@version". */
  readonly memories?: readonly string[] | undefined;
  /** Where the words that were asked about stand: at which character of what a model reads of it. */
  readonly words?: { readonly text: string; readonly at: number } | undefined;
  /** About how many tokens of a request it was; of a reply, how many were counted. */
  readonly tokens?: number | undefined;
  /** What it cost, in US dollars. */
  readonly usd?: number | undefined;
}

/** What led to something, nearest first. */
export interface Why {
  readonly hops: readonly WhyHop[];
  /** For people: one hop a line, indented under what it explains. */
  toString(): string;
}
