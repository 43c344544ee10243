import { Agent, openrath, replay, Selector, scripted, sequence } from "openrath";

const coder = new Agent({ name: "coder", model: scripted("A patch.", "A better patch."), description: "Writes the patch." });
const tested = sequence(coder, (session) => session.check("tests", () => session.text === "A better patch."));

// #region selector
const fix = Object.assign(tested, { description: "Writes a patch and runs the tests." });
const docs = new Agent({ name: "docs", model: scripted("Documented."), description: "Documents a patch whose tests pass." });

const team = new Selector({
  choices: { fix, docs },
  choose: ({ checks, routes }) => {
    if (checks.at(-1)?.passed !== true) return { choice: "fix", reason: "the tests do not pass yet" };
    if (routes.at(-1)?.choice === "docs") return "done";
    return { choice: "docs", reason: "the tests pass", context: "Document the patch." };
  },
  limits: { rounds: 6 },
});

await using rath = openrath({ store: "memory" });
const session = await team.forward(rath.session("Mend the parser."));
for (const { choice, reason } of session.routes) console.log(`${choice}: ${reason}`);
// #endregion selector
console.log(session.text, session.stop);
console.log(String(await replay(session, team)));
