/** The Model Context Protocol over HTTP. */
import { mcpSdk, mcpServer, noteTurnedAway } from "../mcp.ts";
import { readBytes } from "../read-body.ts";
import { type Route, route } from "../route.ts";
import { parseStrictly } from "../strict-json.ts";

/** `routes` are those that may be tools. */
export const mcp = (routes: readonly Route[]): Route =>
  route({
    name: "mcp",
    at: "POST /mcp",
    needs: "sessions:read",
    summary: "The routes as tools for models, and sessions as resources, over the Model Context Protocol",
    takes: "application/json",
    media: "application/json",
    long: true,
    handle: async ({ id, request, server, caller, signal, rath, runtime, tenant, project }) => {
      const sdk = await mcpSdk();
      // Read once: whoever reads it next is given what was read here.
      const parsedBody = parseStrictly(await readBytes(request, server.limits.body));
      // The older protocol takes many messages in one call: each counts as one.
      const messages: readonly unknown[] = Array.isArray(parsedBody) ? parsedBody : [parsedBody];
      for (let more = messages.length - 1; more > 0; more--) await server.rates.call(caller.key, undefined);
      const from = { id, server, caller, project: { rath, runtime, tenant, project } };
      noteTurnedAway(routes, from, messages);
      const handler = sdk.createMcpHandler(() => mcpServer(sdk, routes, from));
      const { url, method, headers } = request;
      return handler.fetch(new Request(url, { method, headers, signal }), { parsedBody });
    },
  });
