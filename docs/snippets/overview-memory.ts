import { Agent, openrath, scripted, why } from "openrath";

// A script stands in for the provider here too.
await using rath = openrath({ models: { "openai/*": scripted("With npm test -- --run.") } });
const taught = rath.session("Tests are run with: npm test -- --run");
const learned = await taught.remember({ key: "test-command", content: "npm test -- --run" });
await rath.memory.publish(learned); // a run does this by itself when it returns

const agent = new Agent({ model: "openai/gpt-5.5", memory: { recall: "before", tokens: 800 }, context: { summariseAt: 100_000 } });
const session = await agent.forward(rath.session("How do I run the tests?"));
for (const { key, trust, recall } of session.memory.reads) console.log(key, trust, recall.injected); // → test-command trusted true
for await (const use of rath.memory.usedBy("test-command")) console.log(use.session === session.id, use.readBy.length); // → true 1
console.log(String(await why(session, { memory: "test-command" })).split("\n").length > 1); // → true
