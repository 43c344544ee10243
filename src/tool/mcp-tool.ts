/** Makes tools of what servers offer, and the source that says on record what was offered. */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { counted } from "../session/counted.ts";
import { durationMs } from "../session/duration.ts";
import type { Repeat, Tool, ToolContext, ToolSource } from "../session/session.ts";
import { shownNames } from "./mcp-names.ts";
import { outputOf } from "./mcp-result.ts";
import { lazyCheck } from "./mcp-schema.ts";
import type { ListedTool } from "./mcp-sdk.ts";
import { callTool, type McpToolInfo, type Server } from "./mcp-server.ts";

const longestDescription = 4096;

/** A tool under the name that models see. */
interface Offered {
  readonly name: string;
  readonly listed: ListedTool;
}

/** The tools of all servers. The same offer gives the same object, however often it is asked for. */
export function toolset(servers: readonly Server[]): () => readonly Tool[] {
  const sources = servers.map((server, at) => sourceOf(server, () => offeredBy(servers)[at] ?? []));
  let known: ReadonlyMap<string, Tool> = new Map();
  return () => {
    const entries = offeredBy(servers).flatMap((offers, at) =>
      offers.map(({ name, listed }): [string, Tool] => {
        const key = sha256([at, name, listed]);
        return [key, known.get(key) ?? toolOf(servers[at] as Server, sources[at] as ToolSource, name, listed)];
      }),
    );
    known = new Map(entries);
    return [...known.values()];
  };
}

function offeredBy(servers: readonly Server[]): readonly (readonly Offered[])[] {
  const shown = shownNames(servers.map(({ info, listed }) => ({ server: info.name, tools: listed.map(({ name }) => name) })));
  return servers.map(({ listed }, at) => listed.map((one) => ({ name: shown[at]?.get(one.name) as string, listed: one })));
}

function sourceOf(server: Server, offered: () => readonly Offered[]): ToolSource {
  return {
    get name() {
      return server.info.name;
    },
    async describe() {
      await server.refresh();
      const tools = offered()
        .map(({ name, listed }) => ({ name, description: described(listed), input: listed.inputSchema }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
      return { server: server.info.reported.name, version: server.info.reported.version, digest: sha256(tools), tools };
    },
  };
}

function toolOf(server: Server, source: ToolSource, name: string, listed: ListedTool): Tool {
  const { trust, callTimeout } = server.options;
  const description = described(listed);
  const schema = listed.inputSchema;
  const info: McpToolInfo = {
    server: server.info.name,
    name: listed.name,
    description,
    readOnly: listed.annotations?.readOnlyHint === true,
    idempotent: listed.annotations?.idempotentHint === true,
    destructive: listed.annotations?.destructiveHint !== false && listed.annotations?.readOnlyHint !== true,
  };
  const believed: Repeat = trust === true && (info.readOnly || info.idempotent) ? "safe" : "once";
  const repeat = server.options.repeat?.(info) ?? believed;
  return {
    name,
    description,
    repeat,
    "~run": (input: unknown, context) => run(server, listed.name, input, context, repeat === "keyed" ? context.key : undefined),
    "~tool": {
      schema,
      revision: sha256({ name, description, schema }).slice(0, 16),
      writes: trust === true && info.readOnly ? "nothing" : "world",
      validate: lazyCheck(schema),
      source,
      ...(callTimeout !== undefined && { timeoutMs: durationMs(callTimeout) }),
    },
  };
}

async function run(server: Server, name: string, input: unknown, context: ToolContext, key?: string): Promise<unknown> {
  const progress = (done: number, of: number | undefined, message: string | undefined) => {
    if (of !== undefined) context.progress({ done, of });
    if (message !== undefined || of === undefined) context.progress(message ?? String(done));
  };
  return outputOf(await callTool(server, { name, input: (input ?? {}) as object, key, signal: context.signal, progress }), name);
}

function described({ description = "" }: ListedTool): string {
  const cut = description.length - longestDescription;
  return cut <= 0 ? description : `${description.slice(0, longestDescription)}… (${counted(cut, "more character")})`;
}

function sha256(value: unknown): string {
  return createHash("sha256")
    .update(canonicalize(value) as string)
    .digest("hex");
}
