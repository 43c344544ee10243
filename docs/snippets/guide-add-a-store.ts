import { Agent, openrath, scripted, verify } from "openrath";
import { directoryStore } from "./guide-directory-store.ts";

const greeter = new Agent({ name: "greeter", model: scripted("Hello, Ada.") });
await using rath = openrath({
  store: directoryStore("record"),
  workflows: { greeter },
});
const run = await rath.run(greeter, rath.session("Greet Ada."), { key: "greeting" });
const session = await run.result();
console.log(session.text); // → Hello, Ada.

// Another process would open the same directory, and find the same run by its key.
await using other = openrath({ store: directoryStore("record"), workflows: { greeter } });
const again = await other.run(greeter, other.session("Greet Ada."), { key: "greeting" });
console.log((await again.result()).head === session.head); // → true
console.log((await verify(await other.open(session.id))).problems.length, "problems");
// → 0 problems
