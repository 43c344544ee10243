/**
 * The loop of an agent, read downward: ask the model, run what it calls, until it has answered or something stops it. Everything
 * that happens is an effect of the session, so the loop can be left anywhere and entered again.
 */
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import { givenText } from "../session/given.ts";
import type { Host } from "../session/host.ts";
import { SharedText } from "../session/json.ts";
import type { ReplyPart, RequestTool } from "../session/message.ts";
import type { Session, StopReason, Tool } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { toParts } from "../session/views.ts";
import { type Asked, askModel } from "./ask-model.ts";
import { callTools } from "./call-tools.ts";
import { Fitting } from "./context/fitting.ts";
import { handedOverTo, handoffTool } from "./handoff.ts";
import { beforeModel } from "./hooks.ts";
import { askedInstead } from "./instead.ts";
import { memoryToolsOf, recallBefore } from "./memory.ts";
import type { AgentOptions } from "./options.ts";
import { outputSchemaOf, readOutput } from "./output.ts";

const defaultRounds = 100;
/** How many agents may be inside each other: two that hand over to each other would never end. */
const deepest = 100;
/** How often a model may correct an answer that does not fit its schema. */
const corrections = 2;

type Call = Extract<ReplyPart, { type: "call" }>;

export async function converse<Output>(options: AgentOptions<Output>, session: Session, name: string): Promise<Session> {
  // Whether somebody stopped it is seen in the outcome of the next call: the signal itself is not on record.
  const { host, by, budgets = [] } = placeOf(session).context;
  if (by.split("/").length > deepest) return stopped(host, session, "rounds", `${deepest} agents inside each other`);
  const rounds = Math.min(
    options.limits?.rounds ?? defaultRounds,
    ...budgets.map(({ limits }) => limits.rounds ?? Number.POSITIVE_INFINITY),
  );
  const prepared = await prepare(options, session, name).catch(cancelled);
  if (!("configuration" in prepared)) return stopped(host, prepared.session, "cancelled", prepared.reason);
  const fitting = new Fitting(options, name, converse);
  const remembered = await recallBefore(options, prepared.session, (fresh) => fitting.fit(fresh, prepared));
  if ("stop" in remembered) return stopped(host, remembered.session, remembered.stop, remembered.reason);
  let at = remembered.session;
  let { configuration } = prepared;
  let invalid = 0;
  for (let round = 1; ; round++) {
    if (round > rounds) {
      budgets.at(-1)?.crossed("rounds", rounds, rounds);
      return stopped(host, at, "rounds", counted(rounds, "round"));
    }
    if (options.context !== undefined && (round > 1 || !remembered.fits)) at = await fitting.fit(at, prepared);
    const hooked = await beforeModel(options, at, { ...prepared, configuration, round }, name);
    if ("refuse" in hooked) return stopped(host, hooked.session, "refused", hooked.refuse);
    const [asking, ready] = askedInstead(options, hooked);
    const asked = await askModel(asking, ready.session, ready, budgets, fitting.refusal(hooked));
    at = asked.session;
    // The configuration is stored with the first call that names it; a hook may have put another one in its place.
    if (hooked.configuration === configuration) configuration = configuration.again();
    if (asked.outcome !== "ok") return failed(host, asked);
    const calls = asked.parts.filter((part): part is Call => part.type === "call");
    if (calls.length > 0) {
      at = await callTools(options, offeredOf(prepared, hooked.offered), at, calls, name);
      const next = handedOverTo(options.handoffs ?? [], at);
      if (next !== undefined) return next.forward(at);
      continue;
    }
    if (asked.finish === "length") return stopped(host, at, "length", "the answer was longer than it may be");
    if (asked.finish === "refused") return stopped(host, at, "refused", "the model refused to answer");
    if (asked.parts.length === 0) return stopped(host, at, "error", "the model said nothing");
    if (options.output === undefined) return stopped(host, at, "finished");
    const read = await readOutput(options.output, at.text);
    if ("value" in read) return stopped(host, at, "finished", undefined, read);
    if (++invalid > corrections) return stopped(host, at, "invalid", read.problem);
    at = host.add(at, "message.added", {
      role: "user",
      parts: toParts(`Your answer does not fit the schema: ${read.problem}. Answer again with JSON that fits, and nothing else.`) as never,
    });
  }
}

