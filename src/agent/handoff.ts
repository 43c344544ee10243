/** Handing a session over to another agent: a tool that the model calls, judged like every other one. */
import { isReturned, isStarted } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Session, Tool } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { toolRevision } from "../tool/tool.ts";

/** An agent as another one sees it. */
export interface Handoff {
  readonly name: string;
  readonly description: string;
  forward(session: Session): Promise<Session>;
}

/** The tool by which a model hands over. */
export function handoffName(handoff: Handoff): string {
  return `transfer_to_${handoff.name.replace(/[^a-zA-Z0-9_-]/g, "_")}`.slice(0, 64);
}

export function handoffTool(handoff: Handoff): Tool {
  const name = handoffName(handoff);
  const description = `Hands the conversation over to ${handoff.name}: ${handoff.description}`;
  const schema = { type: "object", properties: {}, additionalProperties: false };
  return {
    name,
    description,
    repeat: "safe",
    "~run": async () => `Handed over to ${handoff.name}.`,
    "~tool": {
      schema,
      revision: toolRevision(name, description, schema),
      writes: "nothing",
      trustsInner: true,
      validate: () => ({ value: {} }),
    },
  };
}

/** Whom the round that just ended handed the session over to: the first one whose call went well. */
export function handedOverTo(handoffs: readonly Handoff[], session: Session): Handoff | undefined {
  if (handoffs.length === 0) return undefined;
  const { node, context } = placeOf(session);
  const called: Node[] = [];
  for (let at: Node | undefined = node; at !== undefined && (isReturned(at.kind) || isStarted(at.kind)); at = at.prior)
    if (at.kind === "tool.returned" && at.facts.outcome === "ok") called.push(callOf(at));
  const names = called.sort((a, b) => a.seq - b.seq).map((call) => call.data<"tool.called">(context.host.platform)?.name);
  for (const name of names) {
    const handoff = handoffs.find((candidate) => handoffName(candidate) === name);
    if (handoff !== undefined) return handoff;
  }
  return undefined;
}
