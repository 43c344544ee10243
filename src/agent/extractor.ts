/**
 * What a session taught, as memories: a model proposes, each proposal names the messages that show it, and only what was accepted is
 * remembered, with those messages as its evidence. The conversation is data to the model, and stays as it is.
 */
import { RathError } from "../session/errors.ts";
import { stateOf } from "../session/fold.ts";
import { isScope, memoryScopes } from "../session/given-memory.ts";
import type { Host } from "../session/host.ts";
import { type ModelLike, modelName } from "../session/model.ts";
import type { EffectContext, MemoryScope, Message, Session, StopReason } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { toParts } from "../session/views.ts";
import { type AgentSketch, leaveUnnamed, sketch } from "../workflow/children.ts";
import { Workflow } from "../workflow/workflow.ts";
import { converse } from "./loop.ts";
import { type AgentOptions, checkOptions, unknownOption } from "./options.ts";
import { instructionsFor, type Labelled, labelled, problemWith, proposalsSchema, question, shortened, type Wanted } from "./proposals.ts";

/** Something a model wants to be remembered, and what shows it. */
export interface Proposal {
  readonly key: string;
  readonly content: string;
  /** The messages it was learned from; long ones are cut. */
  readonly evidence: readonly { readonly event: string; readonly role: Message["role"]; readonly text: string }[];
}

/** What became of a proposal. */
export interface Extracted {
  readonly key: string;
  /** As it was remembered: a person may have changed it. */
  readonly content: string;
  /** Ids of the events that show it. */
  readonly because: readonly string[];
  readonly accepted: boolean;
  readonly reason: string;
}

/** What an Extractor is made of. */
export interface ExtractorOptions {
  /** A model, or several to fall back on in this order. */
  readonly model: ModelLike | readonly ModelLike[];
  /** Whose memory it becomes; default: what a route says, else the project's. */
  readonly scope?: MemoryScope | undefined;
  /** Who accepts: "ask" (default) asks a person about each, a function decides, "all" takes what the memory policy allows. */
  readonly accept?: "ask" | "all" | ((proposal: Proposal) => boolean | Promise<boolean>) | undefined;
  /** At most so many proposals; 10 when not given. */
  readonly limit?: number | undefined;
  /** What else the model is told: what matters here. */
  readonly instructions?: string | undefined;
  /** How it is called in `by`. Default: the property it is found under. */
  readonly name?: string | undefined;
  /** What it is for, in one sentence: for whoever chooses among workflows. */
  readonly description?: string | undefined;
}

const defaultLimit = 10;
const mostProposals = 100;
const shownToPerson = 300;

/**
 * Reads the session, proposes what to remember, and remembers what is accepted. `session.output` says what became of each proposal.
 *
 * @example
 * const learn = new Extractor({ model: "openai/gpt-5.5", accept: ({ evidence }) => evidence.every(({ role }) => role === "user") });
 * const learned = await learn.forward(session);
 * for (const { key, accepted, reason } of learned.output) console.log(key, accepted, reason);
 */
export class Extractor extends Workflow {
  readonly name: string;
  readonly description: string;
  readonly #options: ExtractorOptions;

  constructor(options: ExtractorOptions) {
    checkExtractor(options ?? {});
    super();
    this.name = options.name ?? "extractor";
    this.description = options.description ?? "Proposes what to remember of a session.";
    this.#options = options;
    if (options.name === undefined) leaveUnnamed(this);
  }

