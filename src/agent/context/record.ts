/** Records what a model reads from now on. Nothing is removed by it. */
import { fullView, rangesOf, type View, viewOf } from "../../session/context.ts";
import type { DataOf } from "../../session/event.ts";
import { stateOf } from "../../session/fold.ts";
import type { Node } from "../../session/log.ts";
import type { Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import type { Plan } from "./plan.ts";
import { reasoningIn } from "./units.ts";

type Compressed = DataOf<"context.compressed">;

export function record(
  session: Session,
  plan: Plan,
  about: Pick<Compressed, "policy" | "tokens"> & Partial<Pick<Compressed, "replacement" | "usage">>,
): Session {
  const { node, context } = placeOf(session);
  const { host } = context;
  const { nodes } = viewOf(stateOf(node).context, host.platform);
  const kept = new Set(nodes.filter((one) => !plan.dropped.has(one)));
  const reasoning = { kept: reasoningIn(kept, host.platform), dropped: reasoningIn(plan.dropped, host.platform) };
  const shortened = [...plan.shortened].map(([{ id: event }, to]) => ({ event, to }));
  return host.add(session, "context.compressed", {
    ...about,
    dropped: rangesOf(nodes, plan.dropped),
    kept: rangesOf(nodes, kept),
    ...(shortened.length === 0 ? {} : { shortened }),
    ...(reasoning.kept + reasoning.dropped === 0 ? {} : { reasoning }),
  });
}

/** Brings back all that was said; the session itself where nothing is missing. */
export function restore(session: Session, tokens: (view: View) => number): Session {
  const { node, context } = placeOf(session);
  const { host } = context;
  const { context: chain, compressed } = stateOf(node);
  if (compressed === undefined || compressed.node.data<"context.compressed">(host.platform)?.policy === "full") return session;
  const [now, full] = [viewOf(chain, host.platform), fullView(chain)];
  if (now.cuts.size === 0 && now.nodes.length === full.nodes.length && now.nodes.every((one, index) => one === full.nodes[index]))
    return session;
  return host.add(session, "context.compressed", {
    policy: "full",
    dropped: [],
    kept: rangesOf(full.nodes, new Set(full.nodes)),
    tokens: { before: tokens(now), after: tokens(full) },
  });
}

/** How many messages are not read any more once some are dropped: those of earlier times included. */
export function notShown(session: Session, dropped: ReadonlySet<Node>): number {
  const { node, context } = placeOf(session);
  const chain = stateOf(node).context;
  const read = viewOf(chain, context.host.platform).nodes.filter((one) => one.kind !== "context.compressed" && !dropped.has(one));
  return fullView(chain).nodes.length - read.length;
}
