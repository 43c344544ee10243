/** The JSON in which people keep their MCP servers, as other programs write it too. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { RathError } from "../session/errors.ts";
import type { McpCommand, McpUrl } from "./mcp-transport.ts";

/** `{ "mcpServers": { name: { command, args, env } | { url, headers } } }`. */
export interface McpConfig {
  readonly mcpServers: Readonly<Record<string, Omit<McpCommand, "name"> | (Omit<McpUrl, "name"> & { readonly type?: string | undefined })>>;
}

/** The servers of a configuration, or of the file that holds it. */
export async function configured(config: McpConfig | string | URL): Promise<readonly (McpCommand | McpUrl)[]> {
  const { z } = await import("zod");
  const texts = z.record(z.string(), z.string());
  const command = z.object({
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    env: z.union([z.array(z.string()), texts]).optional(),
    cwd: z.string().optional(),
  });
  const url = z.object({ url: z.union([z.string(), z.instanceof(URL)]), headers: texts.optional(), type: z.string().optional() });
  const isFile = typeof config === "string" || config instanceof URL;
  const from = isFile ? String(config) : "The configuration of MCP servers";
  const whole = z.object({ mcpServers: z.record(z.string(), z.unknown()) }).safeParse(isFile ? await json(config) : config);
  if (!whole.success) throw invalid(from, 'it must be { "mcpServers": { name: { "command": … } or { "url": … } } }');
  return Object.entries(whole.data.mcpServers).map(([name, entry]) => {
    const process = command.safeParse(entry);
    if (process.success) return { ...process.data, name };
    const remote = url.safeParse(entry);
    if (!remote.success) throw invalid(from, `"${name}" needs "command" with texts in "args" and "env", or "url" with texts in "headers"`);
    if (remote.data.type === "sse")
      throw invalid(from, `"${name}" is of type "sse", which MCP has given up: use its streamable HTTP address`);
    return { url: remote.data.url, headers: remote.data.headers, name };
  });
}

async function json(path: string | URL): Promise<unknown> {
  const file = path instanceof URL ? fileURLToPath(path) : path;
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (cause) {
    throw new RathError("mcp.failed", `${file} cannot be read as JSON: ${(cause as Error).message}`, { cause });
  }
}

function invalid(from: string, problem: string): RathError {
  return new RathError("mcp.failed", `${from} does not say which MCP servers to use: ${problem}.`);
}
