/**
 * Keys of the caller's own project, and the log of who came. Nobody gives more than they have, nor a key in another's name unless they act
 * for people, and no key reaches another project.
 */
import { z } from "@hono/zod-openapi";
import type { AccessStore, StoredKey } from "../../access/access.ts";
import { isValidAt } from "../../access/key.ts";
import { endNoLater, type MadeKey, makeKey, refuseMore, rotateKey } from "../../access/make-key.ts";
import { RathError } from "../../session/errors.ts";
import {
  accessEntry,
  accessQuery,
  exchangeBody,
  type KeyResource,
  keyBody,
  keyId,
  keyResource,
  type NewKeyResource,
  newKeyResource,
  rotateBody,
} from "../../wire/api/key.ts";
import { pageOf, pageQuery } from "../../wire/api/page.ts";
import { unauthenticated } from "../authenticate.ts";
import type { Caller } from "../caller.ts";
import { route } from "../route.ts";

export const listKeys = route({
  name: "listKeys",
  at: "GET /v1/keys",
  needs: "keys:read",
  summary: "The keys of the project, oldest first; never their secrets",
  query: z.strictObject(pageQuery),
  answer: pageOf(keyResource),
  handle: async ({ server, caller: { tenant, project }, query: { limit, after } }) => {
    const items: KeyResource[] = [];
    for await (const key of (await server.access()).keys({ tenant, project, after })) {
      // One more is there: it begins the next page.
      if (items.length === limit) return { items, next: items.at(-1)?.id };
      items.push(resourceOf(key));
    }
    return { items };
  },
});

export const getKey = route({
  name: "getKey",
  at: "GET /v1/keys/{key}",
  needs: "keys:read",
  summary: "A key; never its secret",
  params: z.object({ key: keyId }),
  answer: keyResource,
  handle: async ({ server, caller, params }) => resourceOf(await ownKey(await server.access(), caller, params.key)),
});

export const createKey = route({
  name: "createKey",
  at: "POST /v1/keys",
  needs: "keys:write",
  summary: "Makes a key of this project, and shows it once",
  body: keyBody,
  answer: newKeyResource,
  status: 201,
  handle: async ({ server, caller, body }) => {
    refuseMore({ ...body, permissions: body.permissions }, caller);
    const { tenant, project, identity: by } = caller;
    const expires = endNoLater(body.expires, caller.expires);
    return shown(await makeKey(await server.access(), { ...body, tenant, project, by, expires }, new Date()));
  },
});

export const revokeKey = route({
  name: "revokeKey",
  at: "DELETE /v1/keys/{key}",
  needs: "keys:write",
  summary: "Ends a key at once, and every stream that was opened with it",
  params: z.object({ key: keyId }),
  answer: keyResource,
  handle: async ({ server, caller, params }) => {
    const access = await server.access();
    const { id } = await ownKey(access, caller, params.key);
    await access.endKey(id, { revoked: new Date().toISOString() });
    return resourceOf(await ownKey(access, caller, id));
  },
});

export const rotate = route({
  name: "rotateKey",
  at: "POST /v1/keys/{key}/rotate",
  needs: "keys:write",
  summary: "Makes a key that replaces this one, which still counts for a while",
  params: z.object({ key: keyId }),
  body: rotateBody,
  answer: newKeyResource,
  status: 201,
  handle: async ({ server, caller, params, body }) => {
    const access = await server.access();
    const old = await ownKey(access, caller, params.key);
    refuseMore(old, caller);
    const expires = endNoLater(body.expires, caller.expires, old.expires);
    const rotation = { graceMs: body.graceSeconds * 1000, expires, by: caller.identity };
    return shown(await rotateKey(access, old, rotation, new Date()));
  },
});

export const exchangeCode = route({
  name: "exchangeCode",
  at: "POST /v1/keys/exchange",
  needs: "nothing",
  summary: "Turns a code that somebody was invited with into a key, once",
  body: exchangeBody,
  answer: newKeyResource,
  status: 201,
  handle: async ({ server, body: { code } }) => {
    const made = await server.invites.use(code, Date.now(), async (invited) =>
      makeKey(await server.access(), { ...invited, by: "invitation" }, new Date()),
    );
    if (made === undefined) throw unauthenticated();
    return shown(made);
  },
});

export const listAccess = route({
  name: "listAccess",
  at: "GET /v1/access",
  needs: "keys:read",
  summary: "Who changed something in the project or was turned away, newest first",
  query: accessQuery,
  answer: pageOf(accessEntry),
  handle: async ({ server, caller: { tenant, project }, query: { limit, after } }) => {
    const before = after === undefined ? undefined : Number(after);
    const items: z.input<typeof accessEntry>[] = [];
    for await (const { tenant: _, project: __, ...entry } of (await server.access()).entries({ tenant, project, limit, before }))
      items.push(entry);
    const last = items.at(-1);
    return { items, ...(items.length < limit || last === undefined ? {} : { next: `${last.no}` }) };
  },
});

/** A key of another project does not exist. */
async function ownKey(access: AccessStore, { tenant, project }: Caller, id: string): Promise<StoredKey> {
  const key = await access.key(id);
  if (key !== undefined && key.tenant === tenant && key.project === project) return key;
  throw new RathError("access.not-found", `There is no key ${id} in this project.`, { details: { key: id } });
}

function shown({ token, key }: MadeKey): NewKeyResource {
  return { ...resourceOf(key), token };
}

function resourceOf({ hash: _, roles, permissions, ...key }: StoredKey): KeyResource {
  return {
    ...{ ...key, roles: [...roles], valid: isValidAt(key, new Date().toISOString()) },
    ...(permissions === undefined ? {} : { permissions: [...permissions] }),
  };
}
