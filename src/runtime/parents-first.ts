/**
 * The order of what is stored in one commit: whoever follows the feed is given an event after its parents. A log is cut only where an
 * event of it stands on one that another log has to bring first, so that mostly it stays one piece.
 */

/** An event that is about to be stored, and what it stands on. */
interface Placed<Log, Id> {
  readonly log: Log;
  readonly id: Id;
  readonly parents: readonly Id[];
}

/** Pieces of logs, parents first, of events that come parents first. */
export function piecesOf<T, Log, Id>(
  events: readonly T[],
  placed: (event: T) => Placed<Log, Id>,
): { readonly log: Log; readonly events: T[] }[] {
  const pieces: { readonly log: Log; readonly events: T[] }[] = [];
  const newest = new Map<Log, number>();
  const pieceOf = new Map<Id, number>();
  for (const event of events) {
    const { log, id, parents } = placed(event);
    let at = newest.get(log);
    for (const parent of parents) if (at !== undefined && (pieceOf.get(parent) ?? -1) > at) at = undefined;
    if (at === undefined) at = pieces.push({ log, events: [] }) - 1;
    newest.set(log, at);
    pieceOf.set(id, at);
    pieces[at]?.events.push(event);
  }
  return pieces;
}
