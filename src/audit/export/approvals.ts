/** What people were asked on a session, and what they said. */
import { runtimeOf } from "../../runtime/replay.ts";
import { parseEnvelope } from "../../session/codec.ts";
import { callOf } from "../../session/fold.ts";
import { history, type Node } from "../../session/log.ts";
import type { Platform } from "../../session/platform.ts";
import type { Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import { outcomeOf, textOfOutcome } from "../../session/views.ts";

/** A question or an approval, and the decision on it. */
export interface Approval {
  readonly what: string;
  readonly decision: string;
  /** What was answered to a question. */
  readonly answer?: string | undefined;
  /** Who decided, and when. */
  readonly by?: string | undefined;
  readonly at?: string | undefined;
  readonly reason?: string | undefined;
}

/** Those behind a session, oldest first. */
export async function approvalsOf(session: Session): Promise<readonly Approval[]> {
  const runtime = runtimeOf(session);
  const { platform } = runtime;
  const asked = history(placeOf(session).node).filter((node) => !node.erased && isAnswer(node, platform));
  const answers = new Map<string, { readonly by: string; readonly at: string }>();
  const ids = asked.flatMap((node) => node.data<"ask.returned">(platform).answer ?? []);
  for await (const event of (await runtime.store()).events({ ids })) {
    const { by, at } = parseEnvelope(platform.text(event.envelope));
    answers.set(event.id, { by, at });
  }
  return asked.map((node) => approvalOf(node, answers, platform));
}

function isAnswer(node: Node, platform: Platform): boolean {
  if (node.kind === "ask.returned") return true;
  return node.kind === "tool.returned" && !callOf(node).erased && callOf(node).data<"tool.called">(platform).approval !== undefined;
}

function approvalOf(
  returned: Node,
  answers: ReadonlyMap<string, { readonly by: string; readonly at: string }>,
  platform: Platform,
): Approval {
  const called = callOf(returned);
  const { answer, reason } = returned.data<"ask.returned">(platform);
  const who = answer === undefined ? undefined : answers.get(answer);
  const { outcome } = returned.facts;
  if (called.kind === "ask.called") {
    const question = called.erased ? "[erased]" : called.data<"ask.called">(platform).question;
    if (outcome !== "ok") return { what: question, decision: outcome ?? "unknown", ...who };
    return { what: question, decision: "answered", answer: textOfOutcome(outcomeOf(returned, platform)), ...who };
  }
  const decision = outcome === "denied" || outcome === "expired" || outcome === "cancelled" ? outcome : "approved";
  return { what: called.data<"tool.called">(platform).name, decision, ...who, reason: outcome === "denied" ? reason : undefined };
}
