/**
 * Routing as a workflow: it reads the session, chooses among workflows that describe themselves, records the choice with the
 * candidates, the reason and what choosing cost, runs it, and chooses again until it is done.
 */
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import { stateOf } from "../session/fold.ts";
import { givenScope } from "../session/given-memory.ts";
import { type Effect, EffectResult, type Host, type InnerEffectContext } from "../session/host.ts";
import { isModelLike, type ModelLike, modelName } from "../session/model.ts";
import type { Limits, MemoryScope, PlacementSpec, Session, StopReason } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { saidText, toParts } from "../session/views.ts";
import { type AgentSketch, sketch } from "../workflow/children.ts";
import { type Described, forwardWith, Workflow } from "../workflow/workflow.ts";
import { converse } from "./loop.ts";
import type { AgentOptions } from "./options.ts";

/** A choice, and what the receiver is to work with. */
export interface Choice<Name extends string = string> {
  readonly choice: Name | "done";
  readonly reason: string;
  /** What the receiver reads in place of the conversation; recorded. */
  readonly context?: string | undefined;
  /** The only scope of memory that it and everything under it may use; recorded and enforced. */
  readonly memory?: MemoryScope | undefined;
  /** Where it works from now on. */
  readonly placement?: ({ readonly sandbox: string } & PlacementSpec) | undefined;
  /** The check that must have passed on what it returns before the session goes on. */
  readonly check?: string | undefined;
}

/** What a function that chooses may give: a name alone, or with its reason. */
export type Chosen<Name extends string = string> = Name | "done" | Choice<Name>;

/** What a Selector is made of. */
export interface SelectorOptions<Name extends string> {
  readonly choices: Readonly<Record<Name, Described>>;
  /** A model, or a function of the session. What it chose is recorded: on resume and replay it is not asked again. */
  readonly choose: ModelLike | ((session: Session) => Chosen<NoInfer<Name>> | Promise<Chosen<NoInfer<Name>>>);
  readonly instructions?: string | undefined;
  readonly description?: string | undefined;
  /** `rounds` counts choices; 20 when not given. */
  readonly limits?: Limits | undefined;
}

const defaultRounds = 20;

/**
 * Chooses, runs what it chose, and repeats until "done" or a limit.
 *
 * @example
 * const team = new Selector({ choices: { fix, docs }, choose: (session) => (session.checks.at(-1)?.passed ? "done" : "fix") });
 * for (const route of (await team.forward(session)).routes) console.log(route.choice, route.reason);
 */
export class Selector<Name extends string = string> extends Workflow {
  readonly description: string;
  readonly choices: Readonly<Record<Name, Described>>;
  readonly #options: SelectorOptions<Name>;

  constructor(options: SelectorOptions<Name>) {
    checkChoices(options);
    const { rounds: _, ...limits } = options.limits ?? {};
    super(options.limits === undefined ? undefined : limits);
    this.description = options.description ?? "";
    this.choices = options.choices;
    this.#options = options;
  }

  async forward(session: Session): Promise<Session> {
    const { host, budgets } = placeOf(session).context;
    const rounds = this.#options.limits?.rounds ?? defaultRounds;
    let at = session;
    for (let round = 1; round <= rounds; round++) {
      const chosen = await this.#choose(at).catch((error: unknown) => unchosen(host, error, typeof this.#options.choose !== "function"));
      if (!isChosen(chosen)) return chosen.stopped;
      const { choice, check, memory } = chosen.output;
      if (choice === "done") return finished(host, chosen, at);
      const known = chosen.checks.length;
      at = await forwardWith(this.choices[choice], handed(host, chosen), { memory });
      if (check !== undefined && !passed(at, check, known))
        return host.add(at, "agent.stopped", { stop: "invalid", reason: `the check "${check}" that the route asks for did not pass` });
    }
    budgets?.at(-1)?.crossed("rounds", rounds, rounds);
    return host.add(at, "agent.stopped", { stop: "rounds", reason: counted(rounds, "route") });
  }

  /** One decision, recorded; the caller runs it. */
  select(session: Session): Promise<Session<Choice<Name>>> {
    return this.#choose(session);
  }

