/** Another model or other instructions, from one call of an agent on: what a rerun changes. */
import { stateOf, turnsOf } from "../session/fold.ts";
import { SharedText } from "../session/json.ts";
import { placeOf } from "../session/value.ts";
import type { Ready } from "./hooks.ts";
import type { AgentOptions } from "./options.ts";

/** The request as it is asked: as the agent made it, where it is not the one that was changed. */
export function askedInstead<Output>(options: AgentOptions<Output>, ready: Ready): readonly [AgentOptions<Output>, Ready] {
  const { node, context } = placeOf(ready.session);
  const { host, by, instead } = context;
  if (instead === undefined || instead.by !== by || turnsOf(stateOf(node), by) < instead.turn) return [options, ready];
  const { model = options.model, instructions } = instead;
  const changed = { ...options, model } as AgentOptions<Output>;
  if (instructions === undefined) return [changed, ready];
  const { offered, output } = ready;
  const text = JSON.stringify({ instructions, tools: offered, ...(output === undefined ? {} : { output }) });
  return [changed, { ...ready, instructions, configuration: SharedText.of(text, host.platform) }];
}
