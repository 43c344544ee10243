/**
 * The workflow of the storm: branches at once, a race, tools that may not be repeated, questions, approvals, timers, a workflow
 * inside, and a merge. What it comes to is known beforehand, so that a wrong result shows.
 */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import type { EffectContext, Session, Tool } from "../../src/session/session.ts";
import { tool } from "../../src/tool/tool.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import type { Witness } from "./witness.ts";

/** What an order comes to. */
export interface Outcome {
  readonly order: string;
  readonly paid: string;
  readonly booked: string;
  readonly shipped: string;
  readonly people: readonly string[];
  readonly tidied: string;
  readonly raced: boolean;
}

/** Which people an order asks, by its number: nobody, a question, two at once, or an approval. */
export type Asks = "nobody" | "question" | "questions" | "approval";

export function asksOf(order: string): Asks {
  return (["nobody", "question", "approval", "questions"] as const)[numberOf(order) % 4] as Asks;
}

export function answerTo(question: string): string {
  return `the answer to "${question}"`;
}

/** What a person makes of the input they approve. */
export function editedInput(input: { readonly order: string }): { readonly order: string; readonly note: string } {
  return { ...input, note: `seen ${input.order}` };
}

/** What an order must come to, whatever happened on the way. */
export function expectedOf(order: string): Outcome {
  const asks = asksOf(order);
  const people =
    asks === "approval"
      ? [`refund ${order} (seen ${order})`]
      : asks === "nobody"
        ? []
        : ["colour", "size"].slice(0, asks === "question" ? 1 : 2).map((what) => answerTo(`${what} of ${order}?`));
  return {
    order,
    paid: `pay ${order}`,
    booked: `book ${order}`,
    shipped: `ship ${order}`,
    people,
    tidied: `tidy ${order}`,
    raced: true,
  };
}

/** The effects of an order that happen once, and the one that may be repeated with its key. */
export function onceEffects(order: string): readonly string[] {
  return ["pay", "ship", "tidy", ...(asksOf(order) === "approval" ? ["refund"] : [])];
}

function numberOf(order: string): number {
  return Number(order.replace(/\D/g, ""));
}

/** Time passes before and after an effect acts, in which its process may die. */
function lull(): Promise<void> {
  return pause(Math.random() * 25);
}

export class Orders extends Workflow {
  readonly name = "orders";
  readonly #witness: Witness;
  readonly #tidying: Tidying;
  readonly #pay: Tool<{ order: string }, string>;
  readonly #refund: Tool<{ order: string; note?: string | undefined }, string>;

  constructor(witness: Witness) {
    super();
    this.#witness = witness;
    this.#tidying = new Tidying(witness);
    this.#pay = tool({
      name: "pay",
      description: "Pays an order.",
      input: z.object({ order: z.string() }),
      run: ({ order }, context) => once(witness, order, "pay", context),
      // It can tell for certain only when whoever began it is dead: one that is asleep may still act.
      probe: async (key) => {
        const { acted, begunBy } = witness.of(key);
        if (!acted && (begunBy.length === 0 || begunBy.some(isAlive))) return undefined;
        witness.see({ run: "", effect: "pay", how: "probed", key });
        return acted ? { happened: true, output: `pay ${orderOf(witness, key)}` } : { happened: false };
      },
    });
    this.#refund = tool({
      name: "refund",
      description: "Pays an order back.",
      input: z.object({ order: z.string(), note: z.string().optional() }),
      needsApproval: true,
      run: async ({ order, note }, context) => `${await once(witness, order, "refund", context)} (${note})`,
    });
  }

  async forward(session: Session): Promise<Session> {
    const order = session.messages.at(-1)?.text ?? "";
    const looked = await session.do("look", () => order, { repeat: "safe" });
    const [paid, booked, shipped, ...people] = await Promise.all([
      looked.fork("pay").call(this.#pay, { order }),
      looked.fork("book").do("book", (context) => this.#book(order, context), { repeat: "keyed" }),
      this.#ship(looked.fork("ship"), order),
      ...this.#people(looked, order),
    ]);
    const winner = await Promise.race([
      looked.fork("left").do("left", () => lull().then(() => "raced"), { repeat: "safe" }),
      looked.fork("right").do("right", () => lull().then(() => "raced"), { repeat: "safe" }),
    ]);
    const merged = await looked.merge([paid, booked, shipped, ...people]);
    const tidied = await this.#tidying.forward(merged);
    const outcome: Outcome = {
      order,
      paid: paid.output,
      booked: booked.output,
      shipped: shipped.output as string,
      people: people.map(({ output }) => output as string),
      tidied: tidied.output as string,
      raced: winner.output === "raced",
    };
    return tidied.do("sum up", () => outcome, { repeat: "safe" });
  }

  async #book(order: string, { key }: EffectContext): Promise<string> {
    await lull();
    this.#witness.see({ run: order, effect: "book", how: "keyed", key });
    await lull();
    return `book ${order}`;
  }

  /** Some wait so long that the run is parked meanwhile. */
  async #ship(session: Session, order: string): Promise<Session> {
    const waited = await session.wait(numberOf(order) % 6 === 5 ? "1300ms" : `${50 + (numberOf(order) % 5) * 60}ms`);
    return waited.do("ship", (context) => once(this.#witness, order, "ship", context));
  }

  #people(session: Session, order: string): Promise<Session>[] {
    const asks = asksOf(order);
    if (asks === "nobody") return [];
    if (asks === "approval") return [session.fork("refund").call(this.#refund, { order })];
    const questions = ["colour", "size"].slice(0, asks === "question" ? 1 : 2);
    return questions.map((what) => session.fork(what).ask(`${what} of ${order}?`));
  }
}

/** A workflow inside another one. */
class Tidying extends Workflow {
  readonly name = "tidying";
  readonly #witness: Witness;

  constructor(witness: Witness) {
    super();
    this.#witness = witness;
  }

  async forward(session: Session): Promise<Session> {
    const order = session.messages.find(({ role }) => role === "user")?.text ?? "";
    const swept = await session.do("sweep", () => true, { repeat: "safe" });
    return swept.do("tidy", (context) => once(this.#witness, order, "tidy", context));
  }
}

/** Something that must never happen twice. */
export async function once(witness: Witness, run: string, effect: string, { key, signal }: EffectContext): Promise<string> {
  witness.see({ run, effect, how: "begun", key });
  await lull();
  signal.throwIfAborted();
  witness.see({ run, effect, how: "once", key });
  await lull();
  return `${effect} ${run}`;
}

function orderOf(witness: Witness, key: string): string {
  return witness.acts().find((act) => act.key === key && act.how === "once")?.run ?? "";
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
