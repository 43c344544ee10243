/** The conversation of a session in the Agent Trajectory Interchange Format (version 1.4), which Harbor reads: one JSON document. */
import { runtimeOf } from "../../runtime/replay.ts";
import { version } from "../../runtime/version.ts";
import { callOf, inCallOrder, list, stateOf } from "../../session/fold.ts";
import type { Node } from "../../session/log.ts";
import type { ReplyPart } from "../../session/message.ts";
import type { Platform } from "../../session/platform.ts";
import { resultOf } from "../../session/render.ts";
import { type Configuration, modelCallBefore } from "../../session/request.ts";
import type { Session, Totals } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import { messageOf } from "../../session/views.ts";
import { resultText } from "./chat.ts";

/** What is written of a trajectory. */
export interface AtifOptions {
  /** What models thought, as `reasoning_content`. */
  readonly reasoning?: boolean | undefined;
}

interface Result {
  readonly source_call_id?: string;
  readonly content: string;
}
interface Step {
  readonly step_id: number;
  readonly timestamp?: string;
  readonly source: "system" | "user" | "agent";
  readonly message: string;
  readonly model_name?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly { readonly tool_call_id: string; readonly function_name: string; readonly arguments: object }[];
  observation?: { readonly results: Result[] };
  readonly metrics?: object;
  readonly extra?: object;
}

/** The document, a step on each line. */
export async function* atifLines(session: Session, options: AtifOptions): AsyncGenerator<string, void> {
  const { platform } = runtimeOf(session);
  const { node } = placeOf(session);
  const called = modelCallBefore(node);
  const data = called?.erased === false ? called.data<"model.called">(platform) : undefined;
  const steps = stepsOf(node, data?.configuration, platform, options);
  const about = {
    schema_version: "ATIF-v1.4",
    session_id: session.id,
    agent: { name: called?.by ?? "openrath", version: version(), ...(data === undefined ? {} : { model_name: data.model }) },
  };
  const end = {
    final_metrics: { ...totalOf(session.usage), total_steps: steps.length },
    extra: { status: session.status, head: session.head },
  };
  yield `${JSON.stringify(about).slice(0, -1)},"steps":[`;
  for (const [index, step] of steps.entries()) yield `${JSON.stringify(step)}${index < steps.length - 1 ? "," : ""}`;
  yield `],${JSON.stringify(end).slice(1)}`;
}

function totalOf({ input, output, cached, usd }: Totals): object {
  return { total_prompt_tokens: input, total_completion_tokens: output, total_cached_tokens: cached, total_cost_usd: usd };
}

function stepsOf(place: Node, configuration: string | undefined, platform: Platform, options: AtifOptions): readonly Step[] {
  const steps: Step[] = [];
  const add = (step: Omit<Step, "step_id">): Step => {
    const next: Step = { step_id: steps.length + 1, ...step };
    steps.push(next);
    return next;
  };
  const { instructions } = configuration === undefined ? { instructions: "" } : (JSON.parse(configuration) as Configuration);
  if (instructions !== "") add({ source: "system", message: instructions });
  let turn: { readonly step: Step; readonly calls: readonly string[] } | undefined;
  for (const node of inCallOrder(list(stateOf(place).talk))) {
    const extra = { event: node.id, session: node.log.id };
    if (node.kind === "model.returned") {
      const step = agentStep(node, platform, options);
      turn = { step: add({ ...step, extra }), calls: (step.tool_calls ?? []).map((call) => call.tool_call_id) };
    } else if (node.kind === "tool.returned") {
      observe(node, turn, platform, (result) =>
        add({ source: "system", timestamp: node.at, message: "", observation: { results: [result] }, extra }),
      );
    } else {
      const { role, text } = messageOf(node, platform);
      add({ source: role === "system" ? "system" : "user", timestamp: node.at, message: text, extra });
    }
  }
  return steps;
}

/** A result belongs to the call of the reply before it; one that code called stands by itself. */
function observe(
  returned: Node,
  turn: { readonly step: Step; readonly calls: readonly string[] } | undefined,
  platform: Platform,
  alone: (result: Result) => unknown,
): void {
  const called = callOf(returned);
  const { index, name = "" } = called.erased ? {} : called.data<"tool.called">(platform);
  // As the model read it: what was denied or failed says so.
  const content = returned.erased ? "[erased]" : resultText(resultOf(returned, name, undefined, platform).value);
  const call = index === undefined ? undefined : turn?.calls[index];
  if (turn === undefined || call === undefined) {
    alone({ content });
    return;
  }
  turn.step.observation ??= { results: [] };
  turn.step.observation.results.push({ source_call_id: call, content });
}

function agentStep(
  node: Node,
  platform: Platform,
  { reasoning }: AtifOptions,
): Omit<Step, "step_id"> & { readonly tool_calls?: Step["tool_calls"] } {
  const base = { source: "agent", timestamp: node.at, ...metricsOf(node) } as const;
  if (node.erased) return { ...base, message: "[erased]" };
  const { parts = [], model } = node.data<"model.returned">(platform);
  const said = parts as readonly ReplyPart[];
  const thoughts = said.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join("\n\n");
  const calls = said.flatMap((part) =>
    part.type === "call" ? [{ tool_call_id: part.id, function_name: part.tool, arguments: argumentsOf(part.input) }] : [],
  );
  const asked = callOf(node);
  const name = model ?? (asked.erased ? undefined : asked.data<"model.called">(platform).model);
  return {
    ...base,
    message: messageOf(node, platform).text,
    ...(name === undefined ? {} : { model_name: name }),
    ...(reasoning === true && thoughts !== "" ? { reasoning_content: thoughts } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Facts outlive what was said. */
function metricsOf({ facts: { usage } }: Node): Pick<Step, "metrics"> {
  if (usage === undefined) return {};
  return { metrics: { prompt_tokens: usage.input, completion_tokens: usage.output, cached_tokens: usage.cached, cost_usd: usage.usd } };
}

/** They must be an object; what a model wrote otherwise is kept as text in one. */
function argumentsOf(text: string): object {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // It is kept as it was written.
  }
  return { raw: text };
}
