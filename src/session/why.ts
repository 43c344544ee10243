/** Answers to "why": a chain of events, each with how it led to the one before it. */
import type { Event } from "./event.ts";

/** One step back. "was-in-context" says that a model had read it, not that it was the cause. */
export interface WhyHop {
  readonly relation: "wrote" | "called" | "decided" | "sent" | "was-in-context" | "justified" | "approved";
  readonly event: Event;
  readonly summary: string;
}

/** What led to something, nearest first. */
export interface Why {
  readonly hops: readonly WhyHop[];
  /** For people: one hop a line. */
  toString(): string;
}
