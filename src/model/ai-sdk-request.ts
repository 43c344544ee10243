/** A request of ours as the call options of an AI SDK model. */
import type { ModelRequest, Part, ReplyPart, RequestMessage, RequestTool } from "../session/message.ts";
import { type Dialect, ownMetadata, providerOptions } from "./ai-sdk-dialect.ts";
import { bytesOf, toolOutput } from "./ai-sdk-output.ts";

type Fields = Readonly<Record<string, unknown>>;
interface PromptMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly Fields[];
  readonly providerOptions?: Fields | undefined;
}

/** What `doStream` is given. Fields without a value are left out: some providers send `undefined` on as null. */
export async function callOptions(request: ModelRequest, dialect: Dialect, signal: AbortSignal): Promise<Fields> {
  const { settings, output } = request;
  const { tools, toolChoice } = toolOptions(request, dialect);
  return present({
    prompt: cached(await promptOf(request, dialect), request, dialect),
    maxOutputTokens: settings.maxOutputTokens,
    temperature: settings.temperature,
    seed: settings.seed,
    tools: tools.length === 0 ? undefined : tools.map((tool) => functionTool(tool)),
    toolChoice: tools.length === 0 ? undefined : toolChoice,
    responseFormat: output === undefined ? undefined : { type: "json", schema: output, name: "output" },
    reasoning: dialect.version === "v4" ? settings.reasoning : undefined,
    providerOptions: providerOptions(dialect, request),
    abortSignal: signal,
  });
}

async function promptOf(request: ModelRequest, dialect: Dialect): Promise<PromptMessage[]> {
  const prompt: PromptMessage[] = request.instructions === "" ? [] : [{ role: "system", content: request.instructions }];
  for (const message of request.messages) {
    const said = await promptMessage(message, dialect, prompt);
    if (said !== undefined && said.content.length > 0) prompt.push(said);
  }
  return prompt;
}

async function promptMessage(
  message: RequestMessage,
  dialect: Dialect,
  before: readonly PromptMessage[],
): Promise<PromptMessage | undefined> {
  switch (message.role) {
    case "system":
      return systemMessage(message.text, dialect, before);
    case "user":
      return { role: "user", content: await userContent(message.parts, dialect) };
    case "assistant":
      return { role: "assistant", content: message.parts.flatMap((part) => assistantPart(part, dialect)) };
    case "tool": {
      const content = message.results.map(async (result) => ({
        type: "tool-result",
        toolCallId: result.call,
        toolName: result.tool,
        output: await toolOutput(result, dialect),
      }));
      return { role: "tool", content: await Promise.all(content) };
    }
  }
}

/** Anthropic and Google take system messages at the beginning alone; a later one is said by the user, and marked. */
function systemMessage(text: string, dialect: Dialect, before: readonly PromptMessage[]): PromptMessage | undefined {
  if (text === "") return undefined;
  const late = before.some((message) => message.role !== "system") && (dialect.family === "anthropic" || dialect.family === "google");
  return late ? { role: "user", content: [{ type: "text", text: `<system>\n${text}\n</system>` }] } : { role: "system", content: text };
}

async function userContent(parts: readonly Part[], dialect: Dialect): Promise<Fields[]> {
  const content: Fields[] = [];
  for (const part of parts) {
    if (part.type === "text" && part.text !== "") content.push({ type: "text", text: part.text });
    if (part.type === "file") content.push({ type: "file", mediaType: part.mediaType, data: await fileData(part.data, dialect) });
  }
  return content;
}

/** Links are sent as links: nothing is downloaded here. */
async function fileData(data: Uint8Array | Blob | URL, { version }: Dialect): Promise<unknown> {
  if (data instanceof URL) return version === "v4" ? { type: "url", url: data } : data;
  const bytes = await bytesOf(data);
  return version === "v4" ? { type: "data", data: bytes } : bytes;
}

function assistantPart(part: ReplyPart, dialect: Dialect): Fields[] {
  const options = ownMetadata(dialect, part.metadata);
  switch (part.type) {
    case "text":
      // An empty text is refused, unless it carries a signature.
      return part.text === "" && (options === undefined || dialect.family === "anthropic")
        ? []
        : [present({ type: "text", text: part.text, providerOptions: options })];
    case "reasoning":
      return isReadable(part, options, dialect) ? [present({ type: "reasoning", text: part.text, providerOptions: options })] : [];
    case "call":
      return [
        present({
          type: "tool-call",
          toolCallId: part.id,
          toolName: part.tool,
          input: parsedInput(part.input),
          providerOptions: options,
        }),
      ];
    case "file": {
      const data = dialect.version === "v4" ? { type: "data", data: part.data } : part.data;
      return [present({ type: "file", mediaType: part.mediaType, data, providerOptions: options })];
    }
    case "source":
      return [];
  }
}

/** Reasoning goes back to the provider that signed it. Servers that sign nothing get what was not signed. */
function isReadable(part: ReplyPart & { readonly type: "reasoning" }, options: Fields | undefined, dialect: Dialect): boolean {
  if (options === undefined) return dialect.family === "other" && part.metadata === undefined;
  if (dialect.family !== "anthropic") return true;
  return Object.values(options).some((own) => typeof own === "object" && own !== null && ("signature" in own || "redactedData" in own));
}

/** Providers want an object. What a model wrote otherwise is shown back to it under a name that says so. */
function parsedInput(input: string): unknown {
  if (input.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(input);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {}
  return { malformed: input };
}

type ToolChoice = { readonly type: "auto" | "none" | "required" } | { readonly type: "tool"; readonly toolName: string };

/** The tools, and for Anthropic those of the past: it refuses a history of calls when no tool is defined. */
function toolOptions(
  request: ModelRequest,
  dialect: Dialect,
): { readonly tools: readonly RequestTool[]; readonly toolChoice?: ToolChoice } {
  const { tools, settings } = request;
  const { toolChoice: choice } = settings;
  if (tools.length === 0 && dialect.family === "anthropic") {
    const past = pastTools(request.messages);
    // The V2 package drops the tools themselves when none may be called.
    return dialect.version === "v2" ? { tools: past } : { tools: past, toolChoice: { type: "none" } };
  }
  if (choice === undefined) return { tools };
  return { tools, toolChoice: typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool } };
}

function pastTools(messages: readonly RequestMessage[]): readonly RequestTool[] {
  const names = new Set<string>();
  for (const message of messages)
    if (message.role === "assistant") for (const part of message.parts) if (part.type === "call") names.add(part.tool);
  return [...names].map((name) => ({
    name,
    description: "No longer available. Do not call it.",
    input: { type: "object", properties: {} },
  }));
}

function functionTool({ name, description, input }: RequestTool): Fields {
  return { type: "function", name, description, inputSchema: input };
}

/** Anthropic caches only up to marks: after the instructions, and after all there is, which the next call reads again. */
function cached(prompt: readonly PromptMessage[], request: ModelRequest, dialect: Dialect): readonly PromptMessage[] {
  const given: Fields = { ...request.settings.providerOptions?.["anthropic"] };
  if (dialect.family !== "anthropic" || given["cacheControl"] !== undefined) return prompt;
  const first = prompt.findLastIndex((message) => message.role === "system");
  const mark = { anthropic: { cacheControl: { type: "ephemeral" } } };
  return prompt.map((message, index) => (index === first || index === prompt.length - 1 ? { ...message, providerOptions: mark } : message));
}

function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
