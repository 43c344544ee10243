// LangGraph.js: createReactAgent with its own tool node and a checkpointer, all at their defaults.
// Note that better-sqlite3 makes WAL commits with synchronous=NORMAL by default, so SqliteSaver does not fsync each one.

import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { z } from "zod";
import { bytesOnDisk, now } from "../measure.mjs";
import { call, result } from "../payload.mjs";

/** Asks for one tool `rounds` times, then answers; no latency. */
class Scripted extends BaseChatModel {
  constructor(rounds) {
    super({});
    this.rounds = rounds;
    this.asked = 0;
  }
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  async _generate() {
    const round = this.asked++;
    const message =
      round < this.rounds
        ? new AIMessage({ content: "", tool_calls: [{ id: `call_${round}`, name: "lookup", args: call(round).input, type: "tool_call" }] })
        : new AIMessage("done");
    return { generations: [{ text: "", message }] };
  }
}

async function run(rounds, checkpointer) {
  let used = 0;
  const lookup = tool(async () => result(used++), { name: "lookup", description: "Looks up", schema: z.object({ query: z.string() }) });
  const agent = createReactAgent({ llm: new Scripted(rounds), tools: [lookup], checkpointer });
  const begin = now();
  await agent.invoke({ messages: [new HumanMessage("begin")] }, { recursionLimit: 3 * rounds + 10, configurable: { thread_id: "bench" } });
  const ms = now() - begin;
  if (used !== rounds) throw new Error(`LangGraph used the tool ${used} times instead of ${rounds}`);
  return ms;
}

export async function langgraphSqlite(rounds, directory) {
  const saver = SqliteSaver.fromConnString(join(directory, "langgraph.db"));
  const ms = await run(rounds, saver);
  saver.db.close();
  return { ms, bytes: bytesOnDisk(directory) };
}

export async function langgraphMemory(rounds) {
  return { ms: await run(rounds, new MemorySaver()) };
}
