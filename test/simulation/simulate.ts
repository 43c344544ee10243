/** Lives one world from its seed and says what is wrong with it. */
import { createHash } from "node:crypto";
import { validateAnswer } from "../../src/runtime/validate-answer.ts";
import { check, type Outcomes } from "./check.ts";
import { calmly, type Plan, planFrom } from "./plan.ts";
import { type Breaks, World } from "./world.ts";

export interface Simulated {
  readonly seed: number;
  readonly problems: readonly string[];
  readonly steps: number;
  readonly virtualMs: number;
  readonly fenced: number;
  readonly faults: World["faults"];
  readonly trace: readonly string[];
  /** Of everything that happened, in its order. */
  readonly digest: string;
}

/** What the runtime loads when it first needs it is loaded: a world does not wait for files. */
let ready: Promise<void> | undefined;
const load = (): Promise<void> =>
  validateAnswer(
    { kind: "question", question: "", answer: { type: "string" }, id: "", run: "", session: "", since: "", by: "" },
    { by: "human:test", answer: "" },
    "ask",
  );

export async function simulate(seed: number, breaks?: Breaks): Promise<Simulated> {
  ready ??= load();
  await ready;
  const plan = planFrom(seed);
  const calm = await outcomesOf(calmly(plan));
  const world = new World(plan, breaks);
  await world.live();
  const { problems } = await check(world, calm.outcomes);
  const { schedule, seen, faults } = world;
  return {
    seed,
    problems: [...calm.problems.map((problem) => `calmly: ${problem}`), ...problems],
    steps: schedule.taken,
    virtualMs: schedule.now - schedule.began,
    fenced: seen.fenced,
    faults,
    trace: schedule.trace,
    digest: createHash("sha256").update(schedule.trace.join("\n")).digest("hex"),
  };
}

async function outcomesOf(plan: Plan | undefined): Promise<{ readonly problems: readonly string[]; readonly outcomes: Outcomes }> {
  if (plan === undefined) return { problems: [], outcomes: new Map() };
  const world = new World(plan);
  await world.live();
  return check(world);
}

/** What somebody needs who wants to see it again. */
export function explain({ seed, problems, trace }: Simulated): string {
  return [
    `Seed ${seed} breaks a law: ${problems[0]}`,
    ...problems.slice(1),
    `The last steps (time, who, what):`,
    ...trace.slice(-60),
    `Again, with the whole trace: SEED=${seed} npx vitest run test/simulation/simulation.test.ts`,
  ].join("\n");
}
