/** Every route with every role, and with none: let in exactly where the role has what the route needs. */
import { expect, test } from "vitest";
import { permissionsFor, roles } from "../../src/access/permissions.ts";
import { openrath } from "../../src/openrath.ts";
import { routes } from "../../src/server/routes/routes.ts";
import { createServer } from "../../src/server/server.ts";
import { answer, call, keyFor } from "../support/guarded.ts";

/** What a role may do, written down again: a change of it is a change of who may do what. */
const allowed = {
  viewer: "sessions:read runs:read pending:read memory:read",
  operator: "sessions:read runs:read pending:read memory:read sessions:write runs:write memory:write metrics:read",
  approver: "sessions:read runs:read pending:read memory:read pending:decide",
  admin:
    "sessions:read runs:read pending:read memory:read sessions:write sessions:erase runs:write pending:decide memory:write keys:read keys:write metrics:read people:act",
};

test("roles have the permissions that are written down", () => {
  for (const role of roles)
    expect([...permissionsFor({ roles: [role], permissions: undefined })].sort()).toEqual(allowed[role].split(" ").sort());
});

test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
  "%s",
  async (_, { method, path, needs, alsoNeeds = needs, long }) => {
    await using rath = openrath({ store: "memory" });
    await using server = createServer(rath);
    // A name that nothing has, and no body: whoever is let in is told that, and nothing is done.
    const at = `${method} ${path.replaceAll(/\{\w+\}/g, "0")}`;
    const isTurnedAway = async (key: string | undefined): Promise<boolean> => {
      const response = await call(server, at, { key });
      await response.body?.cancel();
      return response.status === 401 || response.status === 403;
    };
    if (needs === "nothing") {
      // What a code is exchanged for is refused for want of a body, not of a key.
      expect(await isTurnedAway(undefined)).toBe(false);
      return;
    }
    expect([await isTurnedAway(undefined), long]).toEqual([true, long]);
    for (const role of roles) {
      const has = needs === "key" || [needs, alsoNeeds].every((one) => allowed[role].split(" ").includes(one));
      expect([role, await isTurnedAway(await keyFor(server, role))]).toEqual([role, !has]);
    }
    if (needs === "key") return;
    // A role that has it, narrowed so that it has not.
    const others = permissionsFor({ roles: ["admin"], permissions: undefined });
    for (const missing of new Set([needs, alsoNeeds])) {
      const narrowed = await keyFor(server, "admin", { permissions: [...others].filter((one) => one !== missing) });
      expect(await answer(server, at, { key: narrowed })).toMatchObject({ status: 403, body: { error: { details: { needs: missing } } } });
    }
  },
);

test("whoever may not decide may not bring decisions in from elsewhere", () => {
  expect(routes.filter(({ alsoNeeds }) => alsoNeeds === "pending:decide").map(({ name }) => name)).toEqual(["importSession"]);
});
