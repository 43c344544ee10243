/** Why something cost what it cost: the calls that cost most, and what made them large. */
import { envelopeOf } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import { callOf, stateOf, turnsOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Configuration } from "../session/request.ts";
import type { Session } from "../session/session.ts";
import { tokensOf } from "../session/tokens.ts";
import { count, money, plural } from "../wire/format.ts";
import { readBy, textRead } from "./why-read.ts";
import { type Step, stepTo, type Tracing } from "./why-step.ts";
import { nameWords, readWords, wordsOf } from "./why-words.ts";

/** So many calls are named, and so much of what each had read. */
const namedCalls = 5;
const namedParts = 5;

/** "" for the call that cost most, "budget" for the newest budget that was crossed, or the name of a model for all it cost. */
export async function costSteps(tracing: Tracing, session: Session, place: Node, name: string): Promise<readonly Step[]> {
  if (name === "budget") return [await crossing(tracing, session, place)];
  const { platform } = tracing.runtime;
  const all = spending(tracing);
  const calls = name === "" ? all : all.filter((node) => modelOf(node, tracing) === name);
  if (calls.length === 0) {
    const models = [...new Set(all.map((node) => modelOf(node, tracing)))];
    const there = models.length === 0 ? "no call of a model has cost anything" : `it paid for ${models.map(nameWords).join(", ")}`;
    throw notFound(
      session,
      name === ""
        ? `Session ${session.id} has no costs: ${there}.`
        : `Session ${session.id} has no costs of ${JSON.stringify(name)}: ${there}.`,
    );
  }
  const total = sumOf(calls);
  const of = name === "" ? plural(calls.length, "call") : `${plural(calls.length, "call")} of ${nameWords(name)}`;
  return dearest(calls, name === "" ? 1 : namedCalls).map((node) => spentStep(node, `of ${words(total)} for ${of}`, total, platform));
}

type Total = { readonly usd: number; readonly tokens: number };

/** Every reply behind the place that was paid for there. */
function spending({ finder }: Tracing): readonly Node[] {
  const found: Node[] = [];
  for (const node of finder.behind())
    if (node.kind === "model.returned" && node.facts.usage !== undefined && node.facts.source === undefined) found.push(node);
  return found;
}

function modelOf(reply: Node, { runtime: { platform } }: Tracing): string {
  return reply.data<"model.returned">(platform)?.model ?? callOf(reply).data<"model.called">(platform)?.model ?? "[erased]";
}

function costOf({ facts: { usage } }: Node): Total {
  return { usd: usage?.usd ?? 0, tokens: (usage?.input ?? 0) + (usage?.output ?? 0) };
}

function sumOf(calls: readonly Node[]): Total {
  let [usd, tokens] = [0, 0];
  for (const cost of calls.map(costOf)) [usd, tokens] = [usd + cost.usd, tokens + cost.tokens];
  return { usd, tokens };
}

function dearest(calls: readonly Node[], most: number): readonly Node[] {
  const by = (a: Node, b: Node): number => costOf(b).usd - costOf(a).usd || costOf(b).tokens - costOf(a).tokens || b.step - a.step;
  return [...calls].sort(by).slice(0, most);
}

/** Money where there is a price, else tokens. */
function words({ usd, tokens }: Total): string {
  return usd > 0 ? money(usd) : plural(tokens, "token");
}

function spentStep(reply: Node, whole: string, total: Total, platform: Platform): Step {
  const cost = costOf(reply);
  const share = total.usd > 0 ? cost.usd / total.usd : total.tokens === 0 ? 0 : cost.tokens / total.tokens;
  const { input = 0, output = 0, cached = 0 } = reply.facts.usage ?? {};
  const called = callOf(reply);
  const round = turnsOf(stateOf(called), called.by);
  const read = `${plural(input, "token")} read${cached > 0 ? ` (${count(cached)} of them cached)` : ""}, ${count(output)} written`;
  return stepTo("spent", reply, {
    words: `${words(cost)}, ${Math.round(100 * share)} % ${whole}: ${read} in round ${round} of ${nameWords(reply.by)}; ${wordsOf(reply, platform)}`,
    evidence: { tokens: cost.tokens, usd: cost.usd },
    leaf: true,
    next: [readStep(called, platform)],
  });
}

/** What of a request was large. */
function readStep(called: Node, platform: Platform): Step {
  const { nodes, cuts } = readBy(called, platform);
  const { configuration } = called.data<"model.called">(platform) ?? {};
  const { instructions = "", tools = [] } = configuration === undefined ? {} : (JSON.parse(configuration) as Partial<Configuration>);
  const fixed = `about ${plural(tokensOf(instructions), "token")} of instructions, ${count(tools.length === 0 ? 0 : tokensOf(JSON.stringify(tools)))} of ${plural(tools.length, "tool")}`;
  const parts = nodes.map((node) => ({ node, tokens: tokensOf(textRead(node, cuts.get(node), platform)) }));
  const largest = parts.sort((a, b) => b.tokens - a.tokens || b.node.step - a.node.step).slice(0, namedParts);
  return stepTo("decided", called, {
    words: `${wordsOf(called, platform)}, ${readWords(nodes)}, and ${fixed}`,
    leaf: true,
    next: largest.map(({ node, tokens }) =>
      stepTo("was-in-context", node, {
        words: `about ${plural(tokens, "token")}: ${wordsOf(node, platform)}`,
        leaf: true,
        evidence: { tokens },
      }),
    ),
  });
}

/** The newest budget that was crossed on the line, and what had been spent in that run. */
async function crossing(tracing: Tracing, session: Session, place: Node): Promise<Step> {
  const { platform } = tracing.runtime;
  const runs = new Set<string>();
  for (let at: Node | undefined = place; at !== undefined; at = at.parent) if (at.run !== undefined) runs.add(at.run);
  const store = await tracing.runtime.store();
  for (const run of runs) {
    let crossed: string | undefined;
    for await (const event of store.events({ session: run })) if (envelopeOf(platform, event).kind === "budget.crossed") crossed = event.id;
    const node = crossed === undefined ? undefined : await tracing.finder.find(crossed);
    if (node === undefined) continue;
    const calls = spending(tracing).filter((reply) => reply.run === run);
    const total = sumOf(calls);
    const next = dearest(calls, namedCalls).map((reply) =>
      spentStep(reply, `of ${words(total)} for ${plural(calls.length, "call")} of the run`, total, platform),
    );
    return stepTo("decided", node, { leaf: true, next });
  }
  throw notFound(session, `No budget was crossed in session ${session.id}.`);
}

function notFound(session: Session, message: string): RathError {
  return new RathError("session.not-found", message, { session });
}
