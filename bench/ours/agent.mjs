// Our agent loop, through the public doors only: a model without latency asks for one tool, round after round. Four events a
// round, and the tool is `once`, so every round waits for the disk.
import { z } from "zod";
import { Agent, openrath, tool } from "../../dist/index.js";
import { inDirectory, median, now, progress } from "../measure.mjs";
import { call, result } from "../payload.mjs";
import { row } from "../report.mjs";
import { openDurable } from "./rounds.mjs";

const usage = { input: 100, output: 10, cached: 0, cacheWrite: 0, reasoning: 0 };

/** Asks for the tool `rounds` times, then answers. */
function askingFor(rounds) {
  return {
    id: "zero-latency",
    free: true,
    async *stream(_request, { turn }) {
      const parts =
        turn < rounds
          ? [{ type: "call", id: `call_${turn}`, tool: "lookup", input: JSON.stringify(call(turn).input) }]
          : [{ type: "text", text: "done" }];
      yield { type: "reply", reply: { parts, finish: turn < rounds ? "calls" : "stop", usage } };
    },
  };
}

/** Runs the loop on a new session and gives the milliseconds it took. `spent` gets the time of each round. */
export async function loop(rath, rounds, spent) {
  let used = 0;
  let last = now();
  const lookup = tool({
    name: "lookup",
    description: "Looks up",
    input: z.object({ query: z.string() }),
    repeat: "once",
    run: () => {
      const time = now();
      spent?.push(time - last);
      last = time;
      return result(used++);
    },
  });
  const agent = new Agent({ model: askingFor(rounds), tools: [lookup], limits: { rounds: rounds + 1 } });
  const begin = now();
  const run = await rath.run(agent, rath.session("begin"));
  const session = await run.result();
  const ms = now() - begin;
  if (used !== rounds || session.stop !== "finished")
    throw new Error(`the tool was used ${used} times instead of ${rounds}: ${session.stop}`);
  return ms;
}

/** Is a round late in a run as quick as an early one? Medians around round 30, 200, 800 and 3 000 of the same runs. */
export async function measure({ quick }) {
  const places = quick ? [30, 200, 800] : [30, 200, 800, 3000];
  const rounds = places.at(-1);
  const around = new Map(places.map((place) => [place, []]));
  // What runs first is compiled on the way, and a forced collection throws compiled code away; neither is a matter of how long a session is.
  await inDirectory(async (directory) => {
    const rath = await openDurable(directory);
    await loop(rath, quick ? 2000 : 8000);
    await rath.close();
  });
  for (let pass = 1; pass <= (quick ? 2 : 5); pass++) {
    await inDirectory(async (directory) => {
      const rath = await openDurable(directory);
      const spent = [];
      await loop(rath, rounds, spent);
      await rath.close();
      for (const place of places) around.get(place).push(median(spent.slice(Math.max(1, place - 25), place + 25)));
      progress(
        `agent loop, pass ${pass}: ${places.map((place) => `${Math.round(1000 * around.get(place).at(-1))} µs at ${place}`).join(", ")}`,
      );
    });
  }
  const at = (place) => 1000 * median(around.get(place));
  const memory = openrath({ store: "memory" });
  await loop(memory, 200);
  const inMemory = (1000 * (await loop(memory, 1000))) / 1000;
  await memory.close();
  return [
    ...places.map((place) => row(`agent round, durable, at ${place}`, at(place), "µs")),
    row("agent round, in memory, over 1 000", inMemory, "µs"),
    row(`agent round at ${rounds} / at 30`, at(rounds) / at(30), "times", "<= 1.2"),
  ];
}
