// A large session for whoever asks about sessions: branches that leave the line, on which agents reply, look things up, write files
// and remember, and which come back by merges or are given up; at last an agent reads what a branch wrote and writes a line itself.
import { join } from "node:path";
import { Agent, openrath, scripted, tool, Workflow } from "../../dist/index.js";
import { readFile, writeFile } from "../../dist/tool/builtin/tools.js";
import { manyTexts } from "../memory-items.mjs";

/** The words that travel: from a branch into a file, into the agent's context, into its line and its answer. */
export const words = "the tide turns at noon";
/** The file that every fourth branch adds a line to. */
export const path = "notes/shared.md";
/** What a hundred branches are asked, and what one tool said once. */
export const asked = { often: "mind the estuary", once: "gauge-77-1." };

const EVENTS_PER_ROUND = 4;
/** Beside its rounds a branch has a fork, a message, the begin and the end of the agent, its last reply, a message on the line and a merge. */
const EVENTS_BESIDE = 10;
const usage = { input: 1800, output: 120, cached: 1500, cacheWrite: 0, reasoning: 0 };

/** Texts of ordinary size: about 900 characters of what a tool found, 150 of what an agent says. */
function phrases() {
  const { texts } = manyTexts(3000);
  const text = (number) => texts[number % texts.length].content;
  return { said: text, found: (number) => [1, 2, 3, 4, 5, 6].map((n) => text(number * 7 + n * 331)).join("\n") };
}

/** Opens a branch, lets an agent work on it, and merges it; every tenth one is given up. */
class Large extends Workflow {
  #shape;
  #phrases = phrases();
  constructor(shape) {
    super();
    this.#shape = shape;
  }

  async forward(session) {
    const { branches, rounds } = this.#shape;
    const often = Math.max(1, Math.floor(branches / 100));
    let line = session;
    let notes = `${words}\n`;
    for (let index = 0; index < branches; index++) {
      const ask = index % often === 0 && index / often < 100 ? `, and ${asked.often}` : "";
      let branch = line.fork(`branch ${index}`).say(`Part ${index}${ask}: ${this.#phrases.said(index)}`);
      branch = await this.#worker(index, rounds, index % 4 === 0 ? notes : undefined).forward(branch);
      // The line goes on meanwhile: of a branch that is merged then, models read what it came to, not all that was said on it.
      line = line.say(`Part ${index} is under way.`);
      if (index % 4 === 0) notes += `line ${index}\n`;
      if (index % 8 === 1) branch = await branch.remember({ key: `part-${index % 100}`, content: this.#phrases.said(index * 3) });
      if (index % 10 === 9) await branch.reject("not needed").do("close", () => "closed");
      else line = await line.merge(branch);
    }
    return reader().forward(line.say("Read the notes and go on."));
  }

  /** Says something and calls a tool in every round: mostly it looks something up, at last it writes files. */
  #worker(index, rounds, notes) {
    const { said, found } = this.#phrases;
    const lookup = tool({
      name: "lookup",
      description: "Looks up what gauges measured.",
      input: { type: "object", properties: { query: { type: "string" } } },
      repeat: "safe",
      run: ({ round }) => `gauge-${index}-${round}.\n${found(index * rounds + round)}`,
    });
    let turn = 0;
    const model = {
      id: "worker",
      free: true,
      async *stream() {
        const round = turn++;
        const text = { type: "text", text: said(index * rounds + round) };
        const last = notes !== undefined && round === rounds - 2 ? { path, content: notes } : undefined;
        const file = round === rounds - 1 ? { path: `parts/p${index % 100}.txt`, content: `part ${index}\n${said(index)}\n` } : last;
        const call = file === undefined ? { tool: "lookup", input: { round, query: said(round) } } : { tool: "write_file", input: file };
        const parts =
          round < rounds ? [text, { type: "call", id: `call_${round}`, tool: call.tool, input: JSON.stringify(call.input) }] : [text];
        yield { type: "reply", reply: { parts, finish: round < rounds ? "calls" : "stop", usage } };
      },
    };
    return new Agent({ name: "worker", model, tools: [lookup, writeFile], limits: { rounds: rounds + 1 } });
  }
}

function reader() {
  const seen = tool({
    name: "look",
    description: "Looks at the notes.",
    input: { type: "object", properties: { path: { type: "string" } } },
    repeat: "safe",
    run: async (input, { sandbox }) =>
      Buffer.from(await sandbox.read(input.path))
        .toString()
        .split("\n")[0],
  });
  const add = { path: "notes/answer.md", content: `As noted, ${words}.\n${words}\n` };
  const model = scripted(
    { calls: [{ tool: "look", input: { path } }] },
    { calls: [{ tool: "write_file", input: add }] },
    `I wrote down that ${words}.`,
  );
  return new Agent({ name: "asked", model, tools: [seen, readFile, writeFile] });
}

/** Writes one with about so many events on so many branches into the store of a directory; gives its id. */
export async function writeLargeSession(directory, { events, branches }) {
  // Nobody waits for the disk, except for files: those tools may not be repeated.
  const rath = openrath({ store: join(directory, "rath.db"), durability: "relaxed" });
  const rounds = Math.max(3, Math.round((events / branches - EVENTS_BESIDE) / EVENTS_PER_ROUND));
  const run = await rath.run(new Large({ branches, rounds }), rath.session("A large session").to("memory"));
  const { id } = await run.result();
  await rath.close();
  return id;
}