/** What a hook does not offer cannot be called either. */
function offeredOf({ tools, offered }: Prepared, now: readonly RequestTool[]): ReadonlyMap<string, Tool> {
  if (now === offered) return tools;
  const names = new Set(now.map((tool) => tool.name));
  return new Map([...tools].filter(([name]) => names.has(name)));
}

/** An effect that was cancelled is how the agent ends, not an error of the program. */
function cancelled(error: unknown): { readonly session: Session; readonly reason: string } {
  if (!RathError.is(error, "effect.cancelled") || error.session === undefined) throw error;
  return { session: error.session, reason: error.message };
}

/** What an agent is ready with: its tools as they are offered now, and its configuration as one text. */
export interface Prepared {
  readonly session: Session;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly instructions: string;
  readonly offered: readonly RequestTool[];
  readonly output: object | undefined;
  readonly configuration: SharedText;
}

async function prepare<Output>(options: AgentOptions<Output>, session: Session, name: string): Promise<Prepared> {
  let at = session;
  let instructions = "";
  if (typeof options.instructions === "function") {
    const write = options.instructions;
    const text = async (): Promise<string> => givenText(await write(session), `what the instructions of agent "${name}" give`);
    at = await at.do("instructions", text, { repeat: "safe" });
    instructions = at.output as string;
  } else instructions = options.instructions ?? "";
  const tools = new Map<string, Tool>(
    [...(options.tools ?? []), ...memoryToolsOf(options.memory), ...(options.handoffs ?? []).map(handoffTool)].map((tool) => [
      tool.name,
      tool,
    ]),
  );
  const offered: RequestTool[] = [];
  for (const tool of tools.values()) {
    if (tool["~tool"].source !== undefined) continue;
    offered.push({ name: tool.name, description: tool.description, input: tool["~tool"].schema });
  }
  for (const source of new Set([...tools.values()].flatMap((tool) => tool["~tool"].source ?? []))) {
    // What a server offers may change: it is recorded, and taken from the record afterwards.
    at = await at.do(`tools of ${source.name}`, () => source.describe(), { repeat: "safe" });
    const listed = at.output as Awaited<ReturnType<typeof source.describe>>;
    offered.push(...listed.tools.filter((tool) => tools.get(tool.name)?.["~tool"].source === source));
  }
  const output = options.output === undefined ? undefined : outputSchemaOf(options.output, name);
  const { host } = placeOf(session).context;
  // What is kept is what the model reads: both are without secrets.
  const kept = without(host, { instructions, tools: offered, ...(output === undefined ? {} : { output }) });
  const configuration = SharedText.of(JSON.stringify(kept), host.platform);
  return { session: at, tools, instructions: kept.instructions, offered: kept.tools, output: kept.output, configuration };
}

/** The same data without secrets. */
function without<T>(host: Host, value: T): T {
  const clean = (inner: unknown): unknown => {
    if (typeof inner === "string") return host.clean(inner);
    if (typeof inner !== "object" || inner === null) return inner;
    if (Array.isArray(inner)) return inner.map(clean);
    return Object.fromEntries(Object.entries(inner).map(([key, field]) => [host.clean(key), clean(field)]));
  };
  return clean(value) as T;
}

/** A model that could not be asked is an error of the program; one that failed, or was not allowed, is how the agent ended. */
function failed(host: Host, { session, outcome, problem, code, tooLong }: Asked): Session {
  if (code !== undefined) throw new RathError(code, problem, { session });
  if (tooLong) return stopped(host, session, "error", problem);
  if (outcome === "denied") return stopped(host, session, "budget", problem);
  if (outcome === "cancelled") return stopped(host, session, "cancelled", problem);
  return stopped(host, session, "error", problem);
}

function stopped(host: Host, session: Session, stop: StopReason, reason?: string, output?: { readonly value: unknown }): Session {
  return host.add(session, "agent.stopped", { ...(reason === undefined ? {} : { reason }), stop, ...output } as never);
}
