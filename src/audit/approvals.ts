/** Which calls of tools a person was asked about. The call says so itself where that was known in time, else the answer to it does. */
import type { Runtime } from "../runtime/runtime.ts";
import { dataText } from "../session/codec.ts";
import type { DataOf } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";

/** The calls among these events and behind their results. */
export async function askedAbout(runtime: Runtime, nodes: Iterable<Node>): Promise<ReadonlySet<Node>> {
  const { platform } = runtime;
  const asked = new Set<Node>();
  const answered = new Map<string, Node>();
  for (const node of nodes) {
    if (node.kind !== "tool.called" && node.kind !== "tool.returned") continue;
    const call = node.kind === "tool.called" ? node : callOf(node);
    if (call.data<"tool.called">(platform)?.approval !== undefined) asked.add(call);
    else if (node !== call) {
      const answer = node.data<"tool.returned">(platform)?.answer;
      if (answer !== undefined) answered.set(answer, call);
    }
  }
  if (answered.size === 0) return asked;
  for await (const { id, data } of (await runtime.store()).events({ ids: [...answered.keys()] })) {
    const said = data === undefined ? undefined : (JSON.parse(dataText(platform, data)) as DataOf<"answer.given">);
    if (said !== undefined && isApproval(said)) asked.add(answered.get(id) as Node);
  }
  return asked;
}

/** A person was asked whether a call may happen; what is said of an effect that was lost never comes too late. */
export function isApproval({ approve, expired }: Pick<DataOf<"answer.given">, "approve" | "expired">): boolean {
  return approve !== undefined || expired === true;
}
