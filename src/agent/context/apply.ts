/** Applies a policy to a session: what it leaves of the conversation is recorded, and what it could not do is said. */
import { isAlone } from "../../session/context.ts";
import { RathError } from "../../session/errors.ts";
import { type Chain, stateOf } from "../../session/fold.ts";
import type { Node } from "../../session/log.ts";
import type { Platform } from "../../session/platform.ts";
import type { Session, Totals } from "../../session/session.ts";
import { textOfThrown } from "../../session/thrown.ts";
import { tokensOf } from "../../session/tokens.ts";
import { placeOf } from "../../session/value.ts";
import { type Around, measure, tokensRead, viewTokens } from "./measure.ts";
import { dropBefore, dropOldest, dropOthers, lengthOf, type Measured, type Plan, shortenResults } from "./plan.ts";
import type { ContextChoice, ContextFunction, ContextPolicy } from "./policy.ts";
import { notShown, record, restore } from "./record.ts";
import { type Summariser, summarise } from "./summarise.ts";
import { entriesOf } from "./units.ts";

export interface Applying extends Around {
  /** Who applies it. */
  readonly agent: string;
  readonly summariser: Summariser;
  /** The most that the model reads, when that is known. */
  readonly limit: number | undefined;
  /** Results that were shortened before: older ones are as short as they will be. */
  readonly looked?: WeakSet<Node> | undefined;
  /** Whatever the threshold says. */
  readonly now: boolean;
}

export interface Applied {
  readonly session: Session;
  /** Why it could not be done. */
  readonly problem?: string | undefined;
}

export async function applyPolicy(session: Session, policy: ContextPolicy, how: Applying): Promise<Applied> {
  if (policy === "full") return { session: restoreAll(session, how) };
  if (typeof policy === "function") return { session: await chosen(session, policy, how) };
  if ("window" in policy) return { session: window(session, policy.window, how) };
  if ("trimResults" in policy) return { session: trim(session, policy, how) };
  return summary(session, policy, how);
}

function restoreAll(session: Session, { fixed }: Applying): Session {
  const { platform } = placeOf(session).context.host;
  return restore(session, (view) => fixed + viewTokens(view, platform));
}

/** What is dropped at once: more than must be, so that it is not done again each round and a provider's cache is good for a while. */
const windowShare = 0.75;

function window(session: Session, most: number, how: Applying): Session {
  const threshold = Math.min(most, how.limit ?? Number.POSITIVE_INFINITY);
  if (tokensRead(session, how) <= threshold) return session;
  const measured = measure(session, how);
  const plan = dropOldest(measured, Math.floor(threshold * windowShare));
  return plan === undefined ? session : replaced(session, plan, measured, "window", notShownText(session, plan));
}

/** Shortening a little in each round would write an event each time, and a provider's cache would be good for nothing. */
const trimShare = 1 / 8;

function trim(session: Session, policy: { readonly trimResults: number; readonly keep?: number | undefined }, how: Applying): Session {
  const { node, context } = placeOf(session);
  const { platform } = context.host;
  const { trimResults: to, keep = 3 } = policy;
  const tokens = tokensRead(session, how);
  const least = how.now || (how.limit !== undefined && tokens > how.limit) ? 0 : tokens * trimShare;
  if (least > 0 && couldSave(stateOf(node).context, to, keep, how.looked, platform) < least) return session;
  const measured = measure(session, how);
  const usual = shortenResults(measured, measured.view, to, keep, platform);
  const fits = how.limit === undefined || tokens - (usual?.saved ?? 0) <= how.limit;
  const plan = fits ? usual : shortenResults(measured, measured.view, to, 0, platform);
  if (plan === undefined || plan.saved < least) return session;
  for (const result of plan.shortened.keys()) how.looked?.add(result);
  return record(session, plan, { policy: "trim", tokens: tokensOfPlan(measured, plan, 0) });
}

/** At most so many tokens are saved by shortening what went out of the newest rounds since the last time. Costs what is new since then. */
function couldSave(context: Chain | undefined, to: number, keep: number, looked: WeakSet<Node> | undefined, platform: Platform): number {
  let rounds = 0;
  let characters = 0;
  for (let at = context; at !== undefined && !isAlone(at.node); at = at.before) {
    if (at.node.kind === "model.returned") rounds++;
    if (at.node.kind !== "tool.returned" || rounds < keep) continue;
    if (looked?.has(at.node)) break;
    characters += Math.max(0, lengthOf(at.node, platform) - to);
  }
  // However dense it is: at most four tokens where four characters were taken for one.
  return characters;
}

type Summary = Extract<ContextPolicy, { readonly summariseAt: number }>;

/** Less than this share of the threshold is not worth a summary. */
const leastShare = 1 / 8;

