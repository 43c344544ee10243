// A large session for whoever asks about sessions: branches that leave the line, work, write files and come back by merges or are
// given up, and at last an agent that reads what a branch wrote and writes a line itself.
import { Agent, scripted, tool, Workflow } from "../../dist/index.js";
import { readFile, writeFile } from "../../dist/tool/builtin/tools.js";
import { EVENTS_PER_ROUND, toolRound } from "./rounds.mjs";

/** The words that travel: from a branch into a file, into the agent's context, into its line and its answer. */
export const words = "the tide turns at noon";
/** The file that every fourth branch adds a line to, and the line the agent adds to it. */
export const path = "notes/shared.md";

/** Opens a branch, lets it work, and merges it; every tenth one is given up. */
class Large extends Workflow {
  #shape;
  constructor(shape) {
    super();
    this.#shape = shape;
  }

  async forward(session) {
    const { branches, rounds } = this.#shape;
    let line = session;
    let text = `${words}\n`;
    for (let index = 0; index < branches; index++) {
      let branch = line.fork(`branch ${index}`).say(`Part ${index}`);
      for (let round = 0; round < rounds; round++) branch = await toolRound(branch, round);
      branch = await branch.call(writeFile, { path: `parts/p${index % 100}.txt`, content: `part ${index}\n` });
      if (index % 4 === 0) {
        branch = await branch.call(writeFile, { path, content: text });
        text += `line ${index}\n`;
      }
      if (index % 10 === 9) await branch.reject("not needed").do("close", () => "closed");
      else line = await line.merge(branch);
    }
    return asked().forward(line.say("Read the notes and go on."));
  }
}

function asked() {
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

/** Writes one with about so many events on so many branches; gives its id. */
export async function writeLargeSession(rath, { events, branches }) {
  // Beside its rounds a branch has a fork, a message, one or two calls of a tool and a merge.
  const rounds = Math.max(1, Math.round((events / branches - 5) / EVENTS_PER_ROUND));
  const run = await rath.run(new Large({ branches, rounds }), rath.session("A large session").to("memory"));
  return (await run.result()).id;
}
