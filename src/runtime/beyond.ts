/** Where a replay goes on with branches beyond their record: in logs of its own under the same names, since others hold the recorded ones. */
import { isCalled } from "../session/event.ts";
import { Log, type LogOwner, type Node } from "../session/log.ts";

interface Owner extends LogOwner {
  own(log: Log): void;
}

export class Beyond {
  readonly #owner: Owner;
  readonly #recorded: ReadonlySet<Node>;
  /** What something follows in its log. */
  readonly #continued: Set<Node | undefined>;

  constructor(owner: Owner, recorded: readonly Node[]) {
    this.#owner = owner;
    this.#recorded = new Set(recorded);
    this.#continued = new Set(recorded.map(({ prior }) => prior));
  }

  /** The log of what comes next, where the program was the first to continue a branch, and what it made there was not written. */
  after(head: Node): Log | undefined {
    if (head.log.owner === this.#owner || this.#continued.has(head) || !this.#isFree(head)) return undefined;
    this.#continued.add(head);
    const log = sameAs(head);
    this.#owner.own(log);
    return log;
  }

  /** Who came after the run continued what it had ended with; of other branches nobody knows who came first. */
  #isFree(head: Node): boolean {
    const { tip, owner, open } = head.log;
    // A merge that is under way holds the end of its branch.
    if (this.#recorded.has(head)) return !isCalled(head.kind) && (tip !== head || open === 0);
    return tip === head && owner === undefined && open === 0;
  }
}

/** A log that is the same up to a place. */
function sameAs(head: Node): Log {
  const { id, kind, first, fork, origin, within, detached, about } = head.log;
  const log = new Log(id, kind);
  Object.assign(log, { tip: head, first, fork, origin, within, detached, about, storedHead: head.stored ? head : undefined });
  return log;
}
