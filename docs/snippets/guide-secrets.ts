import { openrath } from "openrath";
import { scan } from "openrath/audit";

await using rath = openrath({ store: "memory", secrets: ["hunter2-hunter2"] });
const session = await rath
  .session(`My token is ghp_${"a1B2c3D4e5".repeat(4)}`)
  .do("log in", () => ({ header: "Bearer hunter2-hunter2", note: "the door code is 47-11-08" }));
console.log(session.messages[0]?.text); // → My token is [redacted]
console.log(session.output.header); // → Bearer [redacted]

// What was not declared is there. A scan finds it once somebody knows what to look
// for.
console.log((await scan(rath)).clean); // → true
const { findings } = await scan(rath, { secrets: ["47-11-08"] });
for (const { in: place, where, masked } of findings) console.log(place, where, masked);
// → event data.value.note … (8 characters)
