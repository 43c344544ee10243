/** Programs that fast-check makes up: sequences, parallel forks, races, pools, `.then` forks, nesting, failures that are caught. */
import * as fc from "fast-check";
import { RathError } from "../../src/session/errors.ts";
import type { Repeat, Session } from "../../src/session/session.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import type { Life, World } from "./world.ts";

export type Program =
  | {
      readonly kind: "effect";
      readonly name: string;
      readonly repeat: Exclude<Repeat, "nested">;
      readonly turns: number;
      readonly fails: boolean;
      /** It is given an id that the session makes, which is another one at any other place. */
      readonly ids?: boolean;
    }
  | { readonly kind: "say"; readonly text: string }
  | { readonly kind: "drop"; readonly text: string; readonly forks: boolean }
  | { readonly kind: "sequence"; readonly of: readonly Program[] }
  | { readonly kind: "parallel" | "race" | "pool" | "implicit" | "equal" | "then"; readonly of: readonly Program[] }
  | { readonly kind: "nested"; readonly of: Program }
  | { readonly kind: "catch"; readonly of: Program; readonly otherwise: Program };

const effect = fc.record({
  kind: fc.constant("effect" as const),
  name: fc.constantFrom("a", "b", "c"),
  repeat: fc.constantFrom("once" as const, "safe" as const, "keyed" as const),
  turns: fc.integer({ min: 0, max: 3 }),
  fails: fc.constant(false),
});
const text = fc.constantFrom("x", "y");
const say = fc.record({ kind: fc.constant("say" as const), text });
/** Says something, and goes on without it. */
const drop = fc.record({ kind: fc.constant("drop" as const), text, forks: fc.boolean() });

interface Kinds {
  /** Those may rightly end differently after a crash. */
  readonly races?: boolean;
  /** Effects named by ids of the session: they differ between runs, and where a branch moves because somebody else continued it. */
  readonly ids?: boolean;
  /** Equal values at one place, some of them dropped. */
  readonly equal?: boolean;
}

export function programs({ races = false, ids = false, equal = false }: Kinds): fc.Arbitrary<Program> {
  const one = effect.map((made) => ({ ...made, ids }));
  const failing = one.map((made) => ({ ...made, fails: true }));
  const many = [
    "parallel",
    "pool",
    "implicit",
    ...(equal ? ["equal" as const] : []),
    ...(races ? (["race", "then"] as const) : []),
  ] as const;
  const { program } = fc.letrec<{ program: Program; group: Program; nested: Program; caught: Program }>((tie) => ({
    program: fc.oneof({ maxDepth: 2, depthSize: "small" }, one, say, ...(equal ? [drop] : []), tie("group"), tie("nested"), tie("caught")),
    group: fc.record({ kind: fc.constantFrom("sequence" as const, ...many), of: fc.array(tie("program"), { minLength: 2, maxLength: 3 }) }),
    nested: fc.record({ kind: fc.constant("nested" as const), of: tie("program") }),
    caught: fc.record({ kind: fc.constant("catch" as const), of: fc.oneof(failing, tie("program")), otherwise: one }),
  }));
  return fc.array(program, { minLength: 1, maxLength: 4 }).map((of) => ({ kind: "sequence", of }));
}

/** Runs a program; every effect is named by its place in it, so that what happened can be counted. */
export class Generated extends Workflow {
  readonly name = "generated";
  readonly #program: Program;
  readonly #world: World;
  readonly #life: Life;

  constructor(program: Program, world: World, life: Life) {
    super();
    this.#program = program;
    this.#world = world;
    this.#life = life;
  }

  async forward(session: Session): Promise<Session> {
    return this.#run(this.#program, session, "p");
  }

  async #run(program: Program, session: Session, path: string): Promise<Session> {
    switch (program.kind) {
      case "effect":
        return this.#effect(program, session, path);
      case "say":
        return session.say(program.text);
      case "drop": {
        const dropped = session.say(program.text);
        if (program.forks) dropped.fork("dropped");
        return session;
      }
      case "sequence": {
        let at = session;
        for (const [index, step] of program.of.entries()) at = await this.#run(step, at, `${path}.${index}`);
        return at;
      }
      case "parallel": {
        const ends = await Promise.all(program.of.map((one, index) => this.#run(one, session.fork(`f${index}`), `${path}.${index}`)));
        return (ends[0] as Session).merge(ends.slice(1));
      }
      case "implicit": {
        const ends = await Promise.all(program.of.map((one, index) => this.#run(one, session.note(`n${index}`), `${path}.${index}`)));
        return (ends[0] as Session).merge(ends.slice(1));
      }
      // Equal values: nothing but their order tells them apart.
      case "equal": {
        const ends = await Promise.all(program.of.map((one, index) => this.#run(one, session.note("n"), `${path}.${index}`)));
        return (ends[0] as Session).merge(ends.slice(1));
      }
      case "then": {
        const ends = program.of.map((one, index) => this.#run(one, session.fork(`t${index}`), `${path}.${index}`));
        const order: Session[] = [];
        await Promise.all(ends.map((end) => end.then((at) => void order.push(at.fork("after").note(`${order.length}`)))));
        return (order[0] as Session).merge(order.slice(1));
      }
      case "race":
        return Promise.race(program.of.map((one, index) => this.#run(one, session.fork(`r${index}`), `${path}.${index}`)));
      case "pool":
        return this.#pool(program.of, session, path);
      case "nested":
        return session.do(
          `nested ${path}`,
          async ({ session: inner }) => (await this.#run(program.of, inner, `${path}.n`)).messages.length,
          { repeat: "nested" },
        );
      case "catch":
        try {
          return await this.#run(program.of, session, `${path}.t`);
        } catch (error) {
          if (!RathError.is(error, "effect.failed")) throw error;
          return this.#run(program.otherwise, (error as RathError).session as Session, `${path}.c`);
        }
    }
  }

  /** Two at a time, whoever is free takes the next. */
  async #pool(of: readonly Program[], session: Session, path: string): Promise<Session> {
    const ends: Session[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < of.length) {
        const index = next++;
        ends[index] = await this.#run(of[index] as Program, session.fork(`w${index}`), `${path}.${index}`);
      }
    };
    await Promise.all([work(), work()]);
    return (ends[0] as Session).merge(ends.slice(1));
  }

  #effect(effect: Extract<Program, { kind: "effect" }>, session: Session, path: string): Promise<Session> {
    const run = async (): Promise<string> => {
      await this.#life.point();
      for (let turn = 0; turn < effect.turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (this.#life.dead) await new Promise(() => {}); // what a dead process had not done yet, it does not do
      this.#world.do(path);
      await this.#life.point();
      if (effect.fails) throw new Error(`${effect.name} failed`);
      return effect.name;
    };
    return session.do(`${effect.name}${effect.fails ? "!" : ""} ${path}`, run, {
      repeat: effect.repeat,
      input: effect.ids === true ? session.uuid("id") : undefined,
    });
  }
}
