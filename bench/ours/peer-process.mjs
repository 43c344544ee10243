// One candidate of `peers` in a process of its own: what one framework does to promises, heap and compiled code is not another's to pay.
import { openrath } from "../../dist/index.js";
import { bytesOnDisk, inDirectory } from "../measure.mjs";
import { answer } from "../process.mjs";
import { loop } from "./agent.mjs";
import { openDurable } from "./rounds.mjs";

const candidates = {
  "openrath, SQLite": async (rounds, directory) => ({
    ms: await timed(await openDurable(directory), rounds),
    bytes: bytesOnDisk(directory),
  }),
  "openrath, memory": async (rounds) => ({ ms: await timed(openrath({ store: "memory" }), rounds) }),
  "LangGraph.js, SqliteSaver": async (...given) => (await import("../peers/langgraph.mjs")).langgraphSqlite(...given),
  "LangGraph.js, MemorySaver": async (...given) => (await import("../peers/langgraph.mjs")).langgraphMemory(...given),
  "AI SDK ToolLoopAgent": async (...given) => (await import("../peers/ai-sdk.mjs")).aiSdk(...given),
  "OpenAI Agents JS": async (...given) => (await import("../peers/openai-agents.mjs")).openaiAgents(...given),
};

async function timed(rath, rounds) {
  const ms = await loop(rath, rounds);
  await rath.close();
  return ms;
}

answer({
  run({ name, rounds }) {
    return inDirectory((directory) => candidates[name](rounds, directory));
  },
});
