import { Agent, openrath } from "openrath";
import { z } from "zod";

const Findings = z.object({ claims: z.array(z.object({ text: z.string(), source: z.url() })) });
const researcher = new Agent({
  model: "openai/gpt-5.5",
  instructions: "Find primary sources.",
  output: Findings,
  limits: { usd: 0.5, time: "5m" },
});

const research = researcher.asTool({
  name: "research",
  description: "Find sourced claims on a topic.",
  input: z.object({ topic: z.string(), depth: z.number().int().max(3) }),
  say: ({ topic, depth }) => `Research ${topic}, depth ${depth}.`,
});
const writer = new Agent({ model: "openai/gpt-5.5", tools: [research] });

await using rath = openrath();
const article = await writer.forward(rath.session("Write about tides"));
for (const call of article.calls) console.log(call.by, call.tool, call.outcome.type); // nested work is a child session named in the call

const direct = await article.call(research, { topic: "neap tides", depth: 1 });
const source: string | undefined = direct.output.claims[0]?.source;
console.log(source);
