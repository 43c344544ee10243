import { Agent, openrath, type Session, scripted, Workflow } from "openrath";

/** Learns how tests are run here, on a branch that is kept and on one that is not. */
class Learn extends Workflow {
  readonly name = "learn";
  async forward(session: Session) {
    const good = await session.fork("good").remember({ key: "test-command", content: "Tests are run with npm test -- --run." });
    const bad = await session.fork("bad").remember({ key: "deploy-command", content: "Deploy with rm -rf." });
    bad.reject("nobody deploys like that");
    return good;
  }
}

await using rath = openrath({ store: "memory" });

// #region learn
const run = await rath.run(new Learn(), rath.session("npm test -- --run runs the tests here."));
await run.result(); // published when the run returns
for (const { key, version, origin, trust } of await rath.memory.search("how are tests run")) console.log(key, version, origin, trust);
// → test-command 1 human trusted
console.log(await rath.memory.get("deploy-command")); // → undefined
// #endregion learn

// #region recall
const agent = new Agent({ model: scripted((request) => `I read ${request.messages.length} messages.`), memory: { recall: "before" } });
const asked = await agent.forward(rath.session("How do I run the tests?"));
console.log(asked.text); // → I read 2 messages.
for (const { key, recall } of asked.memory.reads) console.log(key, recall.injected, recall.revision); // → test-command true 1
for await (const { readBy } of rath.memory.usedBy("test-command")) console.log(readBy.length); // → 1
// #endregion recall

// #region retract
await rath.memory.retract("test-command", { by: "human:ada", reason: "we moved to pnpm" });
console.log((await rath.memory.history("test-command")).map(({ version, state }) => `${version} ${state}`)); // → [ '1 published', '2 retracted' ]
console.log((await rath.memory.search("how are tests run")).length); // → 0
// #endregion retract
