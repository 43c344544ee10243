/**
 * The index port: where in the logs of a store a text may be. A cache beside the store, never the truth: whoever asks reads what it
 * names and looks for himself, and whoever has none reads everything. It is filled when somebody asks, apart from any append.
 *
 * It keeps which three characters come after each other where, and no text; case does not count. Still it tells much of what was
 * said, so it is as private as the store, and what is erased there must be forgotten here.
 */

/** Events of a log that follow each other, and the text in them. */
export interface IndexedPiece {
  readonly first: number;
  readonly last: number;
  /** Of its events, how many had been erased. */
  readonly erased: number;
  readonly text: string;
}

/** Something that many events of many logs may name, and the first event of this log that does. */
export interface IndexedThing {
  readonly key: string;
  readonly step: number;
  /** Where a file was found. */
  readonly path?: string | undefined;
  /** Its text; undefined when the index has it already. */
  readonly text: string | undefined;
}

/** What follows in a log after what is indexed of it. */
export interface IndexedLog {
  readonly log: string;
  /** How far it was indexed; 0 when it was not. */
  readonly after: number;
  /** How far it is now, and the event there. */
  readonly step: number;
  readonly head: string;
  readonly pieces: readonly IndexedPiece[];
  readonly things: readonly IndexedThing[];
}

/** How far a log is indexed. */
export interface IndexedTo {
  readonly step: number;
  readonly head: string;
}

/** Where texts may be, and how far each log was indexed at the same moment. */
export interface Candidates {
  readonly pieces: readonly (Omit<IndexedPiece, "text"> & { readonly log: string })[];
  readonly things: readonly { readonly key: string; readonly log: string; readonly step: number; readonly path: string | undefined }[];
  readonly known: ReadonlyMap<string, IndexedTo>;
}

/** For one project. Every method but `known` rejects when the index is damaged; it is empty from then on. */
export interface TextIndex extends AsyncDisposable {
  /** How far each log is indexed. An index that cannot be used is thrown away first. */
  known(): Promise<ReadonlyMap<string, IndexedTo>>;
  /** Of these things, those that no indexed event of the log names, and whether the index has their text. */
  unmet(log: string, keys: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /** Adds what follows in logs. A log that somebody else has meanwhile brought further stays as it is. */
  add(logs: readonly IndexedLog[]): Promise<void>;
  /** Where all of these texts may be, whatever their case. Each has three characters or more. */
  candidates(texts: readonly string[]): Promise<Candidates>;
  /** Takes all out that it has of these logs, and of the things under these keys, for good. */
  forget(logs: readonly string[], keys?: readonly string[]): Promise<void>;
}
