import {
  Agent,
  openrath,
  replay,
  Selector,
  type Session,
  scripted,
  Workflow,
} from "openrath";

// #region choices
class Fix extends Workflow {
  readonly description = "Writes a patch and runs the tests.";
  coder = new Agent({
    name: "coder",
    model: scripted("A patch.", "A better patch."),
  });
  async forward(session: Session) {
    const coded = await this.coder.forward(session);
    return coded.check(
      "tests",
      () => coded.text === "A better patch.",
    );
  }
}
const fix = new Fix();
const docs = new Agent({
  name: "docs",
  model: scripted("Documented."),
  description: "Documents a patch whose tests pass.",
});
// #endregion choices

// #region team
const team = new Selector({
  choices: { fix, docs },
  choose: ({ checks, routes }) => {
    if (checks.at(-1)?.passed !== true)
      return { choice: "fix", reason: "the tests do not pass yet" };
    if (routes.at(-1)?.choice === "docs") return "done";
    return {
      choice: "docs",
      reason: "the tests pass",
      context: "Document the patch.",
    };
  },
  limits: { rounds: 6 },
});

await using rath = openrath({ store: "memory" });
const session = await team.forward(rath.session("Mend the parser."));
for (const { choice, reason } of session.routes)
  console.log(`${choice}: ${reason}`);
// → fix: the tests do not pass yet
// → fix: the tests do not pass yet
// → docs: the tests pass
// → done: by rule
console.log(session.text, session.stop); // → Documented. finished
console.log((await replay(session, team)).identical); // → true
// #endregion team
