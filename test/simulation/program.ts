/** Small programs made up from a seed, and the workflow that executes one and lets the world witness every effect. */
import { RathError } from "../../src/session/errors.ts";
import type { Session } from "../../src/session/session.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import type { Random } from "./random.ts";

export type Program =
  | { readonly kind: "effect"; readonly repeat: "once" | "keyed" | "safe"; readonly ms: number; readonly fails: boolean }
  | { readonly kind: "say" }
  | { readonly kind: "ask"; readonly expires: boolean }
  | { readonly kind: "receive"; readonly signal: string; readonly expires: boolean }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "sequence" | "parallel" | "race" | "pool"; readonly of: readonly Program[] }
  | { readonly kind: "nested" | "workflow"; readonly of: Program }
  | { readonly kind: "catch"; readonly of: Program; readonly otherwise: Program };

/** A program of a few steps. */
export function programFrom(random: Random, depth = 2): Program {
  const steps = random.between(1, 3);
  return { kind: "sequence", of: Array.from({ length: steps }, () => stepFrom(random, depth)) };
}

function stepFrom(random: Random, depth: number): Program {
  const leaf = depth === 0 || random.chance(0.55);
  if (leaf) {
    const kind = random.pick(["effect", "effect", "effect", "say", "ask", "ask", "receive", "wait"] as const);
    switch (kind) {
      case "effect":
        return effectFrom(random, false);
      case "say":
        return { kind };
      case "ask":
        return { kind, expires: random.chance(0.15) };
      case "receive":
        return { kind, signal: random.pick(["red", "blue"]), expires: random.chance(0.15) };
      case "wait":
        return { kind, ms: random.pick([30, 200, 1500, 4000]) };
    }
  }
  const kind = random.pick(["parallel", "parallel", "race", "pool", "nested", "workflow", "catch"] as const);
  switch (kind) {
    case "nested":
    case "workflow":
      return { kind, of: programFrom(random, depth - 1) };
    case "catch":
      return { kind, of: effectFrom(random, true), otherwise: effectFrom(random, false) };
    default:
      return { kind, of: Array.from({ length: random.between(2, 3) }, () => stepFrom(random, depth - 1)) };
  }
}

function effectFrom(random: Random, fails: boolean): Program {
  return { kind: "effect", repeat: random.pick(["once", "once", "keyed", "safe"]), ms: random.pick([0, 0, 1, 20, 300, 2500]), fails };
}

/** Whether faults may rightly change what it comes to: who wins a race, which signal comes first, what expires. */
export function isSettled(program: Program): boolean {
  switch (program.kind) {
    case "race":
    case "receive":
      return false;
    case "ask":
      return !program.expires;
    case "sequence":
    case "parallel":
    case "pool":
      return program.of.every(isSettled);
    case "nested":
    case "workflow":
      return isSettled(program.of);
    case "catch":
      return isSettled(program.of) && isSettled(program.otherwise);
    default:
      return true;
  }
}

/** How many signals of each name it may take. */
export function signalsOf(program: Program): readonly string[] {
  if (program.kind === "receive") return [program.signal];
  if (program.kind === "catch") return [...signalsOf(program.of), ...signalsOf(program.otherwise)];
  if (!("of" in program)) return [];
  return "kind" in program.of ? signalsOf(program.of) : program.of.flatMap(signalsOf);
}

/** Who sees what programs do. Places are named by program and path. */
export interface Witness {
  happens(place: string, repeat: string, key: string): void;
  answered(place: string, answer: unknown): void;
  received(place: string, signal: string, data: unknown): void;
}

/** What a person answers to the question of a place. */
export function answerTo(question: string): string {
  return `the answer to ${question}`;
}

export class Simulated extends Workflow {
  readonly name: string;
  readonly #program: Program;
  readonly #witness: Witness;

  constructor(name: string, program: Program, witness: Witness) {
    super();
    this.name = name;
    this.#program = program;
    this.#witness = witness;
  }

  async forward(session: Session): Promise<Session> {
    return this.#run(this.#program, session, `${this.name}:`);
  }

  async #run(program: Program, session: Session, place: string): Promise<Session> {
    switch (program.kind) {
      case "effect":
        return this.#effect(program, session, place);
      case "say":
        return session.say(place);
      case "ask":
        return unlessExpired(session, async () => {
          const answered = await session.ask(place, undefined, program.expires ? { expires: "3s" } : {});
          this.#witness.answered(place, answered.output);
          return answered;
        });
      case "receive":
        return unlessExpired(session, async () => {
          const received = await session.receive(program.signal, undefined, program.expires ? { expires: "3s" } : {});
          this.#witness.received(place, program.signal, received.output);
          return received;
        });
      case "wait":
        return session.wait(`${program.ms}ms`);
      case "sequence": {
        let at = session;
        for (const [index, step] of program.of.entries()) at = await this.#run(step, at, `${place}.${index}`);
        return at;
      }
      case "parallel": {
        const ends = await Promise.all(program.of.map((one, index) => this.#run(one, session.fork(`f${index}`), `${place}.${index}`)));
        return (ends[0] as Session).merge(ends.slice(1));
      }
      case "race":
        return Promise.race(program.of.map((one, index) => this.#run(one, session.fork(`r${index}`), `${place}.${index}`)));
      case "pool":
        return this.#pool(program.of, session, place);
      case "nested": {
        const work = async ({ session: inner }: { readonly session: Session }): Promise<number> =>
          (await this.#run(program.of, inner, `${place}.n`)).messages.length;
        return session.do(`nested ${place}`, work, { repeat: "nested" });
      }
      case "workflow":
        return new Simulated(`${place}.w`, program.of, this.#witness).forward(session);
      case "catch":
        try {
          return await this.#run(program.of, session, `${place}.t`);
        } catch (error) {
          if (!RathError.is(error, "effect.failed")) throw error;
          return this.#run(program.otherwise, error.session as Session, `${place}.c`);
        }
    }
  }

  /** Two at a time, whoever is free takes the next. */
  async #pool(of: readonly Program[], session: Session, place: string): Promise<Session> {
    const ends: Session[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < of.length) {
        const index = next++;
        ends[index] = await this.#run(of[index] as Program, session.fork(`w${index}`), `${place}.${index}`);
      }
    };
    await Promise.all([work(), work()]);
    return (ends[0] as Session).merge(ends.slice(1));
  }

  #effect(effect: Extract<Program, { kind: "effect" }>, session: Session, place: string): Promise<Session> {
    const run = async ({ key }: { readonly key: string }): Promise<string> => {
      if (effect.ms > 0) await new Promise((resolve) => setTimeout(resolve, effect.ms));
      this.#witness.happens(place, effect.repeat, key);
      if (effect.ms > 1) await new Promise((resolve) => setTimeout(resolve, 1));
      if (effect.fails) throw new Error(failureOf(place));
      return resultOf(place);
    };
    return session.do(`${effect.fails ? "fail" : "do"} ${place}`, run, { repeat: effect.repeat });
  }
}

export function resultOf(place: string): string {
  return `result of ${place}`;
}
export function failureOf(place: string): string {
  return `${place} failed`;
}

async function unlessExpired(session: Session, run: () => Promise<Session>): Promise<Session> {
  try {
    return await run();
  } catch (error) {
    if (!RathError.is(error, "effect.expired")) throw error;
    return (error.session as Session | undefined) ?? session;
  }
}
