import { Agent, openrath, scripted, tool } from "openrath";
import { z } from "zod";

// #region agent
const stock = tool({
  name: "stock",
  description: "How many of an article are there.",
  input: z.object({ article: z.string() }),
  writes: "nothing",
  run: ({ article }) => (article === "lamp" ? 3 : 0),
});

const clerk = new Agent({
  name: "clerk",
  model: "openai/gpt-5.5",
  instructions: "Look into the stock before you answer.",
  tools: [stock],
  output: z.object({ article: z.string(), left: z.number() }),
  limits: { rounds: 5, tokens: 20_000 },
});
// #endregion agent

// #region ask
// A script stands in for every model of OpenAI.
const models = {
  "openai/*": scripted(
    { calls: [{ tool: "stock", input: { article: "lamp" } }] },
    { output: { article: "lamp", left: 3 } },
  ),
};
await using rath = openrath({ store: "memory", models });
const asked = rath.session("Are there lamps?");
const session = await clerk.forward(asked);
console.log(session.stop, session.output.left); // → finished 3
for (const { tool, input, outcome } of session.calls)
  console.log(tool, input, outcome);
// → stock { article: 'lamp' } { type: 'ok', value: 3 }
// #endregion ask

// #region read
const { messages, tools } = await session.request();
console.log(messages.map(({ role }) => role).join());
// → user,assistant,tool
console.log(tools.map(({ name }) => name).join()); // → stock
// #endregion read

// #region stop
const hasty = clerk.with({ limits: { rounds: 1 } });
const cut = await hasty.forward(asked.fork("hasty"));
console.log(cut.stop); // → rounds
try {
  console.log(cut.output);
} catch (error) {
  console.log(`${error}`);
  // → RathError: Session … has no output: "clerk" stopped as "rounds" (1 round).
}
// #endregion stop

// #region others
const manager = new Agent({
  name: "manager",
  // One that stands in for a model of its own.
  model: scripted(
    {
      calls: [{ tool: "clerk", input: { task: "How many lamps?" } }],
    },
    "Three are left.",
  ),
  // Any agent or workflow can be a tool: it works on a fork, and what it gives is the result.
  tools: [
    clerk.asTool({ name: "clerk", description: "Knows the stock." }),
  ],
  context: { window: 50_000 }, // the newest messages, of about so many tokens
});
const managed = await manager.forward(
  rath.session("Are there lamps?"),
);
console.log(managed.text); // → Three are left.
// #endregion others
