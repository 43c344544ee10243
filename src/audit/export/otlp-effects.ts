/** What a span says of an effect: by the conventions where they have words for it, else by ours. Content only where it was asked for. */
import type { Op, OutcomeType } from "../../session/event.ts";
import { callOf, stateOf } from "../../session/fold.ts";
import type { Node } from "../../session/log.ts";
import type { Finish, ModelSettings, ReplyPart, RequestMessage, RequestTool } from "../../session/message.ts";
import type { Platform } from "../../session/platform.ts";
import { type Configuration, messagesSince, requestOf } from "../../session/request.ts";
import { outcomeOf } from "../../session/views.ts";
import { outcomeText } from "../../wire/event-line.ts";
import { genAi, modelNames } from "../../wire/gen-ai.ts";
import { neutralJson } from "../../wire/neutral.ts";
import { type Attributes, spanKinds } from "./otlp-json.ts";

/** A call and its result, if it has one. */
export interface Effect {
  readonly op: Op;
  readonly called: Node;
  readonly returned: Node | undefined;
}

export interface Told {
  readonly name: string;
  readonly kind: (typeof spanKinds)[keyof typeof spanKinds];
  readonly attributes: Attributes;
}

/** A longer conversation is told from its newest reply on: every call has all before it again. */
const longest = 200;

/** Its name, kind and attributes. */
export function toldOf(effect: Effect, platform: Platform, content: boolean): Told {
  const { op, called, returned } = effect;
  if (called.erased) return { name: op, kind: spanKinds.internal, attributes: { "openrath.erased": true, ...spent(returned) } };
  switch (op) {
    case "model":
      return chat(effect, platform, content);
    case "tool":
      return tool(effect, platform, content);
    case "recall":
    case "remember":
    case "forget":
      return memory(effect, platform, content);
    case "check":
      return named("check", called.data<"check.called">(platform).name);
    case "do": {
      const told = named("do", called.data<"do.called">(platform).name);
      return content ? { ...told, attributes: { ...told.attributes, ...inputAndOutput(effect, platform) } } : told;
    }
    case "route":
      return named("route", called.data<"route.called">(platform).by);
    case "receive":
      return named("receive", called.data<"receive.called">(platform).signal);
    case "ask":
      return asking(effect, platform, content);
    case "wait":
      return internal("wait", { "openrath.operation": "wait" });
    default:
      return op satisfies never;
  }
}

function internal(name: string, attributes: Attributes): Told {
  return { name, kind: spanKinds.internal, attributes };
}

function named(op: string, name: string): Told {
  return internal(`${op} ${name}`, { "openrath.operation": op, "openrath.name": name });
}

function asking({ returned }: Effect, platform: Platform, content: boolean): Told {
  const outcome = content && returned?.erased === false ? outcomeText(outcomeOf(returned, platform)) : undefined;
  return internal("ask", { "openrath.operation": "ask", "openrath.answer": outcome });
}

const finishes: Readonly<Record<Finish, string>> = {
  stop: "stop",
  length: "length",
  calls: "tool_call",
  refused: "content_filter",
  other: "other",
};

function chat({ called, returned }: Effect, platform: Platform, content: boolean): Told {
  const data = called.data<"model.called">(platform);
  const { provider, model } = modelNames(data.model);
  const settings = (data.settings ?? {}) as ModelSettings;
  const reply = returned?.data<"model.returned">(platform);
  const { output } = JSON.parse(data.configuration) as Configuration;
  const attributes: Attributes = {
    [genAi.operation]: "chat",
    [genAi.provider]: provider,
    [genAi.requestModel]: model,
    [genAi.outputType]: output === undefined ? undefined : "json",
    [genAi.stream]: true,
    [genAi.temperature]: settings.temperature === undefined ? undefined : { double: settings.temperature },
    [genAi.maxTokens]: reply?.maxOutputTokens ?? settings.maxOutputTokens,
    [genAi.seed]: settings.seed,
    [genAi.responseModel]: reply?.model === undefined ? undefined : modelNames(reply.model).model,
    [genAi.responseId]: reply?.id,
    [genAi.finishReasons]: reply?.finish === undefined ? undefined : [finishes[reply.finish]],
    ...spent(returned),
    ...(content ? chatContent({ called, returned }, platform) : {}),
  };
  return { name: `chat ${model}`, kind: spanKinds.client, attributes };
}

