/** Everything behind a place in order: pages of it are asked for one after the other. */
import { history, type Log, type Node } from "../session/log.ts";

/** The newest that was asked for, of each log: of a session that grows, every head would keep a list of its own. */
const histories = new WeakMap<Log, { readonly place: Node; readonly nodes: readonly Node[] }>();

export function historyOf(place: Node): readonly Node[] {
  const known = histories.get(place.log);
  if (known?.place === place) return known.nodes;
  const nodes = history(place);
  histories.set(place.log, { place, nodes });
  return nodes;
}