  async forward(session: Session): Promise<Session<readonly Extracted[]>> {
    const { host } = placeOf(session).context;
    const messages = labelled(session);
    if (messages.length === 0) return stopped(host, session, "finished", { value: [] });
    try {
      const asked = question(messages, session.messages.length);
      const proposed = await session.do("propose memories", (context) => this.#propose(context, asked), { repeat: "nested" });
      const output = proposed.output as Proposed;
      if ("stop" in output) return stopped(host, proposed, output.stop, { reason: output.reason });
      return await this.#rememberAll(proposed, output.proposals, messages);
    } catch (error) {
      // Somebody stopped it, or memory failed: how it ends, not an error of the program.
      if (!(error instanceof Unwritten) && !RathError.is(error, "effect.cancelled")) throw error;
      if (error.session === undefined) throw error;
      return stopped(host, error.session, error instanceof Unwritten ? "error" : "cancelled", { reason: error.message });
    }
  }

  /** Asks the model in a session of its own, so that nothing of it is in the conversation. */
  async #propose({ session }: EffectContext, asked: string): Promise<Proposed> {
    const { host } = placeOf(session).context;
    const told = host.add(session, "message.added", { role: "user", parts: toParts(asked) as never, alone: true });
    const agent = proposer(this.#options);
    const answered = await host.enter(told, { name: "extractor" }, (inner) => converse(agent, inner, "extractor"));
    const { stop = "error" } = answered;
    if (stop === "finished") return { proposals: answered.output as readonly Wanted[] };
    const said = stateOf(placeOf(answered).node).stopped?.data<"agent.stopped">(host.platform)?.reason;
    return { stop, reason: said ?? `the model that proposes stopped as "${stop}"` };
  }

  async #rememberAll(
    proposed: Session,
    proposals: readonly Wanted[],
    messages: readonly Labelled[],
  ): Promise<Session<readonly Extracted[]>> {
    const { limit = defaultLimit } = this.#options;
    const reply = replyIn(proposed);
    const done: Extracted[] = [];
    let at: Session = proposed;
    for (const [index, wanted] of proposals.entries()) {
      const { key, content } = wanted;
      const evidence = messages.filter(({ label }) => wanted.evidence.includes(label));
      const because = evidence.map(({ event }) => event);
      const problem = index >= limit ? `more than ${limit} were proposed` : problemWith(wanted, messages, done);
      if (problem !== undefined) {
        done.push({ key, content, because, accepted: false, reason: problem });
        continue;
      }
      const decided = await this.#decide(at, { key, content, evidence: evidence.map(({ event, role, text }) => ({ event, role, text })) });
      const judged = { key, content: decided.content, because, accepted: decided.accepted, reason: decided.reason };
      const { session, refused } = judged.accepted
        ? await this.#remember(decided.session, judged, [...because, reply, ...decided.asked])
        : { session: decided.session, refused: undefined };
      at = session;
      done.push(refused === undefined ? judged : { ...judged, accepted: false, reason: refused });
    }
    return stopped(placeOf(at).context.host, at, "finished", { value: done });
  }

  async #decide(session: Session, proposal: Proposal): Promise<Decided> {
    const { accept = "ask" } = this.#options;
    const { content } = proposal;
    if (accept === "all") return { session, content, accepted: true, reason: "all are accepted", asked: [] };
    if (accept === "ask") {
      const asked = await session.ask(inWords(proposal), answerSchema);
      const answer = asked.output as { readonly accept: boolean; readonly content?: string };
      const edited = answer.accept && answer.content !== undefined && answer.content !== content;
      const reason = answer.accept ? `a person accepted it${edited ? " in other words" : ""}` : "a person refused it";
      return {
        session: asked,
        content: edited ? (answer.content as string) : content,
        accepted: answer.accept,
        reason,
        asked: [asked.head],
      };
    }
    const judged = await session.do("accept memory", async () => (await accept(proposal)) === true, { repeat: "safe" });
    const reason = `the accept function ${judged.output ? "took" : "refused"} it`;
    return { session: judged, content, accepted: judged.output, reason, asked: [] };
  }

  /** The reply is evidence too: what a model wrote is no more trusted than what it read. */
  async #remember(
    session: Session,
    { key, content }: Pick<Extracted, "key" | "content">,
    because: readonly string[],
  ): Promise<{ readonly session: Session; readonly refused: string | undefined }> {
    const { scope } = this.#options;
    try {
      return { session: await session.remember({ key, content, because, ...(scope === undefined ? {} : { scope }) }), refused: undefined };
    } catch (error) {
      if (!RathError.is(error) || error.session === undefined || error.code === "effect.cancelled") throw error;
      if (error.code === "effect.denied") return { session: error.session, refused: error.message };
      throw new Unwritten(error, error.session);
    }
  }

  /** What a description of it holds. */
  [sketch](): AgentSketch {
    const { scope, accept = "ask" } = this.#options;
    const { model, instructions } = proposer(this.#options);
    const models = Array.isArray(model) ? (model as readonly ModelLike[]) : [model as ModelLike];
    return {
      models,
      uses: [],
      children: {},
      detail: {
        models: models.map(modelName),
        instructions,
        scope: scope ?? null,
        accept: typeof accept === "function" ? String(accept) : accept,
      },
    };
  }
}

