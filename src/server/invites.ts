/** Invitations: a code that one call turns into a key, once and soon. So a link can let somebody in without a key being in it. */
import { createHash, randomBytes } from "node:crypto";
import type { Permission, Role, Scope } from "../access/access.ts";

export interface Invitation {
  readonly identity: string;
  readonly roles: readonly Role[];
  readonly permissions?: readonly Permission[] | undefined;
  /** When the key expires, an ISO time. */
  readonly expires?: string | undefined;
}

const validMs = 600_000;
const most = 100;

export class Invites {
  readonly #waiting = new Map<string, Invitation & Scope & { readonly until: number }>();

  /** A code that counts for ten minutes in this process. */
  add(invitation: Invitation & Scope, now: number): string {
    const code = randomBytes(32).toString("base64url");
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= most && oldest !== undefined) this.#waiting.delete(oldest);
    this.#waiting.set(hashOf(code), { ...invitation, until: now + validMs });
    return code;
  }

  /** What is made of what the code is for, once: nobody else can use it meanwhile. What could not be made can be tried again. */
  async use<T>(code: string, now: number, make: (invitation: Invitation & Scope) => Promise<T>): Promise<T | undefined> {
    const hash = hashOf(code);
    const found = this.#waiting.get(hash);
    this.#waiting.delete(hash);
    if (found === undefined || found.until <= now) return undefined;
    const { until: _, ...invitation } = found;
    try {
      return await make(invitation);
    } catch (error) {
      this.#waiting.set(hash, found);
      throw error;
    }
  }
}

function hashOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
