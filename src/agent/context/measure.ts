/**
 * How many tokens a model is about to read. The provider counted the newest reply and everything before it; what came since is
 * estimated. Where that count is of something else (another agent spoke, a hook changes requests, or it was compressed since), all
 * of it is estimated. Everything is read from the log, so resuming and replaying find the same.
 */
import { compresses, isAlone, tokensCounted, type View, viewOf } from "../../session/context.ts";
import { type State, stateOf } from "../../session/fold.ts";
import type { Platform } from "../../session/platform.ts";
import { messagesSince } from "../../session/request.ts";
import type { Session } from "../../session/session.ts";
import { tokensOfMessage } from "../../session/tokens.ts";
import { placeOf } from "../../session/value.ts";
import type { Measured } from "./plan.ts";
import { unitsOf } from "./units.ts";

/** What is known beside the conversation. */
export interface Around {
  /** Tokens of instructions, tools and output schema. */
  readonly fixed: number;
  /** Whether a provider's count is of what is sent. */
  readonly counts: boolean;
}

/** About how many tokens are read at a place. */
export function tokensRead(session: Session, { fixed, counts }: Around): number {
  const { node, context } = placeOf(session);
  const { platform } = context.host;
  const state = stateOf(node);
  const counted = counts ? countedTokens(state, context.by, platform) : undefined;
  return counted ?? fixed + viewTokens(viewOf(state.context, platform), platform);
}

/** The same, with what it is made of. */
export function measure(session: Session, around: Around): Measured & { readonly view: View } {
  const { node, context } = placeOf(session);
  const { platform } = context.host;
  const view = viewOf(stateOf(node).context, platform);
  const units = unitsOf(view, platform);
  const estimated = units.reduce((sum, unit) => sum + unit.tokens, 0);
  const tokens = tokensRead(session, around);
  // Texts differ in how dense they are; what a provider counted says by how much the estimate is off.
  const scale = estimated === 0 ? 1 : Math.min(4, Math.max(0.5, (tokens - around.fixed) / estimated));
  return { view, units, tokens, scale };
}

export function viewTokens(view: View, platform: Platform): number {
  return unitsOf(view, platform).reduce((sum, unit) => sum + unit.tokens, 0);
}

function countedTokens({ said, context }: State, by: string, platform: Platform): number | undefined {
  const counted = said?.by === by ? tokensCounted(said) : undefined;
  if (counted === undefined) return undefined;
  let at = context;
  for (; at !== undefined && at.node !== said; at = at.before) if (isAlone(at.node) || compresses(at.node)) return undefined;
  if (at === undefined) return undefined;
  const since = messagesSince(context, platform).reduce((sum, message) => sum + tokensOfMessage(message), 0);
  return counted + since;
}
