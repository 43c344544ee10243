import { Agent, best, openrath, replay, type Session, scripted, Workflow } from "openrath";

/** Two answers on two forks; the better one goes on, the other stays in the graph with the reason. */
class Answer extends Workflow {
  writer = new Agent({ model: "openai/gpt-5.5", instructions: "Answer in one sentence." });
  async forward(session: Session) {
    const tries = ["plain", "poetic"].map(async (style) => {
      const written = await this.writer.forward(session.fork(style).say(`Be ${style}.`));
      return written.check("short", () => written.text.length < 40);
    });
    return best(await Promise.all(tries));
  }
}

const answer = new Answer();
// A script stands in for the provider. To ask the real one: npm install @ai-sdk/openai, set OPENAI_API_KEY, take `models` out, change `key`.
const poem = "A river that remembers every stone it ever touched.";
const models = { "openai/*": scripted((_, { lineage }) => (lineage.label === "poetic" ? poem : "A value that holds its past.")) };
await using rath = openrath({ workflows: { answer }, models });
const run = await rath.run(answer, rath.session("What is a session?"), { key: "monday" });
const session = await run.result(); // killed on the way? start it again: what has a result is not done twice
console.log(session.text); // A value that holds its past.
console.log(String(await replay(session, answer))); // identical: 22 events compared, nothing called
