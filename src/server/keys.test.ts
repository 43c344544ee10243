/** Keys over HTTP: made once and shown once, ended at once, never more than their maker has. And the log of who came. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { accessOf, answer, call, keyFor, type Wanted } from "../../test/support/guarded.ts";
import type { Permission, Role, StoredKey } from "../access/access.ts";
import { rotateKey } from "../access/make-key.ts";
import { allPermissions, roles } from "../access/permissions.ts";
import { sqliteAccess } from "../access/sqlite.ts";
import { openrath } from "../openrath.ts";
import { RathError } from "../session/errors.ts";
import { collect } from "../testing/store-case.ts";
import { invite } from "./invite.ts";
import { servedBy } from "./served.ts";
import { createServer, type Server, type ServerOptions } from "./server.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-keys-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function open({ kept = false, ...options }: ServerOptions & { readonly kept?: boolean } = {}) {
  const path = join(folder, `store-${files++}.db`);
  const rath = openrath({ store: kept ? path : "memory" });
  const server = createServer(rath, options);
  const close = async (): Promise<void> => {
    await server.close();
    await rath.close();
  };
  return { rath, server, access: path.replace(".db", ".access.db"), path, [Symbol.asyncDispose]: close };
}

const viewer = { identity: "service:ci", roles: ["viewer"] };
interface Made {
  readonly expires?: string;
  readonly id: string;
  readonly token: string;
}
const make = async (server: Server, key: string, body: unknown = viewer): Promise<Made> => {
  const { status, body: made } = await answer(server, "POST /v1/keys", { key, body });
  expect(status).toBe(201);
  return made;
};
const reads = async (server: Server, key: string): Promise<number> => (await call(server, "GET /v1/sessions/abc", { key })).status;

describe("a key", () => {
  test("is shown once, works, and is listed without its secret", async () => {
    await using it = open();
    const admin = await keyFor(it.server);
    const { id, token } = await make(it.server, admin, { ...viewer, permissions: ["sessions:read"], expires: "2999-01-01T01:00:00+01:00" });
    expect(token.startsWith(`${id}_`)).toBe(true);
    expect(await reads(it.server, token)).toBe(404);
    const list = await call(it.server, "GET /v1/keys", { key: admin });
    const text = await list.text();
    for (const secret of [token, admin].map((one) => one.slice(16))) expect(text).not.toContain(secret);
    expect(text).not.toContain('"hash"');
    expect(JSON.parse(text).items[1]).toEqual({
      ...{ id, tenant: "default", project: "default", identity: "service:ci", roles: ["viewer"], permissions: ["sessions:read"] },
      ...{ valid: true, created: expect.any(String), by: "human:ada", expires: "2999-01-01T00:00:00.000Z" },
    });
    expect((await answer(it.server, `GET /v1/keys/${id}`, { key: admin })).body).toEqual(JSON.parse(text).items[1]);
  });

  test("that is revoked is refused at once, also by a process that knew it, and its streams know", async () => {
    await using it = open({ kept: true });
    await using rath = openrath({ store: it.path });
    await using other = createServer(rath);
    const admin = await keyFor(it.server);
    const { id, token } = await make(it.server, admin);
    expect([await reads(it.server, token), await reads(other, token)]).toEqual([404, 404]);
    const caller = { key: id, tenant: "default", project: "default", identity: "", roles: [], permissions: new Set<never>() };
    expect(await servedBy(other).stillValid(caller)).toBe(true);
    const { status, body } = await answer(it.server, `DELETE /v1/keys/${id}`, { key: admin });
    expect([status, body]).toMatchObject([200, { id, valid: false, revoked: expect.any(String) }]);
    expect([await reads(it.server, token), await reads(other, token)]).toEqual([401, 401]);
    expect(await servedBy(other).stillValid(caller)).toBe(false);
    expect(await servedBy(other).stillValid({ ...caller, key: undefined })).toBe(true);
  });

  test("that expired, or is another's with the same id, is refused with the same words as one that never was", async () => {
    await using it = open();
    const ago = (ms: number): Date => new Date(Date.now() - ms);
    const expired = await keyFor(it.server, "admin", { expires: ago(1).toISOString() }, ago(60_000));
    const good = await keyFor(it.server);
    const tried = [
      expired,
      `${good.slice(0, -1)}${good.endsWith("A") ? "B" : "A"}`,
      good.slice(0, 15),
      "",
      "x".repeat(5000),
      `${good} x`,
      `rath_${"a".repeat(10)}_${"b".repeat(43)}`,
    ];
    const answers = await Promise.all(tried.map((key) => answer(it.server, "GET /v1/keys", { key })));
    for (const one of answers) expect(one).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 401, body: { error: { code: "access.unauthenticated" } } });
    expect((await call(it.server, "GET /v1/keys", { headers: { authorization: `Basic ${good}` } })).status).toBe(401);
    expect((await call(it.server, "GET /v1/keys", { key: good })).status).toBe(200);
  });

  test("that is rotated is replaced by one that may do the same, and counts on for a while", async () => {
    await using it = open();
    const admin = await keyFor(it.server);
    const old = await make(it.server, admin, { ...viewer, permissions: ["sessions:read"] });
    const at = `POST /v1/keys/${old.id}/rotate`;
    const kept = await answer(it.server, at, { key: admin, body: { graceSeconds: 60 } });
    expect(kept).toMatchObject({
      status: 201,
      body: { identity: "service:ci", roles: ["viewer"], permissions: ["sessions:read"], replaces: old.id },
    });
    expect([await reads(it.server, old.token), await reads(it.server, (kept.body as Made).token)]).toEqual([404, 404]);
    expect((await answer(it.server, `GET /v1/keys/${old.id}`, { key: admin })).body).toMatchObject({
      valid: true,
      revoked: expect.any(String),
    });
    const next = await answer(it.server, at, { key: admin, body: { graceSeconds: 0 } });
    expect([await reads(it.server, old.token), await reads(it.server, (next.body as Made).token)]).toEqual([401, 404]);
    // There is nothing left to replace.
    expect((await answer(it.server, at, { key: admin, body: {} })).status).toBe(409);
  });

  test.each<readonly [string, Role, Wanted, object]>([
    ["another role", "admin", { permissions: ["keys:write"] }, { roles: ["admin"] }],
    ["what was narrowed away", "admin", { permissions: ["keys:write", "runs:read"] }, { roles: ["viewer"] }],
    [
      "what was narrowed away, named",
      "admin",
      { permissions: ["keys:write", "runs:read"] },
      { roles: ["admin"], permissions: ["keys:write", "keys:read"] },
    ],
  ])("cannot be given more than its maker has: %s", async (_, role, wanted, asked) => {
    await using it = open();
    const key = await keyFor(it.server, role, wanted);
    const refused = await answer(it.server, "POST /v1/keys", { key, body: { identity: "human:eve", ...asked } });
    expect(refused).toMatchObject({
      status: 403,
      body: { error: { code: "access.forbidden", message: expect.stringContaining("more than its maker has") } },
    });
    expect(await collect((await accessOf(it.server)).keys({}))).toHaveLength(1);
    const less = { identity: "human:ada", roles: ["admin"], permissions: ["keys:write"] };
    expect((await answer(it.server, "POST /v1/keys", { key, body: less })).status).toBe(201);
  });

  // Mutants: the identity is not looked at; the roles are not; rotating looks at neither.
  test("is made in another's name, or with a role its maker has not, by who acts for people alone", async () => {
    await using it = open();
    const permissions: Permission[] = ["keys:write", "pending:read", "pending:decide"];
    const narrowed = await keyFor(it.server, "admin", { identity: "human:bo", permissions });
    const acting = await keyFor(it.server, "admin", { identity: "human:bo", permissions: [...permissions, "people:act"] });
    const decides = { permissions: ["pending:decide"] };
    const boss = await make(it.server, acting, { identity: "human:boss", roles: ["approver"], ...decides });
    const own = await make(it.server, acting, { identity: "human:bo", roles: ["admin"], ...decides });
    const status = async (at: string, body: object, key = narrowed): Promise<number> => (await answer(it.server, at, { key, body })).status;
    for (const [body, expected] of [
      [{ identity: "human:boss", roles: ["admin"], ...decides }, 403],
      [{ identity: "human:bo", roles: ["approver"], ...decides }, 403],
      [{ identity: "human:bo", roles: ["admin", "approver"], ...decides }, 403],
      [{ identity: "human:bo", roles: ["admin"], ...decides }, 201],
    ] as const) {
      expect([body, await status("POST /v1/keys", body)]).toEqual([body, expected]);
      expect(await status("POST /v1/keys", body, acting)).toBe(201);
    }
    const refused = await answer(it.server, `POST /v1/keys/${boss.id}/rotate`, { key: narrowed, body: {} });
    expect(refused).toMatchObject({ status: 403, body: { error: { code: "access.forbidden", details: { needs: "people:act" } } } });
    expect(await status(`POST /v1/keys/${own.id}/rotate`, {})).toBe(201);
    expect(await status(`POST /v1/keys/${boss.id}/rotate`, {}, acting)).toBe(201);
  });

  // Mutants: the maker's end is not looked at; a rotated key has no end.
  test("that is made never outlives its maker, and one that is rotated ends when it would have", async () => {
    await using it = open();
    const [end, later] = ["2999-01-01T00:00:00.000Z", "2999-01-01T00:00:00.001Z"];
    const maker = await keyFor(it.server, "admin", { expires: end });
    const lasting = await make(it.server, await keyFor(it.server), viewer);
    expect(lasting).not.toHaveProperty("expires");
    expect(await make(it.server, maker, viewer)).toMatchObject({ expires: end });
    expect(await make(it.server, maker, { ...viewer, expires: "2998-01-01T00:00:00Z" })).toMatchObject({
      expires: "2998-01-01T00:00:00.000Z",
    });
    const rotate = (key: string, id: string, body: object) => answer(it.server, `POST /v1/keys/${id}/rotate`, { key, body });
    for (const refused of [
      await answer(it.server, "POST /v1/keys", { key: maker, body: { ...viewer, expires: later } }),
      await rotate(maker, lasting.id, { expires: later }),
    ])
      expect(refused).toMatchObject({ status: 403, body: { error: { code: "access.forbidden", details: { expires: end } } } });
    expect(await rotate(maker, lasting.id, {})).toMatchObject({ status: 201, body: { expires: end } });
    expect(await rotate(maker, maker.slice(0, 15), {})).toMatchObject({ status: 201, body: { expires: end } });
    const root = await keyFor(it.server);
    const short = await make(it.server, root, { ...viewer, expires: end });
    const access = await accessOf(it.server);
    const stored = (await access.key(short.id)) as StoredKey;
    expect((await rotateKey(access, stored, { graceMs: 1000, by: "human:here" }, new Date())).key.expires).toBe(end);
    const alike = await make(it.server, root, { ...viewer, expires: end });
    expect(await rotate(root, alike.id, {})).toMatchObject({ status: 201, body: { expires: end } });
    const again = await make(it.server, root, { ...viewer, expires: end });
    expect(await rotate(root, again.id, { expires: later })).toMatchObject({ status: 201, body: { expires: later } });
  });

  // Mutants: the grace is kept as the end of the old key; the end of a caller is what it was before it was replaced.
  test("that is rotated twice within its grace is replaced by one that ends when the first would have", async () => {
    await using it = open();
    const [end, root] = ["2999-01-01T00:00:00.000Z", await keyFor(it.server)];
    for (const expires of [end, undefined]) {
      const old = await make(it.server, root, { ...viewer, expires });
      const rotate = () => answer(it.server, `POST /v1/keys/${old.id}/rotate`, { key: root, body: { graceSeconds: 60 } });
      for (const { status, body } of [await rotate(), await rotate()])
        expect([status, (body as { expires?: string }).expires]).toEqual([201, expires]);
    }
    const maker = await keyFor(it.server);
    await answer(it.server, `POST /v1/keys/${maker.slice(0, 15)}/rotate`, { key: root, body: { graceSeconds: 60 } });
    const left = Date.parse((await make(it.server, maker, viewer)).expires as string) - Date.now();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(60_000);
  });

  test("that may do more cannot be taken by rotating it", async () => {
    await using it = open();
    const [admin, maker] = [await keyFor(it.server), await keyFor(it.server, "admin", { permissions: ["keys:write"] })];
    const { status } = await answer(it.server, `POST /v1/keys/${admin.slice(0, 15)}/rotate`, { key: maker, body: {} });
    expect([status, await reads(it.server, admin)]).toEqual([403, 404]);
  });

  test.each<readonly [string, unknown]>([
    ["a role that is none", { identity: "human:x", roles: ["root"] }],
    ["no role", { identity: "human:x", roles: [] }],
    ["nobody", { identity: "x", roles: ["viewer"] }],
    ["a name that cannot be seen", { identity: "human:\u202ex", roles: ["viewer"] }],
    ["a name with a NUL", { identity: "human:a\0b", roles: ["viewer"] }],
    ["half a character", '{"identity":"human:\\ud800","roles":["viewer"]}'],
    ["the past", { ...viewer, expires: "2020-01-01T00:00:00Z" }],
    ["no time", { ...viewer, expires: "soon" }],
    ["another project", { ...viewer, project: "other" }],
    ["a permission the roles do not have", { ...viewer, permissions: ["keys:write"] }],
    ["a list", []],
  ])("is not made of %s", async (_, body) => {
    await using it = open();
    const key = await keyFor(it.server);
    expect(await answer(it.server, "POST /v1/keys", { key, body })).toMatchObject({ status: 400 });
  });

  test("of another project does not exist for an admin", async () => {
    await using it = open({ kept: true });
    const [mine, other] = [await keyFor(it.server), await keyFor(it.server, "admin", { project: "other" })];
    const id = other.slice(0, 15);
    for (const [at, body] of [[`GET /v1/keys/${id}`], [`DELETE /v1/keys/${id}`], [`POST /v1/keys/${id}/rotate`, {}]] as const)
      expect(await answer(it.server, at, { key: mine, body })).toMatchObject({
        status: 404,
        body: { error: { code: "access.not-found" } },
      });
    expect(JSON.stringify((await answer(it.server, "GET /v1/keys", { key: mine })).body)).not.toContain(id);
    expect((await call(it.server, "GET /v1/keys", { key: other })).status).toBe(200);
  });

  test("lists go on where the page before ended", async () => {
    await using it = open();
    const admin = await keyFor(it.server);
    const ids = [admin.slice(0, 15)];
    for (let n = 0; n < 5; n++) ids.push((await make(it.server, admin)).id);
    const found: string[] = [];
    for (let next: string | undefined = ""; next !== undefined; ) {
      const { body } = await answer(it.server, `GET /v1/keys?limit=2${next === "" ? "" : `&after=${next}`}`, { key: admin });
      const page = body as { readonly items: readonly Made[]; readonly next?: string };
      found.push(...page.items.map(({ id }) => id));
      next = page.next;
    }
    expect(found).toEqual(ids);
    for (const query of ["limit=0", "limit=501", "limit=x", "limit=1&limit=2", "other=1"])
      expect((await call(it.server, `GET /v1/keys?${query}`, { key: admin })).status).toBe(400);
  });

  test("has the words that the library has", () => {
    // A schema that forgot one would refuse it.
    expect([roles.length, allPermissions.length]).toEqual([4, 13]);
  });
});

describe("an invitation", () => {
  const exchange = (server: Server, code: string) => answer(server, "POST /v1/keys/exchange", { body: { code } });

  test("becomes a key once, whoever comes first", async () => {
    await using it = open();
    const code = invite(it.server, { identity: "human:here", roles: ["admin"], expires: "2999-01-01T00:00:00Z" });
    const both = await Promise.all([exchange(it.server, code), exchange(it.server, code), exchange(it.server, `${code}x`)]);
    expect(both.map(({ status }) => status)).toEqual([201, 401, 401]);
    expect(both[0]?.body).toMatchObject({
      identity: "human:here",
      roles: ["admin"],
      expires: "2999-01-01T00:00:00.000Z",
      by: "invitation",
    });
    const made = both[0]?.body as Made | undefined;
    expect(await reads(it.server, made?.token ?? "")).toBe(404);
  });

  // Mutant: what is taken is gone, whatever becomes of it.
  test("counts again when its key could not be stored", async () => {
    await using it = open();
    const code = invite(it.server, { identity: "human:here", roles: ["viewer"] });
    const access = await accessOf(it.server);
    const { addKey } = access;
    Object.assign(access, { addKey: () => Promise.reject(new RathError("store.unavailable", "away", { retryable: true })) });
    expect((await exchange(it.server, code)).status).toBe(503);
    Object.assign(access, { addKey });
    expect([(await exchange(it.server, code)).status, (await exchange(it.server, code)).status]).toEqual([201, 401]);
  });

  test("counts for ten minutes", async () => {
    const { invites } = servedBy(open().server);
    const use = (code: string, now: number) => invites.use(code, now, async ({ identity }) => identity);
    const scope = { tenant: "default", project: "default", identity: "human:x", roles: ["viewer"] as const };
    const [early, late] = [invites.add(scope, 0), invites.add(scope, 0)];
    expect([await use(early, 599_999), await use(late, 600_000), await use(late, 1)]).toEqual(["human:x", undefined, undefined]);
  });
});

describe("the access log", () => {
  test("has who changed something, who was turned away, and who read keys; newest first, and never a secret", async () => {
    await using it = open({ kept: true });
    const [admin, viewing] = [await keyFor(it.server), await keyFor(it.server, "viewer")];
    const { id, token } = await make(it.server, admin);
    await call(it.server, `GET /v1/keys/${id}?hidden=${token}`, { key: admin });
    await call(it.server, "GET /v1/keys", { key: viewing });
    await call(it.server, `GET /v1/sessions/${"a".repeat(32)}`, { key: viewing });
    await call(it.server, "GET /v1/health");
    await call(it.server, `DELETE /v1/keys/${id}`, { key: admin, headers: { "x-request-id": "mine" } });
    await call(it.server, "GET /v1/sessions/abc", { key: token });
    await call(it.server, "GET /v1/sessions/abc", { key: `rath_${"a".repeat(10)}_${"b".repeat(43)}` });
    await call(it.server, "POST /v1/keys", { key: admin, body: { secret: token } });
    await it.server.close();
    await using access = sqliteAccess(it.access);
    const entries = await collect(access.entries({ limit: 100 }));
    expect(JSON.stringify(entries)).not.toContain(token.slice(16));
    expect(
      entries.map(({ identity = "-", method, route, about = "-", status, tenant = "-" }) =>
        [identity, method, route, about, status, tenant].join(" "),
      ),
    ).toEqual([
      "human:ada POST /v1/keys - 400 default",
      "- GET /v1/sessions/{session} session=abc 401 -",
      "service:ci GET /v1/sessions/{session} session=abc 401 default",
      `human:ada DELETE /v1/keys/{key} key=${id} 200 default`,
      "human:ada GET /v1/keys - 403 default",
      `human:ada GET /v1/keys/{key} key=${id} 400 default`,
      "human:ada POST /v1/keys - 201 default",
    ]);
    expect(entries.find(({ method }) => method === "DELETE")).toMatchObject({ request: "mine", key: admin.slice(0, 15) });
    // Whose keys were used is known too.
    expect((await access.key(admin.slice(0, 15)))?.used).toMatch(/^2/);
    expect((await access.key(id))?.used).toBe(undefined);
  });

  test("is read by the project it is about, page by page", async () => {
    await using it = open({ kept: true });
    const [mine, other] = [await keyFor(it.server), await keyFor(it.server, "admin", { project: "other" })];
    for (const key of [mine, other, mine, mine]) await make(it.server, key);
    await expect.poll(async () => (await collect((await accessOf(it.server)).entries({ limit: 9 }))).length).toBe(4);
    const first = (await answer(it.server, "GET /v1/access?limit=2", { key: mine })).body as {
      readonly items: readonly object[];
      readonly next: string;
    };
    const second = (await answer(it.server, `GET /v1/access?limit=2&after=${first.next}`, { key: mine })).body as typeof first;
    expect([first.items.length, second.items.length, second.next]).toEqual([2, 1, undefined]);
    expect([...first.items, ...second.items].every((one) => (one as { key: string }).key === mine.slice(0, 15))).toBe(true);
    expect((await call(it.server, "GET /v1/access", { key: await keyFor(it.server, "operator") })).status).toBe(403);
  });
});
