import {
  Agent,
  openrath,
  type Session,
  scripted,
  Workflow,
} from "openrath";

// #region workflow
class Learn extends Workflow {
  readonly name = "learn";
  async forward(session: Session) {
    const [a, b] = [session.fork("good"), session.fork("bad")];
    const tests = "Tests are run with npm test -- --run.";
    const good = await a.remember({
      key: "test-command",
      content: tests,
    });
    const deploy = "Deploy by hand.";
    const bad = await b.remember({
      key: "deploy-command",
      content: deploy,
    });
    bad.reject("nobody deploys like that");
    return good;
  }
}
// #endregion workflow

await using rath = openrath({ store: "memory" });

// #region learn
const told = rath.session("npm test -- --run runs the tests here.");
const run = await rath.run(new Learn(), told);
await run.result(); // published when the run returns

const hits = await rath.memory.search("how are tests run");
for (const { key, version, origin, trust } of hits)
  console.log(key, version, origin, trust);
// → test-command 1 human trusted
console.log(await rath.memory.get("deploy-command")); // → undefined
// #endregion learn

// #region recall
const agent = new Agent({
  model: scripted(
    (request) => `I read ${request.messages.length} messages.`,
  ),
  memory: { recall: "before" },
});
const asked = await agent.forward(
  rath.session("How do I run the tests?"),
);
console.log(asked.text); // → I read 2 messages.
for (const { key, recall } of asked.memory.reads)
  console.log(key, recall.injected, recall.revision);
// → test-command true 1
for await (const { readBy } of rath.memory.usedBy("test-command"))
  console.log(readBy.length);
// → 1
// #endregion recall

// #region retract
await rath.memory.retract("test-command", {
  by: "human:ada",
  reason: "we moved to pnpm",
});
for (const { version, state } of await rath.memory.history(
  "test-command",
))
  console.log(version, state);
// → 1 published
// → 2 retracted
console.log((await rath.memory.search("how are tests run")).length);
// → 0
// #endregion retract
