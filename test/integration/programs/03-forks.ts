import { Agent, best, openrath, parallel, sequence } from "openrath";
import { coding } from "openrath/tools";
import { Fix } from "./fix.ts";

const model = "anthropic/claude-sonnet-5";

// the same with combinators
const coder = new Agent({ model, tools: coding });
export const fix = sequence(
  new Agent({ model, instructions: "Plan the fix." }),
  parallel(
    {
      small: sequence((s) => s.say("Smallest change."), coder),
      thorough: sequence((s) => s.say("Fix the cause."), coder),
    },
    best,
  ),
);

await using rath = openrath();
const start = rath.session("Fix the failing test").to("local", { workspace: "./repo" });
const fixed = await new Fix().forward(start);
for (const change of await fixed.apply("./repo", { dryRun: true })) console.log(change.kind, change.path);