  #choose(session: Session): Promise<Session<Choice<Name>>> {
    const { host } = placeOf(session).context;
    const { choose } = this.#options;
    const candidates = Object.entries<Described>(this.choices).map(([name, { description }]) => ({ name, description }));
    const run = async (context: InnerEffectContext): Promise<Choice | EffectResult> =>
      typeof choose === "function" ? asChoice(await choose(session)) : this.#ask(choose, context.session, session, candidates);
    const effect: Effect = {
      op: "route",
      called: { by: typeof choose === "function" ? "function" : "model", candidates },
      repeat: typeof choose === "function" ? "safe" : "nested",
      run: async (context) => {
        const chosen = await run(context);
        return chosen instanceof EffectResult ? chosen : checked(chosen, candidates);
      },
    };
    return host.perform(session, effect) as Promise<Session<Choice<Name>>>;
  }

  /** Asks a model in a session of its own, so that choosing leaves nothing in the conversation but the choice. */
  async #ask(
    model: ModelLike,
    nested: Session,
    session: Session,
    candidates: readonly { readonly name: string; readonly description: string }[],
  ): Promise<Choice | EffectResult> {
    const names = [...candidates.map(({ name }) => name), "done"];
    const instructions = [
      "You decide who works next. Read the conversation and choose one:",
      ...candidates.map(({ name, description }) => `- ${name}: ${description}`),
      "- done: nothing is left to do.",
      ...(this.#options.instructions === undefined ? [] : [this.#options.instructions]),
    ].join("\n");
    const { host } = placeOf(nested).context;
    const told = host.add(nested, "message.added", { role: "user", parts: toParts(question(session)) as never, alone: true });
    const options: AgentOptions<Choice> = { model, name: "selector", instructions, output: choiceSchema(names), limits: { rounds: 3 } };
    const answered = await host.enter(told, { name: "selector" }, (inner) => converse(options, inner, "selector"));
    const { stop } = answered;
    return stop === "finished" ? (answered.output as Choice) : nothingChosen(answered, stop ?? "error");
  }

  /** What a description of it holds. */
  [sketch](): AgentSketch {
    const { choose, instructions, limits } = this.#options;
    return {
      models: typeof choose === "function" ? [] : [choose],
      uses: [],
      children: {},
      detail: {
        instructions: instructions ?? "",
        choose: typeof choose === "function" ? String(choose) : modelName(choose),
        choices: Object.entries<Described>(this.choices).map(([name, { description }]) => ({ name, description })),
        limits: JSON.parse(JSON.stringify(limits ?? {})) as object,
      },
    };
  }
}

function checkChoices<Name extends string>(options: SelectorOptions<Name>): void {
  const entries = Object.entries<Described>(options?.choices ?? {});
  if (entries.length === 0) throw new RathError("route.invalid", "A Selector needs choices: give it workflows by name.");
  for (const [name, choice] of entries) {
    if (name === "done") throw new RathError("route.invalid", 'A choice cannot be named "done": that ends the routing.');
    if (!(choice instanceof Workflow)) throw new RathError("route.invalid", `Choice "${name}" is no workflow.`);
    if (typeof choice.description !== "string" || choice.description === "")
      throw new RathError("route.invalid", `Choice "${name}" has no description: say what it is for, since it is chosen by it.`);
  }
  const { choose }: { readonly choose: unknown } = options;
  if (typeof choose !== "function" && !isModelLike(choose))
    throw new RathError("route.invalid", "A Selector needs choose: a model, or a function of the session.");
}

function asChoice(chosen: string | Choice): Choice {
  return typeof chosen === "string" ? { choice: chosen, reason: "by rule" } : chosen;
}

/** A model that came to no choice: that is what the route came to. */
function nothingChosen(answered: Session, stop: StopReason): EffectResult {
  const { node, context } = placeOf(answered);
  const said = stateOf(node).stopped?.data<"agent.stopped">(context.host.platform)?.reason;
  const reason = said ?? `the model that chooses stopped as "${stop}"`;
  if (stop === "budget") return new EffectResult("denied", { reason });
  if (stop === "cancelled") return new EffectResult("cancelled", { reason });
  return new EffectResult("error", { message: reason, name: stop });
}

const stops: ReadonlySet<unknown> = new Set<StopReason>(["length", "refused", "rounds", "invalid", "error"]);

/** A Selector that cannot choose stops, like an agent that cannot go on; a function that fails is an error of the program. */
function unchosen(host: Host, error: unknown, byModel: boolean): { readonly stopped: Session } {
  if (!RathError.is(error) || error.session === undefined) throw error;
  const named = error.details["name"];
  const stop =
    error.code === "effect.denied"
      ? "budget"
      : error.code === "effect.cancelled"
        ? "cancelled"
        : byModel && stops.has(named)
          ? named
          : undefined;
  if (stop === undefined) throw error;
  return { stopped: host.add(error.session, "agent.stopped", { stop: stop as StopReason, reason: error.message }) };
}

