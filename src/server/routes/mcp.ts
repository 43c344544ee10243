/** The Model Context Protocol over HTTP. */
import { mcpSdk, mcpServer } from "../mcp.ts";
import { readBytes } from "../read-body.ts";
import { type Route, route } from "../route.ts";

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
    handle: async ({ request, server, caller, signal, rath, runtime, tenant, project }) => {
      const sdk = await mcpSdk();
      const body = await readBytes(request, server.limits.body);
      for (let more = messagesIn(body) - 1; more > 0; more--) await server.rates.call(caller.key, undefined);
      const handler = sdk.createMcpHandler(() => mcpServer(sdk, routes, { server, caller, project: { rath, runtime, tenant, project } }));
      const { url, method, headers } = request;
      return handler.fetch(new Request(url, { method, headers, body: body as Uint8Array<ArrayBuffer>, signal }));
    },
  });

/** The older protocol takes many messages in one call: each counts as one. */
function messagesIn(body: Uint8Array): number {
  try {
    const sent: unknown = JSON.parse(new TextDecoder().decode(body));
    return Array.isArray(sent) ? sent.length : 1;
  } catch {
    return 1; // whoever reads it next refuses it
  }
}
