/**
 * Conversations in the chat format of OpenAI and Hugging Face, one branch a line: as a model would read them there, with tools,
 * calls and results. For fine-tuning and for reading with other tools.
 */
import { runtimeOf } from "../../runtime/replay.ts";
import { viewOf } from "../../session/context.ts";
import { counted } from "../../session/counted.ts";
import { stateOf } from "../../session/fold.ts";
import type { Node } from "../../session/log.ts";
import type { Part, ReplyPart, RequestMessage, RequestTool } from "../../session/message.ts";
import type { Platform } from "../../session/platform.ts";
import { rendered } from "../../session/render.ts";
import { type Configuration, modelCallBefore } from "../../session/request.ts";
import type { Session } from "../../session/session.ts";
import { type Branch, branchesOf, joinsOf } from "../branches.ts";
import { rejectionOf, winners } from "../graph-data.ts";

/** Which conversations are written, and what of them. */
export interface ChatOptions {
  /** All branches that nothing was made of since (default), or only the one that won: the session itself. */
  readonly branches?: "all" | "session" | undefined;
  /** What models thought, as `reasoning_content`. */
  readonly reasoning?: boolean | undefined;
  /** Pictures as data URLs (default), or only named. */
  readonly images?: "inline" | "placeholder" | undefined;
}

type ChatPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };
/** A message as OpenAI writes it. */
export type ChatMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | readonly ChatPart[] }
  | {
      readonly role: "assistant";
      readonly content: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly type: "function";
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

/** A line. */
export interface ChatRow {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly object[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** One line for each branch in which a model said something. */
export async function* chatLines(session: Session, options: ChatOptions): AsyncGenerator<string, void> {
  const { platform } = runtimeOf(session);
  const branches = await branchesOf(session);
  const won = winners(branches);
  for (const branch of leaves(branches)) {
    if (options.branches === "session" && !branch.current) continue;
    if (stateOf(branch.tip).said === undefined) continue;
    yield JSON.stringify(rowOf(branch, won, platform, options));
  }
}

/** Branches whose end nothing continues: what was adopted, merged or forked at its end is part of something else. Inner work is none. */
function leaves(branches: readonly Branch[]): readonly Branch[] {
  const continued = new Set(joinsOf(branches).flatMap(({ kind, from }) => (kind === "nested" || kind === "returned" ? [] : [from])));
  return branches.filter(({ log, tip, current }) => current || (log.fork?.nested !== true && !continued.has(tip)));
}

function rowOf({ log, tip, nodes, session, current }: Branch, won: ReadonlySet<string>, platform: Platform, options: ChatOptions): ChatRow {
  const called = modelCallBefore(tip);
  const { instructions, tools } = configurationOf(called, platform);
  const messages = conversationAt(tip, platform).flatMap((message) => chatMessages(message, options));
  const reason = rejectionOf(nodes, session, platform);
  return {
    messages: instructions === "" ? messages : [{ role: "system", content: instructions }, ...messages],
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    metadata: {
      session: log.id,
      head: tip.id,
      label: session.lineage.label ?? null,
      model: called?.erased === false ? called.data<"model.called">(platform).model : null,
      status: session.status,
      rejected: session.status === "rejected",
      ...(reason === undefined ? {} : { reason }),
      current,
      won: current || won.has(log.id),
    },
  };
}

function configurationOf(called: Node | undefined, platform: Platform): Configuration {
  if (called === undefined || called.erased) return { instructions: "", tools: [] };
  return JSON.parse(called.data<"model.called">(platform).configuration) as Configuration;
}

function toolOf({ name, description, input }: RequestTool): object {
  return { type: "function", function: { name, description, parameters: input } };
}

/** What a model reads at a place, without the request to go on that follows an answer. */
function conversationAt(tip: Node, platform: Platform): readonly RequestMessage[] {
  const view = viewOf(stateOf(tip).context, platform);
  const messages = rendered(view, platform);
  const asked = messages.at(-1)?.role === "user" && view.nodes.at(-1)?.kind === "model.returned";
  return asked ? messages.slice(0, -1) : messages;
}

function chatMessages(message: RequestMessage, options: ChatOptions): readonly ChatMessage[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.text }];
    case "user":
      return [{ role: "user", content: userContent(message.parts, options) }];
    case "tool":
      return message.results.map(({ call, value }) => ({ role: "tool", tool_call_id: call, content: resultText(value) }));
    case "assistant":
      return [assistant(message.parts, options)];
    default:
      return message satisfies never;
  }
}

function assistant(parts: readonly ReplyPart[], { reasoning }: ChatOptions): ChatMessage {
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : part.type === "file" ? [fileText(part)] : [])).join("");
  const thoughts = parts.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join("\n\n");
  const calls = parts.flatMap((part) =>
    part.type === "call"
      ? [{ id: part.id, type: "function" as const, function: { name: part.tool, arguments: part.input === "" ? "{}" : part.input } }]
      : [],
  );
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(reasoning === true && thoughts !== "" ? { reasoning_content: thoughts } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Text alone is a text; with pictures it is a list. */
function userContent(parts: readonly Part[], { images = "inline" }: ChatOptions): string | readonly ChatPart[] {
  const said = parts.flatMap((part): readonly ChatPart[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type !== "file") return [];
    const url = images === "inline" && part.mediaType.startsWith("image/") ? urlOf(part) : undefined;
    return [url === undefined ? { type: "text", text: fileText(part) } : { type: "image_url", image_url: { url } }];
  });
  return said.every((part) => part.type === "text") ? said.map((part) => part.text).join("") : said;
}

type FilePart = Extract<Part | ReplyPart, { readonly type: "file" }>;

function urlOf({ mediaType, data }: FilePart): string | undefined {
  if (data instanceof URL) return data.href;
  return data instanceof Uint8Array ? `data:${mediaType};base64,${Buffer.from(data).toString("base64")}` : undefined;
}

function fileText({ mediaType, data }: FilePart): string {
  return data instanceof URL
    ? `[${mediaType} at ${data.href}]`
    : `[${mediaType}${data instanceof Uint8Array ? `, ${counted(data.length, "byte")}` : ""}]`;
}

/** A result that a model reads, as text. */
export function resultText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
