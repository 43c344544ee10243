/** Kills a program at every commit and every effect, resumes it in another process, and checks what must hold. */
import { expect } from "vitest";
import type { Rath } from "../../src/runtime/rath.ts";
import { replay, runtimeOf } from "../../src/runtime/replay.ts";
import type { Settled } from "../../src/runtime/run.ts";
import type { Run } from "../../src/runtime/run-handle.ts";
import type { Session } from "../../src/session/session.ts";
import { placeOf } from "../../src/session/value.ts";
import { whatOf } from "../../src/session/what.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Generated, type Program } from "./program.ts";
import { Life, rathOf, World } from "./world.ts";

const key = "the run";

type Ended = Extract<Settled, { status: "done" | "failed" }>;

/** Runs to the end; a person looks at the world to settle what is unknown. */
export async function complete(rath: Rath, workflow: Generated, world: World, session = rath.session("go")): Promise<Ended> {
  return toEnd(rath, await rath.run(workflow, session, { key }), world);
}

export async function toEnd(rath: Rath, run: Run, world: World): Promise<Ended> {
  for (;;) {
    const settled = await run.settle();
    if (settled.status === "done" || settled.status === "failed") return settled;
    if (settled.status !== "waiting" || settled.diverged !== undefined || settled.pending.length === 0)
      throw new Error(`stuck: ${JSON.stringify(settled)}`);
    for (const pending of settled.pending) {
      if (pending.kind !== "unknown") throw new Error(`unexpected ${pending.kind}`);
      const [name, path] = pending.op.split(" ") as [string, string];
      const happened = (world.happened.get(path) ?? 0) > 0;
      const outcome = name.endsWith("!")
        ? ({ type: "error", message: `${name.slice(0, -1)} failed` } as const)
        : ({ type: "ok", value: name } as const);
      await rath.decide(pending.id, { by: "human:test", outcome: happened ? outcome : "run-again" });
    }
  }
}

function what(session: Session): string {
  const runtime = runtimeOf(session);
  return whatOf(placeOf(session).node, runtime.platform, (node) => runtime.textOf(node), new Map());
}

/** How often each effect with a repeat class was recorded as done, and how often it happened. */
export function onceNames(program: Program, path = "p"): string[] {
  switch (program.kind) {
    case "effect":
      return program.repeat === "once" ? [path] : [];
    case "say":
    case "drop":
      return [];
    case "nested":
      return onceNames(program.of, `${path}.n`);
    case "catch":
      return [...onceNames(program.of, `${path}.t`), ...onceNames(program.otherwise, `${path}.c`)];
    default:
      return program.of.flatMap((inner, index) => onceNames(inner, `${path}.${index}`));
  }
}

/** How many points it was killed at. Something that hangs has failed too. */
export function killEverywhere(program: Program, races: boolean, patienceMs = 20_000): Promise<number> {
  const hang = new Promise<never>((_, reject) => setTimeout(() => reject(new Error("hangs")), patienceMs).unref());
  return Promise.race([killing(program, races), hang]);
}

async function killing(program: Program, races: boolean): Promise<number> {
  const reference = new World();
  const calm = new Life();
  const rath = rathOf(memoryStore(), calm);
  const expected = await complete(rath, new Generated(program, reference, calm), reference);
  const points = calm.points;
  for (let point = 0; point < points; point++) {
    const store = memoryStore();
    const world = new World();
    const life = new Life(point);
    const mortal = rathOf(store, life);
    await life.sees(complete(mortal, new Generated(program, world, life), world));
    void mortal.close(); // stops its timers; nothing it does reaches the store any more
    const second = new Life();
    const heir = rathOf(store, second);
    const workflow = new Generated(program, world, second);
    const ended = await complete(heir, workflow, world);
    for (const name of onceNames(program)) expect(world.happened.get(name) ?? 0, `${name} killed at ${point}`).toBeLessThanOrEqual(1);
    if (!races) {
      expect(ended.status).toBe(expected.status);
      expect(what(ended.session), `killed at ${point}`).toBe(what(expected.session));
    }
    const report = await replay(ended.session, workflow);
    expect(String(report), `killed at ${point}`).toMatch(/^identical/);
    await heir.close();
  }
  return points;
}

/** Every process dies at some point of its life until one lives to the end; the person looks at the world in between. */
export async function dieAgainAndAgain(program: Program, deaths: readonly number[]): Promise<void> {
  const store = memoryStore();
  const world = new World();
  for (const diesAt of deaths) {
    const life = new Life(diesAt);
    const mortal = rathOf(store, life);
    const lived = await life.sees(complete(mortal, new Generated(program, world, life), world));
    void mortal.close();
    if (lived) break;
  }
  const last = new Life();
  const heir = rathOf(store, last);
  const workflow = new Generated(program, world, last);
  const ended = await complete(heir, workflow, world);
  for (const name of onceNames(program)) expect(world.happened.get(name) ?? 0, name).toBeLessThanOrEqual(1);
  expect(String(await replay(ended.session, workflow))).toMatch(/^identical/);
  await heir.close();
}
