/** Ids and how they are made. An event is named by its content; a session by chance, or by where it forked. */
import type { Platform } from "./platform.ts";

declare const brand: unique symbol;
/** 64 hex digits: SHA-256 of the event's canonical envelope. */
export type EventId = string & { readonly [brand]?: "event" };
/** A UUID: version 7 for a root, version 8 (derived) for a fork. */
export type SessionId = string & { readonly [brand]?: "session" };

/** The enclosing effect and its attempt, or the run: forks are numbered inside it. */
export type Scope = { readonly run: string } | { readonly call: EventId; readonly attempt: number };

export function scopeName(scope: Scope): string {
  return "run" in scope ? `run:${scope.run}` : `call:${scope.call}:${scope.attempt}`;
}

export function sameScope(a: Scope, b: Scope): boolean {
  return a === b || scopeName(a) === scopeName(b);
}

/** The same place, scope, label and ordinal always give the same id, so a resumed program finds the forks it made. */
export function forkId(
  platform: Platform,
  parent: { readonly session: SessionId; readonly head: EventId },
  scope: Scope,
  label: string,
  ordinal: number,
): SessionId {
  return derivedUuid(platform, ["fork", parent.session, parent.head, scopeName(scope), label, ordinal]);
}

/** The log that holds the one answer to a question. */
export function answerLogId(platform: Platform, question: EventId): SessionId {
  return derivedUuid(platform, ["answer", question]);
}

/** The log of all signals of one name that are sent to a run. */
export function mailboxLogId(platform: Platform, run: string, signal: string): SessionId {
  return derivedUuid(platform, ["mailbox", run, signal]);
}

/** The log of what is erased in a store, begun by whoever holds a key when `oldest` was its oldest log. */
export function erasureLogId(platform: Platform, key: string, oldest: string, number: number): SessionId {
  return derivedUuid(platform, ["erasure", key, oldest, number]);
}

/** A run started with a key is found by it, so that two starters race for one log. */
export function keyedRunId(platform: Platform, key: string): string {
  return derivedUuid(platform, ["run", key]);
}

/** What a session that was imported from OpenRath 1 was written by: no run of a workflow, and without a log. */
export function importRunId(platform: Platform, session: SessionId): string {
  return derivedUuid(platform, ["import run", session]);
}

/** A UUID of version 8 made of the SHA-256 of the parts. */
export function derivedUuid(platform: Platform, parts: readonly (string | number)[]): string {
  const hex = platform.sha256(JSON.stringify(parts));
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
