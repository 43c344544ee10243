/**
 * Tools of MCP servers, on the same path as all others: recorded, checked, repeated only where that is safe.
 *
 * A server is a stranger. It gets no environment but what is named; what it says of its tools is believed only on request; an error it
 * reports is an error; names that models cannot use are replaced. Questions for a person are declined unless `elicit` answers them,
 * and a server that wants to use our model (sampling) is refused.
 * One connection per server serves all calls. When it breaks during a call, the call fails with an error named `McpLost`,
 * since nobody knows its outcome, and the next call connects again.
 */
import { configured, type McpConfig } from "./mcp-config.ts";
import { type Mcp, openAll } from "./mcp-open.ts";
import type { McpOptions } from "./mcp-server.ts";
import type { McpCommand, McpUrl } from "./mcp-transport.ts";

export type { McpConfig } from "./mcp-config.ts";
export type { Mcp } from "./mcp-open.ts";
export type { McpPart } from "./mcp-result.ts";
export type { McpOptions, McpQuestion, McpServerInfo, McpToolInfo } from "./mcp-server.ts";
export type { McpCommand, McpUrl } from "./mcp-transport.ts";

/** Options for several servers: `trust` may name the ones to believe. */
export interface McpServersOptions extends Omit<McpOptions, "trust"> {
  readonly trust?: boolean | readonly string[] | undefined;
}

/**
 * Opens an MCP server and gives its tools. Rejects with `mcp.unavailable` when `@modelcontextprotocol/client` is not installed, and with
 * `mcp.failed` when the server cannot be opened in time.
 *
 * A process gets PATH, HOME and what `env` names, nothing else. Annotations of tools count only with `trust`: then read-only and idempotent
 * tools are `safe` to repeat and read-only ones write nothing; without it every tool is `once` and writes to the world.
 *
 * @example
 * await using files = await mcp({ command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "docs"] }, { trust: true });
 * const writer = new Agent({ name: "writer", model, tools: [...files.tools] });
 *
 * @example
 * const search = await mcp({ url: "https://example.com/mcp", headers: { authorization: `Bearer ${token}` } });
 */
export async function mcp(server: McpCommand | McpUrl, options: McpOptions = {}): Promise<Mcp> {
  return openAll([server], () => options);
}

/**
 * Opens all servers of a configuration, given as an object or as the path of a JSON file, and gives their tools together. Where two servers
 * offer the same name, the server's name is put before it. When one cannot be opened, the others are closed and it rejects.
 *
 * @example
 * await using servers = await mcpServers(".mcp.json", { trust: ["memory"] });
 *
 * @example
 * const servers = await mcpServers({ mcpServers: { memory: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] } } });
 */
export async function mcpServers(config: McpConfig | string | URL, options: McpServersOptions = {}): Promise<Mcp> {
  const { trust, ...rest } = options;
  return openAll(await configured(config), ({ name = "" }) => ({
    ...rest,
    trust: typeof trust === "object" ? trust.includes(name) : trust,
  }));
}
