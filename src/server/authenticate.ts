/** Who calls: the key of a call is looked up after the call arrived, so that a revoked one is refused at once, whichever process revoked it. */
import type { AccessStore, StoredKey } from "../access/access.ts";
import { endOf, isSecretOf, isValidAt, readToken } from "../access/key.ts";
import { allPermissions, permissionsFor } from "../access/permissions.ts";
import { RathError } from "../session/errors.ts";
import type { Caller } from "./caller.ts";
import type { Projects } from "./projects.ts";

/** The same words whatever is wrong: who tries keys learns nothing from them. */
export function unauthenticated(): RathError {
  return new RathError("access.unauthenticated", "This call needs a key that is valid: send it as `Authorization: Bearer rath_…`.");
}

/** Who it is; without one, the key that was tried, for the access log alone. */
export type Identified = { readonly caller: Caller } | { readonly caller: undefined; readonly tried: StoredKey | undefined };

const nobody: Identified = { caller: undefined, tried: undefined };

/**
 * Finds out who calls. Calls that arrive together with one key ask for it once, and after all of them arrived: nobody is let in by what was
 * known before.
 */
export function identifying(access: () => Promise<AccessStore>): (request: Request) => Promise<Identified> {
  const waiting = new Map<string, Promise<Identified>>();
  return async (request) => {
    const [scheme, token = "", ...rest] = (request.headers.get("authorization") ?? "").split(" ");
    const parts = scheme?.toLowerCase() === "bearer" && rest.length === 0 ? readToken(token) : undefined;
    if (parts === undefined) return nobody;
    const asked = async (): Promise<Identified> => {
      await turn();
      waiting.delete(token);
      return lookedUp(await (await access()).key(parts.id), parts.secret, new Date());
    };
    const found = waiting.get(token) ?? asked();
    waiting.set(token, found);
    return found;
  };
}

/** Everything that has arrived by now is read before it goes on. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function lookedUp(key: StoredKey | undefined, secret: string, now: Date): Identified {
  if (key === undefined || !isSecretOf(key, secret) || !isValidAt(key, now.toISOString())) return { caller: undefined, tried: key };
  const { id, tenant, project, identity, roles } = key;
  const expires = endOf(key);
  return { caller: { key: id, tenant, project, identity, roles, permissions: permissionsFor(key), expires } };
}

/** Whether a caller who was let in would be let in again: streams ask it for as long as they are open. */
export async function stillValid({ key: id }: Caller, access: () => Promise<AccessStore>, now: Date): Promise<boolean> {
  if (id === undefined) return true;
  const key = await (await access()).key(id);
  return key !== undefined && isValidAt(key, now.toISOString());
}

/** Whoever calls from this machine, where it was said that they need no key: they may do everything in the server's own project. */
export function localCaller({ own }: Projects): Caller {
  const { tenant, project } = own;
  return { key: undefined, tenant, project, identity: "human:local", roles: ["admin"], permissions: new Set(allPermissions) };
}

/** Whoever asks for what anybody may have. */
export function anybody({ own }: Projects): Caller {
  const { tenant, project } = own;
  return { key: undefined, tenant, project, identity: "anybody", roles: [], permissions: new Set() };
}
