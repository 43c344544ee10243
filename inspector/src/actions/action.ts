/** The words of actions: what is done, and where. */

/** A place: a session, and an event in it when it is not the newest. */
export interface Place {
  readonly session: string;
  readonly event?: string | undefined;
}

export type Verb =
  /** Say something to the session. */
  | "say"
  /** Begin a branch. */
  | "fork"
  /** Rerun on a fork, from an event on, with something changed: a prompt, a model, or what a tool gave. */
  | "rerun"
  | "replay"
  | "reject"
  | "export"
  | "dossier"
  /** Fetch what the session changed in files as one patch. */
  | "patch";

export interface Action {
  readonly verb: Verb;
  readonly place: Place;
}

/** What every question is given. */
export interface Asked {
  readonly place: Place;
  readonly close: () => void;
}
