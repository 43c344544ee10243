import { Agent, openrath, type Session, Workflow, why } from "openrath";
import { shell } from "openrath/tools";

class Learn extends Workflow {
  coder = new Agent({
    model: "openai/gpt-5.5",
    tools: [shell],
    memory: { recall: "before", remember: "tool", scope: "project", tokens: 800 },
  });
  async forward(session: Session) {
    const recalled = await session.recall("how are tests run here?", { scope: "project", limit: 3 });
    if (recalled.output.some((hit) => hit.trust === "untrusted")) return recalled.reject("recalled advice is not trusted");
    const done = await this.coder.forward(recalled);
    const test = done.calls.findLast((call) => call.tool === "shell");
    if (!test) return done;
    return done.remember({ key: "test-command", content: "npm test -- --run", scope: "project", because: [test.id] });
  }
}

await using rath = openrath();
const run = await rath.run(new Learn(), rath.session("Make the build green").to("local", { workspace: "." }));
const session = await run.result();

console.log(String(await why(session, "src/add.ts:3")));
for (const hop of (await why(session, { memory: "test-command" })).hops) console.log(hop.relation, hop.event.id, hop.summary);
for await (const use of rath.memory.usedBy("test-command")) console.log(use.session, use.event);
await rath.memory.retract("test-command", { by: "human:ada", reason: "the command changed" });
// @ts-expect-error a target is "path:line" or a named one, not free text
await why(session, "test-command");
