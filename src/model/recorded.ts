/** A model that says again what a session has on record: programs can be run over a past that was paid for once. */
import type { Event } from "../session/event.ts";
import type { ModelReply } from "../session/message.ts";
import type { Model, ModelOptions } from "../session/model.ts";
import type { Session } from "../session/session.ts";
import { modelFailed } from "./failure.ts";

/** A reply on record, who asked for it and as which of their calls on that line. */
interface Take {
  readonly by: string;
  readonly turn: number;
  readonly called: string;
  readonly returned: Event<"model.returned">;
}

/**
 * Plays a session back. An agent's n-th call on a line gets what was recorded for the n-th call of the agent with the same
 * path. Where branches have several, the one is taken whose conversation reads the same, then one on a branch with the same
 * label, then one with as many messages, then the first. A call that has nothing on record fails for good.
 *
 * @example
 * const past = await rath.open("01976f");
 * await using again = openrath({ store: "memory", models: { "openai/*": recorded(past) } });
 */
export function recorded(session: Session): Model {
  let takes: readonly Take[] | undefined;
  return {
    id: "recorded",
    free: true,
    async *stream(_request, options) {
      options.signal.throwIfAborted();
      takes ??= takesOf(session);
      const reply = replyOf(chosen(takes, session, options), session);
      for (const part of reply.parts) {
        if (part.type === "text") yield { type: "text-delta", text: part.text };
        if (part.type === "reasoning" && part.text !== "") yield { type: "reasoning-delta", text: part.text };
        if (part.type === "call") yield { type: "call-delta", call: part.id, tool: part.tool, text: part.input };
      }
      yield { type: "reply", reply };
    },
  };
}

/** What is known at a place of a line: how often each agent has asked, and the newest call. */
interface Line {
  readonly turns: ReadonlyMap<string, number>;
  readonly call: string | undefined;
}

/** All replies on record. A turn is counted along first parents, as the agent that asked counted it. */
function takesOf(session: Session): readonly Take[] {
  const lines = new Map<string, Line>();
  const turns = new Map<string, number>();
  const takes: Take[] = [];
  for (const event of session.events()) {
    const line = lines.get(event.parents[0] ?? "") ?? { turns: new Map(), call: undefined };
    lines.set(event.id, line);
    if (event.kind === "model.called") {
      const turn = line.turns.get(event.by) ?? 0;
      turns.set(event.id, turn);
      lines.set(event.id, { turns: new Map(line.turns).set(event.by, turn + 1), call: event.id });
    }
    if (event.kind !== "model.returned" || event.facts.outcome !== "ok") continue;
    const called = event.facts.call ?? line.call;
    const turn = called === undefined ? undefined : turns.get(called);
    if (called !== undefined && turn !== undefined) takes.push({ by: event.by, turn, called, returned: event });
  }
  return takes;
}

function chosen(takes: readonly Take[], recordedIn: Session, { session, by, turn }: ModelOptions): Take {
  const [first, ...others] = takes.filter((take) => take.by === by && take.turn === turn);
  if (first === undefined)
    throw modelFailed(
      `Session ${recordedIn.id} has no reply on record for call ${turn + 1} of agent "${by}" (turn ${turn}). The program asks for something the recorded one did not.`,
      { retryable: false },
    );
  if (others.length === 0) return first;
  const likeness = (take: Take): number => {
    const then = recordedIn.at(take.called);
    const same = conversation(then) === conversation(session) ? 4 : 0;
    const label = then.lineage.label === session.lineage.label ? 2 : 0;
    return same + label + (then.messages.length === session.messages.length ? 1 : 0);
  };
  let [best, most] = [first, likeness(first)];
  for (const take of others) {
    const like = likeness(take);
    if (like > most) [best, most] = [take, like];
  }
  return best;
}

function conversation(session: Session): string {
  return JSON.stringify(session.messages.map(({ role, text }) => [role, text]));
}

function replyOf({ returned }: Take, recordedIn: Session): ModelReply {
  const { data, facts } = returned;
  // Erased events have facts and no data.
  if ((data as unknown) === undefined || data.parts === undefined)
    throw modelFailed(`The reply ${returned.id} of session ${recordedIn.id} is no longer on record: it was erased.`, { retryable: false });
  const { parts, finish = "other", model, id, warnings, metadata } = data;
  const optional = Object.entries({ model, id, warnings, metadata }).filter(([, value]) => value !== undefined);
  const { usd: _, ...usage } = facts.usage ?? { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 };
  return { parts, finish, usage, ...Object.fromEntries(optional) };
}
