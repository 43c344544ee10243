/** What the commands about keys print, on a terminal and piped. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { makeKey } from "../../src/access/make-key.ts";
import { sqliteAccess } from "../../src/access/sqlite.ts";
import { type Open, projectOf } from "../../src/cli/project.ts";
import { openrath } from "../../src/openrath.ts";
import { goldenFiles, type Line, lineOf } from "./golden.ts";

interface World {
  readonly store: Open;
  readonly ada: string;
  readonly ci: string;
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-keys-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let worlds = 0;
const at = (minutes: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minutes));

/** A key of a person, one of a service that expired, one of another project, and what they did. */
async function makeWorld(): Promise<World> {
  const file = join(folder, `${worlds++}.db`);
  await using access = sqliteAccess(file.replace(".db", ".access.db"));
  const scope = { tenant: "default", project: "default", by: "human:root" };
  const ada = await makeKey(access, { ...scope, identity: "human:ada", roles: ["operator", "approver"] }, at(0));
  const ci = await makeKey(
    access,
    { ...scope, identity: "service:ci", roles: ["viewer"], permissions: ["runs:read"], expires: at(4).toISOString() },
    at(1),
  );
  await makeKey(access, { ...scope, project: "lab", identity: "human:eve", roles: ["admin"] }, at(2));
  await access.used([{ id: ada.key.id, at: at(3).toISOString() }]);
  const call = { request: "r1", method: "POST", route: "/v1/sessions/{session}/fork", about: "session=0123", status: 201, code: undefined };
  await access.note([
    { ...call, at: at(3).toISOString(), key: ada.key.id, identity: "human:ada", tenant: "default", project: "default" },
    { ...call, at: at(4).toISOString(), key: undefined, identity: undefined, status: 401, code: "access.unauthenticated" },
  ]);
  return { store: () => projectOf(openrath({ store: file }), undefined), ada: ada.token, ci: ci.key.id };
}

const line = lineOf<World>();
const files: Readonly<Record<string, readonly Line<World>[]>> = {
  keys: [
    line(() => ["keys", "create", "--role", "operator"]),
    line(() => [
      "keys",
      "create",
      "--role",
      "viewer",
      "--role",
      "approver",
      "--identity",
      "service:ci",
      "--expires",
      "30d",
      "--project",
      "lab",
    ]),
    line(() => ["keys", "create", "--role", "admin", "--permission", "keys:read", "--json"], { only: "piped" }),
    line(() => ["keys", "create", "--role", "root"]),
    line(() => ["keys", "create", "--role", "viewer", "--permission", "keys:write"]),
    line(() => ["keys", "create", "--role", "viewer", "--expires", "soon"]),
    line(() => ["keys", "create", "--role", "viewer", "--identity", "ada"]),
    line(() => ["keys", "create"]),
  ],
  "keys-ls": [
    line(() => ["keys", "ls"]),
    line(() => ["keys", "ls", "--all"]),
    line(() => ["keys", "ls", "--project", "none"]),
    line(() => ["keys", "ls", "--jsonl"], { only: "piped" }),
    line(() => ["keys", "log"]),
    line(() => ["keys", "log", "--all", "--limit", "5"]),
    line(() => ["keys", "log", "--all", "--jsonl", "-n", "1"], { only: "piped" }),
    line((world) => ["keys", "revoke", world.ada], { only: "terminal" }),
    line(() => ["keys", "ls"], { only: "terminal" }),
    line((world) => ["keys", "rotate", world.ada], { only: "terminal" }),
    line((world) => ["keys", "rotate", world.ada.slice(0, 15), "--grace", "10m"]),
    line((world) => ["keys", "rotate", world.ada, "--grace", "soon"]),
    line((world) => ["keys", "revoke", world.ci, "--json"], { only: "piped" }),
    line(() => ["keys", "revoke", "rath_1111111111"]),
    line(() => ["keys", "revoke", "rath_"]),
    line(() => ["keys", "--help"], { only: "terminal" }),
    line(() => ["keys", "create", "--help"], { only: "terminal" }),
  ],
};

goldenFiles(files, makeWorld);

const inMemory: Open = () => projectOf(openrath({ store: "memory" }), undefined);
goldenFiles({ "keys-memory": [line(() => ["keys", "create", "--role", "viewer"])] }, async () => ({
  ...(await makeWorld()),
  store: inMemory,
}));
