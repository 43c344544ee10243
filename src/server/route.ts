/**
 * A route: what it is called, what it takes, what it answers and who may call it, in one place. The OpenAPI document is made from the
 * same schemas that calls are checked with. Handlers know nothing of HTTP: they get a call and give a value.
 */
import type { z } from "@hono/zod-openapi";
import type { Permission } from "../access/access.ts";
import { RathError } from "../session/errors.ts";
import type { Caller } from "./caller.ts";
import type { Project } from "./projects.ts";
import type { Served } from "./served.ts";

type Shape = z.ZodObject;
type Given<S extends z.ZodType | undefined> = S extends z.ZodType ? z.infer<S> : undefined;
/**
 * An answer is only read: values of the library, whose lists nobody may change, are answers as they are. What a schema leaves open need
 * not be an index signature.
 */
type Sent<T> = T extends readonly (infer Item)[]
  ? readonly Sent<Item>[]
  : T extends object
    ? { readonly [K in keyof T as string extends K ? never : K]: Sent<T[K]> }
    : T;

/** What a handler gets: everything checked, and the project of whoever calls. Nothing of other projects can be reached from it. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> extends Project {
  /** Names the call in answers and logs. */
  readonly id: string;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  readonly server: Served;
  /** For what is not in the schemas: headers, and bodies that are not JSON. */
  readonly request: Request;
  /** Aborted when the caller leaves, the time of the call is over, or the server is closed. */
  readonly signal: AbortSignal;
}

export interface RouteOptions<
  Params extends Shape | undefined,
  Query extends Shape | undefined,
  Body extends z.ZodType | undefined,
  Answer extends z.ZodType | undefined,
> {
  /** The name of the operation, unique: what clients and documents call it. */
  readonly name: string;
  /** Like "GET /v1/sessions/{session}". */
  readonly at: `${"GET" | "POST" | "PUT" | "DELETE"} /${string}`;
  /** What the caller must be allowed to do; "key": nothing but to have a key; "nothing": anybody may call it, without one. */
  readonly needs: Permission | "key" | "nothing";
  /** A second thing that the caller must be allowed to do. */
  readonly alsoNeeds?: Permission;
  readonly summary: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** What a body that is not JSON is. */
  readonly takes?: string;
  /** The schema of what it answers with; without one its `media` type says what comes. */
  readonly answer?: Answer;
  readonly media?: string;
  /** 200 when left out; 204 has no answer. */
  readonly status?: 200 | 201 | 202 | 204;
  /** Another status under which the same comes: it was there already, or is not there yet. */
  readonly orStatus?: 200 | 202;
  /** What comes under that one, where it is not the same. */
  readonly orAnswer?: z.ZodType;
  /** Takes as long as it takes: a stream, a download, or a question to everything on record. */
  readonly long?: boolean;
  /** The answer, or a Response where it is not JSON. */
  readonly handle: (
    call: Call<Given<Params>, Given<Query>, Given<Body>>,
  ) => Promise<(Answer extends z.ZodType ? Sent<z.input<Answer>> : undefined) | Response>;
}

/** A route as the server keeps it. */
export type Route = Omit<RouteOptions<Shape | undefined, Shape | undefined, z.ZodType | undefined, z.ZodType | undefined>, "handle"> & {
  readonly method: string;
  readonly path: string;
  readonly handle: (call: Call) => Promise<unknown>;
};

export function route<
  Params extends Shape | undefined = undefined,
  Query extends Shape | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  Answer extends z.ZodType | undefined = undefined,
>(options: RouteOptions<Params, Query, Body, Answer>): Route {
  const [method, path] = options.at.split(" ") as [string, string];
  return { ...options, method, path, handle: options.handle as unknown as Route["handle"] };
}

/** Checks a part of a call, and says everything that is wrong with it at once. */
export function checked(schema: z.ZodType | undefined, value: unknown, part: "path" | "query" | "body"): unknown {
  if (schema === undefined) return undefined;
  const result = parsed(schema, value, part);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 20).map(({ path, message }) => ({ at: [part, ...path].map(String).join("."), message }));
  throw new RathError("request.invalid", problems.map(({ at, message }) => `${at}: ${message}`).join("; "), { details: { problems } });
}

/** Checks may trip over what was made for it, like a length that is an object without a number: that is no value of any schema. */
function parsed(schema: z.ZodType, value: unknown, part: string): z.ZodSafeParseResult<unknown> {
  try {
    return schema.safeParse(value);
  } catch (cause) {
    throw new RathError("request.invalid", `${part}: is not what is taken here.`, { cause });
  }
}
