// Best of n: n ways on forks of one exploration, against exploring anew for each of them. The model is scripted: every call takes
// the same time, and tokens are counted over what it was really sent. Both must read the same, answer the same and choose the same.
import { z } from "zod";
import { cost } from "../../dist/audit/audit.js";
import { Agent, best, scripted, tool, Workflow } from "../../dist/index.js";
import { inDirectory, median, now, progress } from "../measure.mjs";
import { result } from "../payload.mjs";
import { row } from "../report.mjs";
import { openDurable } from "./rounds.mjs";

const LATENCY_MS = 25;

/** Explores for some rounds, then tries ways on forks. */
class Solve extends Workflow {
  name = "solve";
  tries = [];
  constructor(rounds, ways) {
    super();
    const look = tool({
      name: "look",
      description: "Looks at a place.",
      input: z.object({ place: z.number() }),
      writes: "nothing",
      run: ({ place }) => result(place),
    });
    const asking = Array.from({ length: rounds }, (_, place) => ({ calls: [{ tool: "look", input: { place } }], delay: LATENCY_MS }));
    const explored = { text: "I have seen enough.", delay: LATENCY_MS };
    const answer = ({ messages }) => ({ text: `Done ${messages.at(-1).parts[0].text}.`, delay: LATENCY_MS });
    this.explorer = new Agent({ model: scripted(...asking, explored), tools: [look], limits: { rounds: rounds + 1 } });
    this.solver = new Agent({ model: scripted(answer), instructions: "Solve it the way you are told to." });
    this.ways = ways;
  }
  async forward(session) {
    const explored = await this.explorer.forward(session);
    this.tries = await Promise.all(
      this.ways.map(async (way) => {
        const solved = await this.solver.forward(explored.fork(`way ${way}`).say(`in way ${way}`));
        return solved.check("score", () => ({ passed: true, score: score(solved.text) }));
      }),
    );
    return best(this.tries);
  }
}

/** How good an answer is: the best of 4 and of 8 is neither the first nor the last. */
function score(text) {
  return (Number(/\d+/.exec(text)[0]) * 3 + 1) % 8;
}

/** Runs workflows, all at once or one after the other; what came of it, what it took and what was read and written. */
async function measured(rath, workflows, atOnce) {
  const begin = now();
  const start = async (workflow) => (await rath.run(workflow, rath.session("Find the best way."))).result();
  const sessions = atOnce ? await Promise.all(workflows.map(start)) : [];
  if (!atOnce) for (const workflow of workflows) sessions.push(await start(workflow));
  const ms = now() - begin;
  const tries = workflows.flatMap((workflow) => workflow.tries);
  const costs = await Promise.all(sessions.map((session) => cost(session)));
  const tokens = costs.reduce((sum, { total }) => sum + total.usage.input + total.usage.output, 0);
  const read = await Promise.all(tries.map(async (session) => JSON.stringify(await session.request())));
  return { ms, tokens, chosen: (await best(sessions)).text, answers: tries.map(({ text }) => text), read };
}

export function measure({ quick }) {
  const [rounds, n, passes] = quick ? [10, 4, 1] : [20, 8, 3];
  const ways = Array.from({ length: n }, (_, way) => way);
  const again = () => ways.map((way) => new Solve(rounds, [way]));
  return inDirectory(async (directory) => {
    const rath = await openDurable(directory);
    const ratios = { tokens: [], one: [], all: [] };
    for (let pass = 0; pass <= passes; pass++) {
      const forks = await measured(rath, [new Solve(rounds, ways)], true);
      const one = await measured(rath, again(), false);
      const all = await measured(rath, again(), true);
      for (const other of [one, all])
        for (const what of ["chosen", "answers", "read"])
          if (JSON.stringify(other[what]) !== JSON.stringify(forks[what])) throw new Error(`${what}: ${other[what]} is not ${forks[what]}`);
      progress(
        `${n} ways after ${rounds} rounds: ${forks.tokens} against ${one.tokens} tokens, ${Math.round(forks.ms)} against ${Math.round(one.ms)} ms, ${Math.round(all.ms)} at once; chosen: ${forks.chosen}`,
      );
      if (pass === 0) continue; // warm-up
      ratios.tokens.push(one.tokens / forks.tokens);
      ratios.one.push(one.ms / forks.ms);
      ratios.all.push(all.ms / forks.ms);
    }
    await rath.close();
    const name = `best of ${n} after ${rounds} rounds, from the start / on forks`;
    return [
      row(`${name}: tokens`, median(ratios.tokens), "times"),
      row(`${name}: time, one run after the other`, median(ratios.one), "times"),
      row(`${name}: time, all runs at once`, median(ratios.all), "times"),
      row(`${name}: equal answers, requests and choice`, n, `of ${n}`, `>= ${n}`),
    ];
  });
}
