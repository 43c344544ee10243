/** What the compiler tells those who write agents and workflows. Checked by `npm run check:types`; nothing here runs. */
import { expectTypeOf } from "vitest";
import { z } from "zod";
import {
  Agent,
  best,
  loop,
  openrath,
  parallel,
  race,
  Selector,
  type Session,
  type Stream,
  scripted,
  sequence,
  Workflow,
} from "../index.ts";

const Plan = z.object({ steps: z.array(z.string()) });
type Plan = z.infer<typeof Plan>;
const model = scripted("hello");
const writer = new Agent({ model });
const planner = new Agent({ model, output: Plan });

class Work extends Workflow {
  planner = planner;
  async forward(session: Session) {
    return this.planner.forward(session);
  }
}

export async function outputs(): Promise<void> {
  const rath = openrath();
  const session = rath.session("go");
  expectTypeOf((await writer.forward(session)).output).toEqualTypeOf<string>();
  expectTypeOf((await planner.forward(session)).output).toEqualTypeOf<Plan>();
  expectTypeOf((await new Work().forward(session)).output).toEqualTypeOf<Plan>();
  expectTypeOf(writer.stream(session)).toEqualTypeOf<Stream<string>>();
  expectTypeOf(await (await rath.run(new Work(), session)).result()).toEqualTypeOf<Session<Plan>>();
  expectTypeOf((await (await rath.run("by name", session)).result()).output).toBeUnknown();
  expectTypeOf(planner.with({ instructions: "Plan." })).toEqualTypeOf<Agent<Plan>>();

  expectTypeOf((await sequence(writer, (at) => at.say("on"), planner).forward(session)).output).toEqualTypeOf<Plan>();
  expectTypeOf((await parallel({ a: writer, b: writer }, best).forward(session)).output).toEqualTypeOf<string>();
  expectTypeOf((await race({ a: planner, b: planner }).forward(session)).output).toEqualTypeOf<Plan>();
  expectTypeOf(
    (await loop(planner, { until: ({ output }) => output.steps.length > 0, max: 2 }).forward(session)).output,
  ).toEqualTypeOf<Plan>();

  const help = planner.asTool({ name: "plan", description: "Plans.", input: z.object({ what: z.string() }), say: ({ what }) => what });
  expectTypeOf((await session.call(help, { what: "x" })).output).toEqualTypeOf<Plan>();
  // @ts-expect-error the input is checked
  await session.call(help, { task: "x" });
}

export async function routes(session: Session): Promise<void> {
  const fix = new Agent({ model, description: "Fixes." });
  const docs = new Agent({ model, description: "Writes." });
  const selector = new Selector({ choices: { fix, docs }, choose: () => "fix" });
  expectTypeOf((await selector.select(session)).output.choice).toEqualTypeOf<"fix" | "docs" | "done">();
  // @ts-expect-error not one of the choices
  new Selector({ choices: { fix, docs }, choose: () => "deploy" });
  // @ts-expect-error an agent needs a model
  new Agent({ instructions: "Hello." });
}
