/** Calls about keys and who came. */
import type { Asked } from "../wire/api/asked.ts";
import type { AccessEntryResource, accessQuery, KeyBody, KeyResource, KeyRotation, NewKeyResource } from "../wire/api/key.ts";
import { at, type CallOptions } from "./call.ts";
import type { Connection } from "./connection.ts";
import type { PageQuery, Pages } from "./pages.ts";

/** Which entries of the access log. */
export type AccessQuery = Asked<typeof accessQuery>;

/**
 * Calls about the keys of the project. The secret of a key is in one answer alone: the one that made it.
 *
 * @example
 * const { keys } = connect({ url: "http://127.0.0.1:7284", key: token });
 * const { id, token: secret } = await keys.create({ identity: "service:ci", roles: ["operator"] });
 * await keys.revoke(id);
 */
export interface KeyCalls {
  /** The keys of the project, oldest first. */
  list(query?: PageQuery & CallOptions): Pages<KeyResource>;
  /** One of them. */
  get(key: string, options?: CallOptions): Promise<KeyResource>;
  /** Makes a key, and shows it once. Nobody gives more than they have. */
  create(key: KeyBody, options?: CallOptions): Promise<NewKeyResource>;
  /** Makes a key that replaces this one, which still counts for a while. */
  rotate(key: string, options?: KeyRotation & CallOptions): Promise<NewKeyResource>;
  /** Ends a key at once, and every stream that was opened with it. */
  revoke(key: string, options?: CallOptions): Promise<KeyResource>;
  /** Turns a code that somebody was invited with into a key, once. Needs no key. */
  exchange(code: string, options?: CallOptions): Promise<NewKeyResource>;
  /** Who changed something in the project or was turned away, newest first. */
  access(query?: AccessQuery & CallOptions): Pages<AccessEntryResource>;
}

export function keyCalls(connection: Connection): KeyCalls {
  return {
    list: (query) => connection.list("/v1/keys", query),
    get: async (key, options) => connection.get(at`/v1/keys/${key}`, options),
    create: async (key, options) => connection.post("/v1/keys", key, options),
    rotate: async (key, { signal, ...body } = {}) => connection.post(at`/v1/keys/${key}/rotate`, body, { signal }),
    revoke: async (key, options) => connection.delete(at`/v1/keys/${key}`, options),
    exchange: async (code, options) => connection.post("/v1/keys/exchange", { code }, options),
    access: (query) => connection.list("/v1/access", query),
  };
}