/** What a call took. Facts outlive what was said. */
function spent(returned: Node | undefined): Attributes {
  const { usage, attempts } = returned?.facts ?? {};
  return {
    [genAi.inputTokens]: usage?.input,
    [genAi.outputTokens]: usage?.output,
    [genAi.cachedTokens]: usage?.cached,
    [genAi.cacheWriteTokens]: usage?.cacheWrite,
    [genAi.reasoningTokens]: usage?.reasoning,
    "openrath.cost.usd": usage === undefined ? undefined : { double: usage.usd },
    "openrath.attempts": attempts,
  };
}

function chatContent({ called, returned }: Pick<Effect, "called" | "returned">, platform: Platform): Attributes {
  const { instructions, tools } = JSON.parse(called.data<"model.called">(platform).configuration) as Configuration;
  const { context } = stateOf(called.parent as Node);
  const whole = (context?.length ?? 0) <= longest;
  const messages = whole ? requestOf(called, platform).messages : messagesSince(context, platform);
  const reply = returned?.erased === false ? returned.data<"model.returned">(platform) : undefined;
  return {
    [genAi.instructions]: instructions === "" ? undefined : json([{ type: "text", content: instructions }]),
    [genAi.toolDefinitions]: tools.length === 0 ? undefined : json(tools.map(definition)),
    [genAi.inputMessages]: json(messages.map(inputMessage)),
    ...(whole ? {} : { "openrath.input.truncated": true }),
    [genAi.outputMessages]:
      reply?.parts === undefined
        ? undefined
        : json([
            {
              role: "assistant",
              parts: (reply.parts as readonly ReplyPart[]).flatMap(part),
              finish_reason: finishes[reply.finish ?? "other"],
            },
          ]),
  };
}

function definition({ name, description, input }: RequestTool): object {
  return { type: "function", name, description, parameters: input };
}

function inputMessage(message: RequestMessage): object {
  switch (message.role) {
    case "system":
      return { role: "system", parts: [{ type: "text", content: message.text }] };
    case "tool":
      return { role: "tool", parts: message.results.map(({ call, value }) => ({ type: "tool_call_response", id: call, response: value })) };
    default:
      return { role: message.role, parts: (message.parts as readonly ReplyPart[]).flatMap(part) };
  }
}

type AnyPart = ReplyPart | Extract<RequestMessage, { role: "user" }>["parts"][number];

/** Of files only what they are: their bytes do not belong into a trace. */
function part(one: AnyPart): readonly object[] {
  switch (one.type) {
    case "text":
    case "reasoning":
      return [{ type: one.type, content: one.text }];
    case "call":
      return [{ type: "tool_call", id: one.id, name: one.tool, arguments: parsed(one.input) }];
    case "file":
      return one.data instanceof URL
        ? [{ type: "uri", mime_type: one.mediaType, modality: modalityOf(one.mediaType), uri: one.data.href }]
        : [{ type: "omitted", mime_type: one.mediaType, modality: modalityOf(one.mediaType) }];
    default:
      return [];
  }
}

