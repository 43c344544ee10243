// AI SDK: ToolLoopAgent with the SDK's own mock model. Stores nothing.
import { stepCountIs, ToolLoopAgent, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";
import { now } from "../measure.mjs";
import { call, result } from "../payload.mjs";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export async function aiSdk(rounds) {
  let asked = 0;
  let used = 0;
  const model = new MockLanguageModelV3({
    doGenerate: async () => {
      model.doGenerateCalls.length = 0; // the mock keeps every prompt; an ordinary model does not
      const round = asked++;
      if (round >= rounds)
        return { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] };
      const input = JSON.stringify(call(round).input);
      return {
        content: [{ type: "tool-call", toolCallId: `call_${round}`, toolName: "lookup", input }],
        finishReason: { unified: "tool-calls", raw: "tool_calls" },
        usage,
        warnings: [],
      };
    },
  });
  const lookup = tool({ description: "Looks up", inputSchema: z.object({ query: z.string() }), execute: async () => result(used++) });
  const agent = new ToolLoopAgent({ model, tools: { lookup }, stopWhen: stepCountIs(rounds + 2) });
  const begin = now();
  await agent.generate({ prompt: "begin" });
  const ms = now() - begin;
  if (used !== rounds) throw new Error(`the AI SDK used the tool ${used} times instead of ${rounds}`);
  return { ms };
}
