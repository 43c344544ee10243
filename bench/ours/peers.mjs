// µs per round of an agent loop over a whole run of 50, 200 and 800 rounds: ours and the peers in turns, each in a process of its own,
// zero-latency models.
import { median, progress } from "../measure.mjs";
import { startProcess } from "../process.mjs";
import { row } from "../report.mjs";

const OURS = "openrath, SQLite";
const PEERS = ["LangGraph.js, SqliteSaver", "LangGraph.js, MemorySaver", "AI SDK ToolLoopAgent", "OpenAI Agents JS"];
const CANDIDATES = [OURS, "openrath, memory", ...PEERS];
/** How often the durable one must be faster at 200 rounds. */
const GOALS = { "LangGraph.js, SqliteSaver": ">= 30", "AI SDK ToolLoopAgent": ">= 5", "OpenAI Agents JS": ">= 5" };

export async function measure({ quick }) {
  const rows = [];
  const processes = new Map(CANDIDATES.map((name) => [name, startProcess(new URL("peer-process.mjs", import.meta.url))]));
  await turns(processes, 200, 10);
  for (const rounds of quick ? [50, 200] : [50, 200, 800]) {
    const times = await turns(processes, rounds, rounds === 800 ? 1 : quick ? 3 : 5);
    for (const name of CANDIDATES) rows.push(row(`${name}, round over ${rounds}`, median(times.get(name).map((t) => t.us)), "µs"));
    for (const name of PEERS) {
      const ratio = median(times.get(name).map((t, i) => t.us / times.get(OURS)[i].us));
      rows.push(row(`${name} / ${OURS}, over ${rounds}`, ratio, "times", rounds === 200 ? GOALS[name] : undefined));
    }
    if (rounds !== 800) continue;
    const [ours, theirs] = [OURS, "LangGraph.js, SqliteSaver"].map((name) => times.get(name)[0].bytes);
    rows.push(row(`${OURS}, disk after 800`, ours / 1e6, "MB"), row("LangGraph.js, SqliteSaver, disk after 800", theirs / 1e6, "MB"));
    rows.push(row("LangGraph.js / openrath, disk after 800", theirs / ours, "times", ">= 100"));
  }
  for (const each of processes.values()) await each.stop();
  return rows;
}

/** Every candidate once per pass, in turns. */
async function turns(processes, rounds, passes) {
  const times = new Map(CANDIDATES.map((name) => [name, []]));
  for (let pass = 1; pass <= passes; pass++) {
    for (const [name, process] of processes) {
      const { ms, bytes } = await process.ask("run", { name, rounds });
      times.get(name).push({ us: (1000 * ms) / rounds, bytes });
      progress(`${rounds} rounds, pass ${pass} of ${passes}: ${name} ${Math.round((1000 * ms) / rounds)} µs`);
    }
  }
  return times;
}
