/** What is wrong with a record, in words: where exactly, what it means, and what to do next. */
import type { ErrorCode } from "../session/errors.ts";

/** What sort of thing is wrong: whoever reacts to problems decides by this. */
export type ProblemKind = keyof typeof words;

/** One thing that is wrong with a record. */
export interface Problem {
  readonly kind: ProblemKind;
  /** The event it is about, or the log or run; "anchor" for a line of the anchor that is no statement. */
  readonly event: string;
  /** The log in which that lies; absent when it cannot be said. */
  readonly session?: string | undefined;
  /** The step of the event in its log. */
  readonly step?: number | undefined;
  /** Which part of it, as a path. */
  readonly field?: string | undefined;
  /** What is wrong, in words. */
  readonly problem: string;
  /** What that says about the record. */
  readonly means: string;
  /** What to do about it. */
  readonly next: string;
}

const restore = "restore the store from a backup, or import a bundle of the session into another store, and verify that";

const words = {
  changed: {
    means: "What is stored is not what was written. It proves nothing any more, and neither does what rests on it.",
    next: restore,
  },
  missing: { means: "Part of the record was removed, or never came here.", next: restore },
  moved: { means: "Something was added, removed, or lies where it was not written.", next: restore },
  order: { means: "What came before what is not as it was written.", next: restore },
  signature: {
    means: "Who signed did not sign what is stored here: it was changed afterwards, or the statement is of something else.",
    next: restore,
  },
  malformed: {
    means: "The hashes hold, but it is nothing that OpenRath writes: another program or a forger made it.",
    next: "find out who writes to this store besides OpenRath",
  },
  newer: { means: "A newer OpenRath wrote it. This one cannot judge it.", next: "update openrath, and verify again" },
  listed: {
    means: "The list by which it is found says something else than the record. What the record says counts.",
    next: "restore the row from a backup; until then trust the events, not the list",
  },
  unreadable: {
    means: "The store cannot read back what was written: the file or database is damaged.",
    next: "openrath db check; then restore a backup",
  },
  "cut-back": {
    means:
      "It holds by itself, but more was on record when the anchor was made: the end was cut off, or another record was put in its place.",
    next: restore,
  },
  anchor: {
    means: "Nothing can be said about whether the record was cut back.",
    next: "give a file of statements that openrath verify --write-anchor wrote, and the keys that signed them",
  },
  unfinished: {
    means: "Somebody began to erase it and was interrupted: what was to go is still there.",
    next: "openrath gc, which finishes it; then verify again",
  },
  unwritten: { means: "What is not stored cannot be verified.", next: "save it with rath.save(session), and verify again" },
  diverged: {
    means: "The record holds, but the program does not ask for what is on record: the code or its configuration changed since.",
    next: "replay with the code that made it, or take the new way on a fork with openrath rerun",
  },
} as const;

/** Something wrong with an event. */
export interface Flaw {
  readonly problem: string;
  /** Where in the event, as a path. */
  readonly field?: string | undefined;
  /** "changed" when left out. */
  readonly kind?: ProblemKind | undefined;
  readonly code?: ErrorCode | undefined;
}

/** Something wrong, and which event, log or run it is wrong with. */
export interface Finding extends Flaw {
  readonly event: string;
}

/** Where an event lies. */
export type Locate = (event: string) => { readonly session: string; readonly step?: number | undefined } | undefined;

/** The same for whoever asked. */
export function problemOf({ event, problem, kind = "changed", field }: Finding, locate: Locate): Problem {
  const place = locate(event);
  return {
    kind,
    event,
    ...(place === undefined ? {} : { session: place.session }),
    ...(place?.step === undefined ? {} : { step: place.step }),
    ...(field === undefined ? {} : { field }),
    problem,
    ...words[kind],
  };
}
