/**
 * Names of OpenTelemetry's semantic conventions for generative AI (in development, as of version 1.41), and ours beside them.
 * Kept here because the published constants lag behind the conventions.
 */
export const genAi = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  agent: "gen_ai.agent.name",
  workflow: "gen_ai.workflow.name",
  outputType: "gen_ai.output.type",
  requestModel: "gen_ai.request.model",
  temperature: "gen_ai.request.temperature",
  maxTokens: "gen_ai.request.max_tokens",
  seed: "gen_ai.request.seed",
  stream: "gen_ai.request.stream",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  tool: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolCall: "gen_ai.tool.call.id",
  memoryRecord: "gen_ai.memory.record.id",
  memoryCount: "gen_ai.memory.record.count",
  evaluation: "gen_ai.evaluation.name",
  evaluationScore: "gen_ai.evaluation.score.value",
  evaluationLabel: "gen_ai.evaluation.score.label",
  /** Content: recorded only where it was asked for. */
  instructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolDefinitions: "gen_ai.tool.definitions",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  memoryQuery: "gen_ai.memory.query.text",
  memoryRecords: "gen_ai.memory.records",
  evaluationExplanation: "gen_ai.evaluation.explanation",
} as const;

/** What ended in an error, by a word of few. */
export const errorType = "error.type";

/** The providers that the conventions have a word for, by ours. */
const providers: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  azure: "azure.ai.openai",
  mistral: "mistral_ai",
  xai: "x_ai",
  vertex: "gcp.vertex_ai",
  bedrock: "aws.bedrock",
};

/** From a name like "openai/gpt-5": who serves it, and what it is called there. */
export function modelNames(name: string): { readonly provider: string; readonly model: string } {
  const slash = name.indexOf("/");
  const prefix = slash < 1 ? name : name.slice(0, slash);
  const provider = Object.hasOwn(providers, prefix) ? (providers[prefix] as string) : prefix;
  return { provider, model: slash < 1 ? name : name.slice(slash + 1) };
}