function isChosen<Name extends string>(chosen: Session<Choice<Name>> | { readonly stopped: Session }): chosen is Session<Choice<Name>> {
  return !("stopped" in chosen);
}

/** A choice that is none is refused, with those that there are. */
function checked(chosen: Choice, candidates: readonly { readonly name: string }[]): Readonly<Record<string, unknown>> {
  const names = [...candidates.map(({ name }) => name), "done"];
  if (!names.includes(chosen?.choice))
    throw new RathError("route.invalid", `${JSON.stringify(chosen?.choice)} is not one of the choices: ${names.join(", ")}.`);
  if (chosen.memory !== undefined) givenScope(chosen.memory, "memory of the choice");
  return Object.fromEntries(Object.entries({ ...chosen, reason: chosen.reason ?? "" }).filter(([, value]) => value !== undefined));
}

/** The session as the receiver gets it: placed, and reading what the route says. */
function handed(host: Host, chosen: Session<Choice>): Session {
  const { placement, context } = chosen.output;
  let at: Session = chosen;
  if (placement !== undefined) {
    const { sandbox, ...spec } = placement;
    at = at.to(sandbox, spec);
  }
  return context === undefined ? at : host.add(at, "message.added", { role: "user", parts: toParts(context) as never, alone: true });
}

/** What the last receiver came to is what the Selector came to. */
function finished(host: Host, chosen: Session, before: Session): Session {
  const { output, said } = stateOf(placeOf(before).node);
  // Whatever was said or merged since, what there is of it is what the receiver left.
  const left = output?.kind === "agent.stopped" ? output.data<"agent.stopped">(host.platform)?.stop : before.stop;
  const stop = left ?? "finished";
  const good = output?.kind === "agent.stopped" ? stop === "finished" : output?.facts.outcome === "ok";
  const value = good ? before.output : undefined;
  return host.add(chosen, "agent.stopped", { stop, ...(value === undefined || value === saidText(said, host.platform) ? {} : { value }) });
}

/** Only a verdict on what the receiver returned counts. */
function passed(session: Session, name: string, known: number): boolean {
  return session.checks.slice(known).findLast((check) => check.name === name)?.passed === true;
}

/** Of one message and of all of them, in characters: whoever routes need not read everything again each time. */
const shownOfOne = 4000;
const shownOfAll = 60_000;

/** What a model that routes reads: the conversation as data, its end where it is long, and the verdicts on it. */
function question(session: Session): string {
  const all = session.messages;
  let from = all.length;
  for (let room = shownOfAll; from > 0; from--) {
    room -= Math.min(all[from - 1]?.text.length ?? 0, shownOfOne);
    if (room < 0) break;
  }
  const conversation = all.slice(from).map(({ role, by, text }) => ({
    role,
    by,
    text: text.length > shownOfOne ? `${text.slice(0, shownOfOne)}…` : text,
  }));
  const older = from === 0 ? {} : { olderMessagesNotShown: from };
  const checks = session.checks.map(({ name, passed: ok, reason }) => ({ name, passed: ok, ...(reason === undefined ? {} : { reason }) }));
  const routes = session.routes.map(({ choice, reason }) => ({ choice, reason }));
  return `Here is what happened so far, as data:\n${JSON.stringify({ ...older, conversation, checks, routes })}\nWho works next?`;
}

/** A Standard Schema for a choice, so that no schema library is needed to route. */
function choiceSchema(names: readonly string[]): NonNullable<AgentOptions<Choice>["output"]> {
  const schema = {
    type: "object",
    properties: { choice: { type: "string", enum: names }, reason: { type: "string" } },
    required: ["choice", "reason"],
    additionalProperties: false,
  };
  const validate = (value: unknown): unknown => {
    const { choice, reason } = (value ?? {}) as { readonly choice?: unknown; readonly reason?: unknown };
    if (typeof choice !== "string" || !names.includes(choice))
      return { issues: [{ message: `expected one of ${names.join(", ")}`, path: ["choice"] }] };
    return { value: { choice, reason: typeof reason === "string" ? reason : "" } };
  };
  return { "~standard": { version: 1, vendor: "openrath", validate, jsonSchema: { output: () => schema } } } as never;
}
