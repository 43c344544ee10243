import { stepCountIs, ToolLoopAgent, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

const weather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, sky: "rain" }),
});

// #region model
// Stands for a provider, so that this file runs offline.
const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
let asked = 0;
const model = new MockLanguageModelV3({
  doGenerate: async () =>
    asked++ === 0
      ? {
          content: [{ type: "tool-call", toolCallId: "1", toolName: "weather", input: '{"city":"Porto"}' }],
          ...{ finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] },
        }
      : {
          content: [{ type: "text", text: "Take an umbrella." }],
          ...{ finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] },
        },
});
// #endregion model

// #region agent
const guide = new ToolLoopAgent({ model, instructions: "You plan walks.", tools: { weather }, stopWhen: stepCountIs(5) });
const { text, steps } = await guide.generate({ prompt: "A walk in Porto?" });
console.log(text, steps.length); // → Take an umbrella. 2
// #endregion agent
