// OpenAI Agents JS: an agent on a model object of our own. Stores nothing; tracing off.
import { Agent, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import { z } from "zod";
import { now } from "../measure.mjs";
import { call, result } from "../payload.mjs";

setTracingDisabled(true);

export async function openaiAgents(rounds) {
  let asked = 0;
  let used = 0;
  const model = {
    async getResponse() {
      const round = asked++;
      const usage = new Usage({ requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 });
      if (round >= rounds) {
        const content = [{ type: "output_text", text: "done" }];
        return { usage, output: [{ type: "message", role: "assistant", status: "completed", id: "message", content }] };
      }
      const asks = { type: "function_call", id: `item_${round}`, callId: `call_${round}`, name: "lookup", status: "completed" };
      return { usage, output: [{ ...asks, arguments: JSON.stringify(call(round).input) }] };
    },
    getStreamedResponse() {
      throw new Error("not streamed here");
    },
  };
  const lookup = tool({
    name: "lookup",
    description: "Looks up",
    parameters: z.object({ query: z.string() }),
    execute: async () => result(used++),
  });
  const agent = new Agent({ name: "bench", instructions: "Look up.", model, tools: [lookup] });
  const runner = new Runner({ tracingDisabled: true });
  const begin = now();
  await runner.run(agent, "begin", { maxTurns: rounds + 2 });
  const ms = now() - begin;
  if (used !== rounds) throw new Error(`OpenAI Agents used the tool ${used} times instead of ${rounds}`);
  return { ms };
}
