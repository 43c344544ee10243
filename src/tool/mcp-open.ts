/** Opens servers together: all of them or none. */
import type { Tool } from "../session/session.ts";
import { type Importer, loadSdk } from "./mcp-sdk.ts";
import { type McpOptions, type McpServerInfo, openServer, type Server } from "./mcp-server.ts";
import { toolset } from "./mcp-tool.ts";
import type { McpCommand, McpUrl } from "./mcp-transport.ts";

/** Open servers and their tools. Disposing of it ends their processes and sessions. */
export interface Mcp extends AsyncDisposable {
  /** What is offered now. An offer that did not change stays the same object. */
  readonly tools: readonly Tool[];
  readonly servers: readonly McpServerInfo[];
}

/** Opens servers with a peer that is imported by `load`. */
export async function openAll(
  servers: readonly (McpCommand | McpUrl)[],
  options: (server: McpCommand | McpUrl) => McpOptions,
  load?: Importer,
): Promise<Mcp> {
  const sdk = await loadSdk(load);
  const opened = await Promise.allSettled(servers.map((server) => openServer(server, options(server), sdk)));
  const open = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = opened.find((one) => one.status === "rejected");
  if (failed !== undefined) {
    await closeAll(open);
    throw failed.reason;
  }
  const tools = toolset(open);
  return {
    get tools() {
      return tools();
    },
    servers: open.map(({ info }) => info),
    [Symbol.asyncDispose]: () => closeAll(open),
  };
}

async function closeAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
}
