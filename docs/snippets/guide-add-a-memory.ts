import { openrath } from "openrath";
import { directoryMemory } from "./guide-directory-memory.ts";

await using rath = openrath({
  store: "memory",
  memory: directoryMemory("remembered"),
});
const taught = await rath.session("We test with: npm test").remember({ key: "test-command", content: "npm test" });
await rath.memory.publish(taught); // a run does this by itself when it returns

// Another project that reads the same directory.
await using other = openrath({ store: "memory", memory: directoryMemory("remembered") });
const recalled = await other.session("How do I test?").recall("test command");
for (const { key, content, trust } of recalled.output) console.log(key, content, trust);
// → test-command npm test trusted
console.log(recalled.memory.reads[0]?.recall.revision); // → 1
