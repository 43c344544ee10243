/** The OpenAPI document of the routes, from the schemas that calls are checked with. */
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { version } from "../runtime/version.ts";
import { errorBody } from "../wire/api/error-body.ts";
import type { Route } from "./route.ts";

const orWords = { 200: "It was done before.", 202: "It is not there yet." } as const;
const json = (schema: z.ZodType) => ({ "application/json": { schema } });

export function describeRoutes(app: OpenAPIHono, routes: readonly Route[]): object {
  const registry = app.openAPIRegistry;
  if (registry.definitions.length === 0) {
    registry.registerComponent("securitySchemes", "key", { type: "http", scheme: "bearer", description: "A key: rath_…" });
    for (const route of routes) registry.registerPath(described(route));
  }
  return app.getOpenAPI31Document({ openapi: "3.1.0", info: { title: "OpenRath", version: version() }, servers: [{ url: "/" }] });
}

function described(route: Route): Parameters<OpenAPIHono["openAPIRegistry"]["registerPath"]>[0] {
  const { name, method, path, summary, needs, alsoNeeds, params, query, body, takes, answer, media, status = 200 } = route;
  const { orStatus, orAnswer } = route;
  const content = answer !== undefined ? json(answer) : media === undefined ? undefined : { [media]: { schema: z.string() } };
  const orContent = orAnswer === undefined ? content : json(orAnswer);
  const given = body !== undefined ? json(body) : takes === undefined ? undefined : { [takes]: { schema: z.string() } };
  return {
    operationId: name,
    method: method.toLowerCase() as "get",
    path,
    summary,
    tags: [path.split("/")[2] ?? "server"],
    ...(needs === "nothing"
      ? { security: [] }
      : { security: [{ key: needs === "key" ? [] : [needs, ...(alsoNeeds === undefined ? [] : [alsoNeeds])] }] }),
    request: {
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(given === undefined ? {} : { body: { required: body?.safeParse({}).success !== true, content: given } }),
    },
    responses: {
      [status]: { description: "It was done.", ...(content === undefined || status === 204 ? {} : { content }) },
      ...(orStatus === undefined ? {} : { [orStatus]: { description: orWords[orStatus], ...(orContent && { content: orContent }) } }),
      default: { description: "It was not done, and why.", content: json(errorBody) },
    },
  };
}
