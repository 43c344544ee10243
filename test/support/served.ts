/** A server for tests: routes are called by name, and every answer is held against the route's schema. */
import { expect } from "vitest";
import type { Role } from "../../src/access/access.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Route } from "../../src/server/route.ts";
import { routes } from "../../src/server/routes/routes.ts";
import { createServer, type ServerOptions } from "../../src/server/server.ts";
import { keyFor, type Wanted } from "./guarded.ts";
import { local } from "./local-call.ts";

type Value = string | number | boolean | undefined;

export interface Asked {
  /** Parts of the path and, for the rest, the query. */
  readonly [name: string]: Value;
}

/** Whatever JSON came back. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Answer = any;

export interface Caller {
  /** Calls a route that answers as it should, and gives its answer. */
  ask(route: string, asked?: Asked, body?: unknown): Promise<Answer>;
  /** Calls a route that refuses, and gives the error and its status. */
  refused(
    route: string,
    asked?: Asked,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly code: string; readonly message: string; readonly details: Answer }>;
  response(route: string, asked?: Asked, body?: unknown): Promise<Response>;
}

export interface ServedRath extends Caller, AsyncDisposable {
  readonly rath: Rath;
  fetch(request: Request): Promise<Response>;
  /** Whoever has a key of this sort. */
  as(identity: string, roles: readonly Role[], wanted?: Omit<Wanted, "identity">): Promise<Caller>;
}

/** Calls come from this machine and need no key; those of `as` have one. */
export function serve(rath: Rath, options: ServerOptions = {}): ServedRath {
  const server = createServer(rath, { auth: "none-on-loopback", limits: { rate: 100_000 }, ...options });
  const fetch = (request: Request): Promise<Response> => server.fetch(request, local);
  const caller = (headers: Readonly<Record<string, string>>): Caller => callerOf(fetch, headers);
  return {
    ...caller({}),
    rath,
    fetch,
    as: async (identity, roles, wanted = {}) => caller({ authorization: `Bearer ${await keyFor(server, roles, { identity, ...wanted })}` }),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await rath.close();
    },
  };
}

export function routeNamed(name: string): Route {
  const found = routes.find((route) => route.name === name);
  if (found === undefined) throw new Error(`there is no route ${name}`);
  return found;
}

function callerOf(fetch: (request: Request) => Promise<Response>, headers: Readonly<Record<string, string>>): Caller {
  const response = (name: string, asked: Asked = {}, body?: unknown): Promise<Response> =>
    fetch(requestTo(routeNamed(name), asked, body, headers));
  return {
    response,
    ask: async (name, asked, body) => {
      const route = routeNamed(name);
      const answer = await response(name, asked, body);
      const text = await answer.text();
      expect([route.status ?? 200, route.orStatus], text).toContain(answer.status);
      if (!answer.headers.get("content-type")?.startsWith("application/json")) return text;
      const value: unknown = JSON.parse(text);
      // What a schema does not know it leaves out: then the two differ.
      expect(route.answer?.parse(value)).toEqual(value);
      return value;
    },
    refused: async (name, asked, body) => {
      const answer = await response(name, asked, body);
      const { error } = (await answer.json()) as { error: { code: string; message: string; details: unknown } };
      expect(answer.status).toBeGreaterThanOrEqual(400);
      return { status: answer.status, code: error.code, message: error.message, details: error.details };
    },
  };
}

function requestTo({ method, path }: Route, asked: Asked, body: unknown, headers: Readonly<Record<string, string>>): Request {
  const query = new URLSearchParams();
  let filled = path;
  for (const [name, value] of Object.entries(asked)) {
    if (value === undefined) continue;
    if (path.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, encodeURIComponent(wellFormed(String(value))));
    else query.append(name, String(value));
  }
  const url = `http://localhost${filled}${query.size === 0 ? "" : `?${query}`}`;
  if (body === undefined) return new Request(url, { method, headers });
  return new Request(url, { method, body: JSON.stringify(body), headers: { ...headers, "content-type": "application/json" } });
}

/** No path holds half a character. */
function wellFormed(text: string): string {
  return (text as string & { toWellFormed(): string }).toWellFormed();
}
