/** A server to test, and calls to it. */
import type { AccessStore, Permission, Role, Scope } from "../../src/access/access.ts";
import { makeKey } from "../../src/access/make-key.ts";
import { servedBy } from "../../src/server/served.ts";
import type { Server } from "../../src/server/server.ts";
import { local } from "./local-call.ts";

export const origin = "http://localhost:7284";

export interface Asked {
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the adapter gives; a call from this machine unless told otherwise. */
  readonly env?: unknown;
}

/** `call(server, "GET /v1/keys", { key })`. */
export async function call(server: Server, at: string, { key, body, headers = {}, env = local }: Asked = {}): Promise<Response> {
  const [method = "GET", path = "/"] = at.split(" ");
  const request = new Request(`${origin}${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return server.fetch(request, env);
}

/** Status and body. */
export async function answer(server: Server, at: string, asked: Asked = {}): Promise<{ readonly status: number; readonly body: never }> {
  const response = await call(server, at, asked);
  const text = await response.text();
  return { status: response.status, body: (text === "" ? undefined : JSON.parse(text)) as never };
}

export interface Wanted extends Partial<Scope> {
  readonly identity?: string;
  readonly permissions?: readonly Permission[];
  readonly expires?: string;
}

/** A key for a server, made as whoever operates it does, now or then. */
export async function keyFor(
  server: Server,
  role: Role | readonly Role[] = "admin",
  wanted: Wanted = {},
  made = new Date(),
): Promise<string> {
  const { projects, access } = servedBy(server);
  const { tenant, project } = projects.own;
  const asked = { tenant, project, identity: "human:ada", by: "test", ...wanted, roles: typeof role === "string" ? [role] : role };
  return (await makeKey(await access(), asked, made)).token;
}

export function accessOf(server: Server): Promise<AccessStore> {
  return servedBy(server).access();
}
