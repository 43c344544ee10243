/** Detaching begins a new line whose content comes from a place in another one: by reference, with usage from zero. */
import { forkId, type Scope } from "../session/id.ts";
import { Log, type Node } from "../session/log.ts";
import type { Execution } from "./execution.ts";
import { link } from "./link.ts";

/** The first event of a detached session, or the one recorded there. */
export function detachAt(execution: Execution, node: Node, within: Scope, by: string): Node {
  const { runtime } = execution;
  const ordinal = execution.ordinal(node, within, "detach");
  const scope = execution.scopeNow(within);
  const from = { session: node.log.id, head: node.id };
  const id = forkId(runtime.platform, from, scope, "detach", ordinal);
  const recorded = execution.recorded?.fork(id);
  if (recorded !== undefined) return recorded;
  const log = new Log(id);
  log.origin = node;
  log.detached = { scope, ordinal };
  if ("call" in scope) log.within = scope;
  log.about = node.log.about;
  const data = { from, ...("call" in scope ? { scope } : {}) };
  const at = execution.mode === "effects" ? undefined : node.at;
  return link(runtime, { log, parents: [], kind: "session.detached", data, by, at });
}
