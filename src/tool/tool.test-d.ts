/** What the compiler tells those who make and call tools. Checked by `npm run check:types`; nothing here runs. */
import { expectTypeOf } from "vitest";
import { z } from "zod";
import { Agent, type Session, type Tool, tool } from "../index.ts";

const weather = tool({
  name: "weather",
  description: "Weather of a city.",
  input: z.object({ city: z.string(), unit: z.enum(["C", "F"]).default("C"), day: z.string().transform(Number) }),
  needsApproval: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ city: string; unit: "C" | "F"; day: number }>();
    return input.unit === "F";
  },
  resource: ({ day }) => {
    expectTypeOf(day).toBeNumber();
    return `day:${day}`;
  },
  run: async (input, context) => {
    // What `run` receives has been through the schema: defaults are there, transforms were made.
    expectTypeOf(input).toEqualTypeOf<{ city: string; unit: "C" | "F"; day: number }>();
    expectTypeOf(context.key).toBeString();
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(context.session).toExtend<Session>();
    return { degrees: 20 };
  },
  probe: async () => ({ happened: true, output: { degrees: 1 } }),
});

const byJsonSchema = tool({
  name: "raw",
  description: "By JSON Schema.",
  input: { type: "object", properties: { a: { type: "number" } } },
  run: (input) => {
    expectTypeOf(input).toBeUnknown();
    return 1;
  },
});

export async function whatCompiles(session: Session): Promise<void> {
  // A caller writes what the schema takes, and reads what `run` gave.
  const called = await session.call(weather, { city: "Lisbon", day: "1" });
  expectTypeOf(called.output.degrees).toBeNumber();
  expectTypeOf(called).toExtend<Session<{ degrees: number }>>();
  await session.call(weather, { city: "Lisbon", day: "1", unit: "F" });
  // @ts-expect-error the city is missing
  await session.call(weather, { day: "1" });
  // @ts-expect-error a caller gives what goes into the transform
  await session.call(weather, { city: "Lisbon", day: 1 });
  // @ts-expect-error there is no such unit
  await session.call(weather, { city: "Lisbon", day: "1", unit: "K" });
  expectTypeOf((await session.call(byJsonSchema, { anything: true })).output).toBeNumber();

  // Tools of all inputs fit one list.
  const tools: readonly Tool[] = [weather, byJsonSchema];
  new Agent({ model: "openai/none", tools });

  // A workflow as a tool takes a task, or what its schema says, and gives the workflow's output.
  const planner = new Agent({ model: "openai/none", output: z.object({ steps: z.array(z.string()) }) });
  const plan = planner.asTool({ name: "plan", description: "Plans." });
  expectTypeOf((await session.call(plan, { task: "Build it" })).output).toExtend<{ steps: readonly string[] }>();
  // @ts-expect-error a task is text
  await session.call(plan, { task: 1 });
  const typed = planner.asTool({ name: "p", description: "d", input: z.object({ goal: z.string() }), say: ({ goal }) => goal });
  await session.call(typed, { goal: "g" });
  // @ts-expect-error the goal is missing
  await session.call(typed, {});

  // @ts-expect-error a person is asked by a function that says so at once
  tool({ name: "t", description: "d", input: z.object({}), run: () => 1, needsApproval: async () => true });
  // @ts-expect-error there is no such repeat class
  tool({ name: "t", description: "d", input: z.object({}), run: () => 1, repeat: "twice" });
  // @ts-expect-error a duration has a unit
  tool({ name: "t", description: "d", input: z.object({}), run: () => 1, timeout: "30" });
}
