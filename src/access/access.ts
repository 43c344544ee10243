/**
 * The access port: who may come in, and who came. It lies beside the store and is asked before any store is: a key says which tenant
 * and project a call belongs to. Of a key only the hash of its secret is kept.
 */

/** What a key may be used for; each has a fixed list of permissions (`permissions.ts`). */
export type Role = "viewer" | "operator" | "approver" | "admin";

/** One thing that calls may be allowed to do. */
export type Permission =
  | "sessions:read"
  | "sessions:write"
  | "sessions:erase"
  | "runs:read"
  | "runs:write"
  | "pending:read"
  | "pending:decide"
  | "memory:read"
  | "memory:write"
  | "keys:read"
  | "keys:write"
  | "metrics:read"
  /** Acting for other people: see what they remember, answer what they are asked, make sessions in their name. */
  | "people:act";

/** Whose data a call may see: everything else does not exist for it. */
export interface Scope {
  readonly tenant: string;
  readonly project: string;
}

/** A key as it is kept. */
export interface StoredKey extends Scope {
  /** Public: the beginning of the key, which names it in lists and logs. */
  readonly id: string;
  /** SHA-256 of the secret, hex. The secret has 256 random bits, so it needs no salt and no slow hash. */
  readonly hash: string;
  /** Who uses it, like "human:ada" or "service:ci": what records of decisions name. */
  readonly identity: string;
  readonly roles: readonly Role[];
  /** Narrows what the roles allow; undefined: all of it. */
  readonly permissions: readonly Permission[] | undefined;
  /** ISO times. */
  readonly created: string;
  readonly expires: string | undefined;
  /** From when on it counts no more: a time to come when it was replaced, and still counts for a while. */
  readonly revoked: string | undefined;
  /** The key it was made from, which it replaces. */
  readonly replaces: string | undefined;
  /** Who made it: an identity. */
  readonly by: string;
  /** About when it was last used, as far as a server has said so yet. */
  readonly used: string | undefined;
}

/** One call that was let in or turned away. */
export interface AccessEntry extends Partial<Scope> {
  /** ISO time. */
  readonly at: string;
  readonly request: string;
  /** The id of the key; undefined when there was none. */
  readonly key: string | undefined;
  readonly identity: string | undefined;
  readonly method: string;
  /** The route, like "/v1/sessions/{session}", with what was asked for beside it; never a query or a body. */
  readonly route: string;
  readonly about: string | undefined;
  readonly status: number;
  /** The code of the error it was answered with. */
  readonly code: string | undefined;
}

/** An entry and its place in the log: later ones have higher numbers. */
export interface NotedEntry extends AccessEntry {
  readonly no: number;
}

/** Which keys: those of a scope, after one of them. */
export interface KeyQuery extends Partial<Scope> {
  /** The id of a key: only those that were added later. */
  readonly after?: string | undefined;
}

/** Which entries of the access log. */
export interface EntryQuery extends Partial<Scope> {
  readonly limit: number;
  /** Only those with a lower number. */
  readonly before?: number | undefined;
}

/** What of the access log is kept. */
export interface KeptEntries {
  /** An ISO time: nothing from before it. */
  readonly since: string;
  /** No more than this of each project, and of callers nobody knows: whoever makes many pushes out nobody else's. */
  readonly most: number;
}

/** Where keys and the access log are kept. */
export interface AccessStore extends AsyncDisposable {
  /** Durable when it resolves. Rejects with `access.conflict` when there is one with this id. */
  addKey(key: StoredKey): Promise<void>;
  /** Oldest first. */
  keys(query: KeyQuery): AsyncIterable<StoredKey>;
  /** The one key with this id, revoked and expired ones too. */
  key(id: string): Promise<StoredKey | undefined>;
  /** Sets when it ends or ended; an earlier end stays. Durable when it resolves. False when there is no such key. */
  endKey(id: string, end: { readonly revoked?: string | undefined; readonly expires?: string | undefined }): Promise<boolean>;
  /** Says when keys were used; a later time stays. May be lost. */
  used(uses: readonly { readonly id: string; readonly at: string }[]): Promise<void>;
  /** Adds to the access log, all or nothing. Durable when it resolves. */
  note(entries: readonly AccessEntry[]): Promise<void>;
  /** The access log of a scope, newest first; without a scope all of it, also of callers nobody knows. */
  entries(query: EntryQuery): AsyncIterable<NotedEntry>;
  /** Removes the oldest entries of the log: those from before a time, and of each project as many as are above a number. */
  trim(keep: KeptEntries): Promise<void>;
}