async function summary(session: Session, policy: Summary, how: Applying): Promise<Applied> {
  const most = Math.floor((how.limit ?? Number.POSITIVE_INFINITY) * 0.9);
  const threshold = Math.min(policy.summariseAt, most);
  const tokens = tokensRead(session, how);
  if (!how.now && tokens < threshold) return { session };
  const measured = measure(session, how);
  const keep = Math.min(policy.keep ?? Math.floor(threshold / 4), Math.floor(threshold * windowShare));
  const plan = dropBefore(measured, keep);
  if (plan === undefined) return { session };
  const fresh = measured.units.filter(
    ({ nodes: [first] }) => first !== undefined && plan.dropped.has(first) && first.kind !== "context.compressed",
  );
  const worth = fresh.reduce((sum, unit) => sum + unit.tokens, 0) * measured.scale;
  if (fresh.length === 0 || (!how.now && tokens <= most && worth < threshold * leastShare)) return { session };
  let made: Session<string>;
  try {
    const { model = how.summariser.model, instructions } = policy;
    made = await summarise(session, plan.dropped, { ...how.summariser, model, instructions });
  } catch (error) {
    if (how.now || !RathError.is(error) || error.session === undefined) throw error;
    // What follows is cancelled too.
    if (error.code === "effect.cancelled") return { session: error.session };
    return failed(error.session, problemOf(error.session));
  }
  const after = tokensOfPlan(measured, plan, tokensOf(made.output) * measured.scale);
  if (after.after >= after.before) return failed(made, "the summary is not shorter than what it would replace");
  const event = placeOf(made).node.id;
  return { session: record(made, plan, { policy: "summary", replacement: { event }, tokens: after, usage: spent(session, made) }) };
}

function failed(session: Session, problem: string): Applied {
  return { session: session.note(`The conversation was not summarised: ${problem}`), problem };
}

/** Why an effect failed, as it is on record: the same when the agent is entered again. */
function problemOf(session: Session): string {
  const { node, context } = placeOf(session);
  const { message, reason } = node.data<"do.returned">(context.host.platform);
  return message ?? reason ?? node.facts.outcome ?? "";
}

/** What a nested effect cost. */
function spent(before: Session, after: Session): Totals {
  const [a, b] = [before.usage, after.usage];
  return {
    input: b.input - a.input,
    output: b.output - a.output,
    cached: b.cached - a.cached,
    cacheWrite: b.cacheWrite - a.cacheWrite,
    reasoning: b.reasoning - a.reasoning,
    usd: b.usd - a.usd,
  };
}

/** A function is asked as an effect: what it said is taken from the record when the agent is entered again. */
async function chosen(session: Session, choose: ContextFunction, how: Applying): Promise<Session> {
  const measured = measure(session, how);
  const entries = entriesOf(measured.units, measured.view, placeOf(session).context.host.platform);
  const { at, given } = await asked(session, how.agent, async () => (await choose(entries)) ?? null);
  if (given === null) return at;
  const problem = problemWith(given, new Set(entries.map(({ event }) => event)));
  if (problem !== undefined) throw policyFailed(how.agent, problem, at);
  const { keep, replacement } = given as ContextChoice;
  const plan = dropOthers(measured, new Set(keep));
  return plan === undefined ? at : replaced(at, plan, measured, "custom", replacement ?? notShownText(at, plan));
}

/** What is wrong with what a function chose. */
function problemWith(given: unknown, entries: ReadonlySet<string>): string | undefined {
  if (typeof given !== "object" || given === null) return `gave ${JSON.stringify(given)}`;
  const { keep, replacement, ...others } = given as Partial<Record<keyof ContextChoice, unknown>>;
  const [other] = Object.keys(others);
  if (other !== undefined) return `gave ${JSON.stringify(other)}, which is not known`;
  if (!Array.isArray(keep)) return "gave no list to keep";
  const unknown = keep.findIndex((event) => !entries.has(event));
  if (unknown >= 0) return `keeps ${JSON.stringify(keep[unknown])}, which is the event of none of its entries`;
  return replacement === undefined || typeof replacement === "string" ? undefined : "gave a replacement that is no text";
}

async function asked(session: Session, agent: string, choose: () => unknown): Promise<{ readonly at: Session; readonly given: unknown }> {
  try {
    const at = await session.do("context policy", choose, { repeat: "safe" });
    return { at, given: at.output };
  } catch (error) {
    if (RathError.is(error, "effect.cancelled") && error.session !== undefined) return { at: error.session, given: null };
    if (!RathError.is(error, "effect.failed")) throw error;
    throw policyFailed(agent, `threw: ${textOfThrown(error.cause ?? error)}`, error.session, error.cause);
  }
}

function policyFailed(agent: string, problem: string, session: Session | undefined, cause?: unknown): RathError {
  return new RathError(
    "agent.hook-failed",
    `The context policy of agent "${agent}" ${problem}. Return { keep: events of entries, replacement?: text }, or undefined to change nothing.`,
    { session, cause },
  );
}

/** Recorded only where less is read afterwards. */
function replaced(session: Session, plan: Plan, measured: Measured, policy: "window" | "custom", text: string): Session {
  const tokens = tokensOfPlan(measured, plan, tokensOf(text) * measured.scale);
  if (policy === "window" && tokens.after >= tokens.before) return session;
  return record(session, plan, { policy, replacement: { text }, tokens });
}

function tokensOfPlan({ tokens }: Measured, { saved }: Plan, added: number): { readonly before: number; readonly after: number } {
  return { before: tokens, after: Math.max(0, tokens - saved + Math.ceil(added)) };
}

function notShownText(session: Session, { dropped }: Plan): string {
  const count = notShown(session, dropped);
  return `[${count} earlier ${count === 1 ? "message is" : "messages are"} not shown]`;
}
