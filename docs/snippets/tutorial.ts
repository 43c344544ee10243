import { Agent, openrath, replay, type Session, scripted, verify, Workflow } from "openrath";

// A script stands in for the provider: with a key, write model: "openai/gpt-5.5" and leave it out.
const script = scripted((_, { lineage }) => (lineage.label === "short" ? "Six." : "There are six words."));

/** Two answers on two forks; a check says which goes on. */
class Count extends Workflow {
  writer = new Agent({ name: "writer", model: script });
  async forward(session: Session) {
    const long = await this.writer.forward(session.fork("long"));
    const short = await this.writer.forward(session.fork("short").say("In one word."));
    const judged = await short.check("one word", () => !short.text.includes(" "));
    return judged.merge([long.reject("too many words")]);
  }
}

const count = new Count();
await using rath = openrath({ workflows: { count } });
const run = await rath.run(count, rath.session("How many words are in: to be or not to be"));
const session = await run.result();

console.log(session.text); // → Six.
console.log(session.checks.map(({ name, passed }) => `${name}: ${passed}`).join()); // → one word: true
console.log(String(await replay(session, count))); // → identical: …
console.log((await verify(session)).problems.length); // → 0