function modalityOf(mediaType: string): string {
  const kind = mediaType.slice(0, mediaType.indexOf("/"));
  return kind === "image" || kind === "video" || kind === "audio" ? kind : "document";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function tool(effect: Effect, platform: Platform, content: boolean): Told {
  const { called } = effect;
  const { name, index } = called.data<"tool.called">(platform);
  const attributes: Attributes = {
    [genAi.operation]: "execute_tool",
    [genAi.tool]: name,
    [genAi.toolType]: "function",
    [genAi.toolCall]: index === undefined ? undefined : providerCall(called, index, platform),
    ...(content ? toolContent(effect, platform) : {}),
  };
  return internal(`execute_tool ${name}`, attributes);
}

/** What the provider calls the call, in the reply that made it. */
function providerCall(called: Node, index: number, platform: Platform): string | undefined {
  const { said } = stateOf(called);
  if (said === undefined || said.erased) return undefined;
  const calls = (said.data<"model.returned">(platform).parts ?? []).filter((one) => one.type === "call");
  return calls[index]?.id;
}

function toolContent({ called, returned }: Effect, platform: Platform): Attributes {
  const { input, raw } = called.data<"tool.called">(platform);
  const ran = returned?.erased === false ? returned.data<"tool.returned">(platform) : undefined;
  const given = ran !== undefined && "input" in ran ? ran.input : input;
  return {
    [genAi.toolArguments]: given === undefined ? raw : json(given),
    [genAi.toolResult]: ran === undefined || returned === undefined ? undefined : outcomeText(outcomeOf(returned, platform)),
  };
}

const memoryOperations = { recall: "search_memory", remember: "upsert_memory", forget: "delete_memory" } as const;

function memory({ op, called, returned }: Effect, platform: Platform, content: boolean): Told {
  const operation = memoryOperations[op as keyof typeof memoryOperations];
  const base = { [genAi.operation]: operation };
  const result = returned?.erased === false ? returned : undefined;
  if (op === "recall") {
    const hits = result?.data<"recall.returned">(platform).value ?? [];
    const { query, key } = called.data<"recall.called">(platform);
    const read = content
      ? {
          [genAi.memoryQuery]: query ?? key,
          [genAi.memoryRecords]: json(hits.map(({ uri, content: text, score }) => ({ id: uri, content: text, score }))),
        }
      : {};
    return internal(operation, { ...base, [genAi.memoryCount]: result === undefined ? undefined : hits.length, ...read });
  }
  const item = result?.data<"remember.returned">(platform).item;
  const record = { [genAi.memoryRecord]: item?.uri, [genAi.memoryCount]: 1 };
  const written =
    content && op === "remember"
      ? { [genAi.memoryRecords]: json([{ id: item?.uri, content: called.data<"remember.called">(platform).content }]) }
      : {};
  return internal(operation, { ...base, ...record, ...written });
}

function inputAndOutput({ called, returned }: Effect, platform: Platform): Attributes {
  const { input } = called.data<"do.called">(platform);
  return {
    "openrath.input": input === undefined ? undefined : json(input),
    "openrath.output": returned === undefined || returned.erased ? undefined : outcomeText(outcomeOf(returned, platform)),
  };
}

/** What the span of a workflow or an agent says of it. */
export function invocation(entered: Node, isAgent: boolean, platform: Platform): Told {
  const name = clipped(entered.erased ? "[erased]" : entered.data<"workflow.entered">(platform).name);
  const operation = isAgent ? "invoke_agent" : "invoke_workflow";
  return internal(`${operation} ${name}`, {
    [genAi.operation]: operation,
    [isAgent ? genAi.agent : genAi.workflow]: name,
    [genAi.conversation]: entered.log.id,
  });
}

/** Where on record an event is. */
export function placeOf({ log, id, step, by }: Node): Attributes {
  return { [genAi.conversation]: log.id, "openrath.event.id": id, "openrath.step": step, "openrath.by": clipped(by) };
}

/** Under this name a run is told. */
export const runId = "openrath.run.id";

/** Names are chosen by users and models. */
export function clipped(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 199)}…`;
}

/** The class of error that an effect ended in; undefined when it went well. */
export function errorTypeOf(returned: Node, platform: Platform): string | undefined {
  const outcome: OutcomeType = returned.facts.outcome ?? "unknown";
  if (outcome === "ok") return undefined;
  if (returned.erased || outcome !== "error") return outcome;
  const { name, problem } = returned.data<"tool.returned">(platform);
  return problem ?? (name === undefined || name === "" ? "_OTHER" : name.slice(0, 100));
}

/** The verdict of a check, as the conventions tell it. */
export function verdictOf(returned: Node, platform: Platform, content: boolean): Attributes {
  const { passed, score, reason } = returned.data<"check.returned">(platform);
  return {
    [genAi.evaluation]: callOf(returned).data<"check.called">(platform)?.name,
    [genAi.evaluationScore]: { double: score ?? (passed === true ? 1 : 0) },
    [genAi.evaluationLabel]: passed === true ? "pass" : "fail",
    [genAi.evaluationExplanation]: content ? reason : undefined,
  };
}

function json(value: unknown): string {
  return neutralJson(value);
}