type Proposed = { readonly proposals: readonly Wanted[] } | { readonly stop: StopReason; readonly reason: string };

interface Decided {
  readonly session: Session;
  readonly content: string;
  readonly accepted: boolean;
  readonly reason: string;
  /** The decision of a person, which justifies it too. */
  readonly asked: readonly string[];
}

class Unwritten extends Error {
  readonly session: Session;

  constructor(cause: RathError, session: Session) {
    super(`memory could not be written: ${cause.message}`, { cause });
    this.session = session;
  }
}

function proposer({
  model,
  limit = defaultLimit,
  instructions,
}: ExtractorOptions): AgentOptions<readonly Wanted[]> & { readonly instructions: string } {
  return { model, name: "extractor", instructions: instructionsFor(limit, instructions), output: proposalsSchema(), limits: { rounds: 3 } };
}

/** The reply that proposed. A reused result has no inner work of its own and stands for it. */
function replyIn(proposed: Session): string {
  const { node } = placeOf(proposed);
  const inner = node.parents.find((parent) => parent.log !== node.log);
  return (inner === undefined ? undefined : stateOf(inner).said?.id) ?? node.id;
}

const answerSchema = {
  type: "object",
  properties: {
    accept: { type: "boolean", description: "Whether it is to be remembered." },
    content: { type: "string", minLength: 1, description: "Other words for it." },
  },
  required: ["accept"],
  additionalProperties: false,
} as const;

function inWords({ key, content, evidence }: Proposal): string {
  return [
    `Remember ${JSON.stringify(key)}?`,
    content,
    "Because of:",
    ...evidence.map(({ role, text }) => `- ${role}: ${JSON.stringify(shortened(text, shownToPerson))}`),
  ].join("\n");
}

function stopped(
  host: Host,
  session: Session,
  stop: StopReason,
  more: { readonly reason?: string; readonly value?: readonly Extracted[] },
): Session<readonly Extracted[]> {
  return host.add(session, "agent.stopped", { stop, ...more } as never) as Session<readonly Extracted[]>;
}

const known: Readonly<Record<keyof ExtractorOptions, true>> = {
  model: true,
  scope: true,
  accept: true,
  limit: true,
  instructions: true,
  name: true,
  description: true,
};

function checkExtractor(options: ExtractorOptions): void {
  const refuse = (problem: string): RathError => new RathError("agent.invalid", `Extractor ${problem}.`);
  const strange = unknownOption("an option", Object.keys(options), known);
  if (strange !== undefined) throw refuse(strange);
  const { model, scope, accept = "ask", limit = defaultLimit, instructions = "", name = "extractor" } = options;
  if (typeof name !== "string" || name === "") throw refuse("has a name that is no text: leave it out, or give a word");
  checkOptions({ model }, "extractor");
  if (scope !== undefined && !isScope(scope)) throw refuse(`has scope ${JSON.stringify(scope)}: give one of ${memoryScopes.join(", ")}`);
  if (typeof accept !== "function" && accept !== "ask" && accept !== "all")
    throw refuse(`has accept ${JSON.stringify(accept)}: give "ask", "all" or a function`);
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= mostProposals))
    throw refuse(`has limit ${String(limit)}: give a whole number from 1 to ${mostProposals}`);
  if (typeof instructions !== "string") throw refuse("has instructions that are no text");
}
