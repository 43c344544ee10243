/** A client: starts every run of the plan, sends what it waits for, cancels what is to be cancelled, and decides what is pending. */
import type { Rath } from "../../src/runtime/rath.ts";
import { RathError } from "../../src/session/errors.ts";
import type { Decision, Pending } from "../../src/session/session.ts";
import type { Plan, PlannedRun } from "./plan.ts";
import { answerTo, failureOf, resultOf, signalsOf } from "./program.ts";
import type { Random } from "./random.ts";
import type { Schedule } from "./schedule.ts";
import { textOf } from "./thrown.ts";

/** What a client sees of the world. */
export interface Surroundings {
  readonly plan: Plan;
  readonly random: Random;
  readonly schedule: Schedule;
  readonly happenings: readonly { readonly place: string }[];
  /** The place of every effect whose outcome somebody was asked for. */
  readonly unknown: Map<string, string>;
  /** The id of each planned run, once somebody knows it. */
  readonly ids: Map<string, string>;
  readonly closing: boolean;
  problem(law: string, text: string): void;
}

/** What others did first is no problem. */
const expected: ReadonlySet<string> = new Set(["pending.answered", "run.ended"]);

/** Several clients do the same: keys make it happen once. */
export async function clientLoop(world: Surroundings, process: { readonly name: string; readonly rath: Rath }): Promise<void> {
  const { rath } = process;
  const { random, schedule, plan } = world;
  const passed = (): number => schedule.now - schedule.began;
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  /** Tries once: true when it is done, by us or others. */
  const tried = async (what: string, act: () => Promise<unknown>): Promise<boolean> => {
    try {
      await act();
      return true;
    } catch (error) {
      if (RathError.is(error) && expected.has(error.code)) return true;
      if (!RathError.is(error) || !error.retryable) world.problem("client", `${process.name} could not ${what}: ${textOf(error)}`);
      return false;
    }
  };
  const left = plan.runs.flatMap((run) => choresOf(world, rath, run));
  while (!world.closing) {
    for (const chore of [...left])
      if (chore.at <= passed() && world.closing === false && (await tried(chore.what, chore.act))) left.splice(left.indexOf(chore), 1);
    await tried("decide", async () => {
      for (const pending of await rath.pending()) if (random.chance(0.7)) await tried("decide", async () => decideOn(world, rath, pending));
    });
    await pause(random.between(100, 1500));
  }
}

interface Chore {
  readonly what: string;
  readonly at: number;
  readonly act: () => Promise<unknown>;
}

function choresOf(world: Surroundings, rath: Rath, planned: PlannedRun): readonly Chore[] {
  const { name, program, here, cancelAt, deadlineAt } = planned;
  const start = async (): Promise<void> => {
    const deadline = deadlineAt === undefined ? undefined : new Date(world.schedule.began + deadlineAt);
    const run = await rath.run(name, rath.session("go"), { key: name, queue: !here, deadline });
    world.ids.set(name, run.id);
  };
  const id = (): string => world.ids.get(name) as string;
  const signals = signalsOf(program).map((signal, index) => ({
    what: `send ${signal} to ${name}`,
    at: 100 * index,
    act: () => rath.send(id(), signal, `${name} ${signal} ${index}`, { key: `${name} ${index}` }),
  }));
  const cancel = async (): Promise<void> => (await rath.attach(id())).cancel("enough");
  const chores = [{ what: `start ${name}`, at: 0, act: start }, ...signals];
  const started = (chore: Chore): Chore => ({ ...chore, act: () => (world.ids.has(name) ? chore.act() : Promise.reject(notYet())) });
  return [
    chores[0] as Chore,
    ...chores.slice(1).map(started),
    ...(cancelAt === undefined ? [] : [started({ what: `cancel ${name}`, at: cancelAt, act: cancel })]),
  ];
}

function notYet(): RathError {
  return new RathError("run.not-found", "It was not started yet.", { retryable: true });
}

async function decideOn(world: Surroundings, rath: Rath, pending: Pending): Promise<void> {
  const decision = decisionOn(world, pending);
  if (decision !== undefined) await rath.decide(pending.id, decision);
}

/** A person who looks at the world. */
function decisionOn(world: Surroundings, pending: Pending): Decision | undefined {
  const by = "human:test";
  if (pending.kind === "question") return { by, answer: answerTo(pending.question) };
  if (pending.kind !== "unknown") return undefined;
  const [verb, place = ""] = pending.op.split(" ");
  world.unknown.set(pending.id, place);
  if (!world.happenings.some((happening) => happening.place === place)) return { by, outcome: "run-again" };
  if (verb === "fail") return { by, outcome: { type: "error", message: failureOf(place) } };
  return { by, outcome: { type: "ok", value: resultOf(place) } };
}
