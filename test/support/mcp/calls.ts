import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Tool, ToolContext } from "../../../src/session/session.ts";
import type { Mcp, McpCommand } from "../../../src/tool/mcp.ts";

const file = fileURLToPath(new URL("server.mjs", import.meta.url));

/** Our own server in one of its modes: see server.mjs. */
export function fixture(mode = "plain", ...rest: string[]): McpCommand {
  return { command: process.execPath, args: [file, mode, ...rest] };
}

/** A published server of node_modules. */
export function published(name: "everything" | "filesystem" | "memory", ...args: string[]): McpCommand {
  const path = createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);
  return { command: process.execPath, args: [path, ...args] };
}

export function toolOf(mcp: Mcp, name: string): Tool {
  const found = mcp.tools.find((tool) => tool.name === name);
  if (found === undefined) throw new Error(`There is no tool ${name} among ${mcp.tools.map((tool) => tool.name).join(", ")}.`);
  return found;
}

/** Calls a tool the way the runtime does, as far as a tool of a server can see. */
export function call(mcp: Mcp, name: string, input: object = {}, context: Partial<ToolContext> = {}): Promise<unknown> {
  const given = { signal: new AbortController().signal, progress: () => undefined, key: "key", deps: {}, ...context } as ToolContext;
  return toolOf(mcp, name)["~run"](input, given);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The error that work ends with. */
export async function errorOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    (value) => {
      throw new Error(`Expected a failure and got ${JSON.stringify(value)}.`);
    },
    (error: Error) => error,
  );
}
