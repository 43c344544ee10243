import { Agent, openrath, Selector, type Session, Workflow } from "openrath";

const model = "openai/gpt-5.5";
class Docs extends Workflow {
  description = "Writes or corrects documentation.";
  writer = new Agent({ model });
  async forward(session: Session) {
    return this.writer.forward(session);
  }
}
const fix = new Agent({ model, description: "Repairs failing tests." });
const docs = new Docs();

export const byModel = new Selector({
  choices: { fix, docs },
  choose: model,
  instructions: "Stop when the tests pass and the docs match.",
  limits: { rounds: 6 },
});
export const byRule = new Selector({ choices: { fix, docs }, choose: (session) => (session.checks.at(-1)?.passed ? "done" : "fix") });

class Plain extends Workflow {
  async forward(session: Session) {
    return session;
  }
}
// @ts-expect-error a choice must describe itself
new Selector({ choices: { plain: new Plain() }, choose: model });
// @ts-expect-error not one of the choices
new Selector({ choices: { fix, docs }, choose: () => "deploy" });

await using rath = openrath();
const ended = await byModel.forward(rath.session("Tests are red, README is old"));
for (const route of ended.routes) console.log(route.choice, route.reason);

// a hand-written loop
let session: Session = rath.session("Tests are red");
for (let turn = 0; turn < 6; turn++) {
  const chosen = await byRule.select(session);
  session = chosen; // without this line the decision is lost, and it still compiles
  if (chosen.output.choice === "done") break;
  session = await { fix, docs }[chosen.output.choice].forward(session);
}
