import { Agent, openrath, replay, scripted, tool } from "openrath";
import { z } from "zod";

const weather = tool({
  name: "weather",
  description: "The weather of a city.",
  input: z.object({ city: z.string() }),
  writes: "nothing",
  run: async ({ city }) => ({ city, sky: "rain" }),
});

// A provider object goes here as it is: openai("gpt-5.5"), or the name
// "openai/gpt-5.5".
const call = { calls: [{ tool: "weather", input: { city: "Porto" } }] };
const model = scripted(call, "Take an umbrella.", "Tomorrow is dry.");

// #region agent
const guide = new Agent({
  name: "guide",
  model,
  instructions: "You plan walks.",
  tools: [weather],
  limits: { rounds: 5 },
});
await using rath = openrath();
const run = await rath.run(guide, rath.session("A walk in Porto?"), { key: "walk-1" });
const session = await run.result();
console.log(session.text, session.calls.length); // → Take an umbrella. 1
// #endregion agent

// #region after
console.log(String(await replay(session, guide)));
// → identical: 9 events compared, nothing called
// The next turn of the conversation, on the same value
const second = await guide.forward(session.say("And tomorrow?"));
console.log(second.text, session.messages.length, second.messages.length);
// → Tomorrow is dry. 4 6
// #endregion after

// #region stream
const stream = guide.stream(rath.session("A walk in Porto?"));
for await (const part of stream) if (part.type === "tool-start") console.log(part.tool);
// → weather
console.log((await stream.result()).text); // → Take an umbrella.
// #endregion stream
