// µs per round of an agent loop over a whole run of 50, 200 and 800 rounds: ours and the peers in turns, zero-latency models.
import { openrath } from "../../dist/index.js";
import { bytesOnDisk, inDirectory, median, progress, settleHeap } from "../measure.mjs";
import { aiSdk } from "../peers/ai-sdk.mjs";
import { langgraphMemory, langgraphSqlite } from "../peers/langgraph.mjs";
import { openaiAgents } from "../peers/openai-agents.mjs";
import { row } from "../report.mjs";
import { loop } from "./agent.mjs";
import { openDurable } from "./rounds.mjs";

const CANDIDATES = [
  ["openrath, SQLite", oursDurable],
  ["openrath, memory", oursMemory],
  ["LangGraph.js, SqliteSaver", langgraphSqlite],
  ["LangGraph.js, MemorySaver", langgraphMemory],
  ["AI SDK ToolLoopAgent", aiSdk],
  ["OpenAI Agents JS", openaiAgents],
];
/** How often the durable one must be faster at 200 rounds. */
const GOALS = { "LangGraph.js, SqliteSaver": ">= 30", "AI SDK ToolLoopAgent": ">= 5", "OpenAI Agents JS": ">= 5" };

export async function measure({ quick }) {
  const rows = [];
  await turns(20, 2);
  for (const rounds of quick ? [50, 200] : [50, 200, 800]) {
    const times = await turns(rounds, rounds === 800 ? 1 : quick ? 3 : 5);
    for (const [name] of CANDIDATES) rows.push(row(`${name}, round over ${rounds}`, median(times.get(name).map((t) => t.us)), "µs"));
    for (const [name] of CANDIDATES.slice(2)) {
      const ratio = median(times.get(name).map((t, i) => t.us / times.get("openrath, SQLite")[i].us));
      rows.push(row(`${name} / openrath, SQLite, over ${rounds}`, ratio, "times", rounds === 200 ? GOALS[name] : undefined));
    }
    if (rounds !== 800) continue;
    const [ours, theirs] = ["openrath, SQLite", "LangGraph.js, SqliteSaver"].map((name) => times.get(name)[0].bytes);
    rows.push(
      row("openrath, SQLite, disk after 800", ours / 1e6, "MB"),
      row("LangGraph.js, SqliteSaver, disk after 800", theirs / 1e6, "MB"),
    );
    rows.push(row("LangGraph.js / openrath, disk after 800", theirs / ours, "times", ">= 100"));
  }
  return rows;
}

/** Every candidate once per pass, in turns. */
async function turns(rounds, passes) {
  const times = new Map(CANDIDATES.map(([name]) => [name, []]));
  for (let pass = 1; pass <= passes; pass++) {
    for (const [name, run] of CANDIDATES) {
      settleHeap();
      const { ms, bytes } = await inDirectory((directory) => run(rounds, directory));
      times.get(name).push({ us: (1000 * ms) / rounds, bytes });
      progress(`${rounds} rounds, pass ${pass} of ${passes}: ${name} ${Math.round((1000 * ms) / rounds)} µs`);
    }
  }
  return times;
}

async function oursDurable(rounds, directory) {
  const ms = await timed(await openDurable(directory), rounds);
  return { ms, bytes: bytesOnDisk(directory) };
}

async function oursMemory(rounds) {
  return { ms: await timed(openrath({ store: "memory" }), rounds) };
}

async function timed(rath, rounds) {
  const ms = await loop(rath, rounds);
  await rath.close();
  return ms;
}
