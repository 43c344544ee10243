/**
 * Lanes of a lineage, as `openrath log --graph` and the inspector draw them: one row an event, one lane a branch. Pure and
 * incremental: a row depends on the events before it alone, so appending never moves what is drawn. Events come parents first.
 * A lane stays drawn until its branch is rejected, or its tip is merged, adopted or returned; then others may use it.
 */
import type { Event } from "../session/event.ts";

/** What is read of an event. */
export interface LaneEvent {
  readonly id: string;
  readonly session: string;
  readonly parents: readonly string[];
  readonly kind: string;
  readonly data?: unknown;
}

/** How an event stands in its lineage. */
export type LaneMark = "root" | "fork" | "implicit" | "nested" | "detach" | "merge" | "adopt" | "reject" | "return" | "event";

/** A line that comes into a row from an earlier event. */
export interface LaneLink {
  /** The event it comes from, and the lane in which it comes down; undefined when that lane is gone or was never drawn. */
  readonly from: string;
  readonly lane: number | undefined;
  /** The event's own branch going on, or another branch taking part. */
  readonly kind: "next" | "fork" | "nested" | "detach" | "merge" | "adopt" | "return";
  /** That lane ends here. */
  readonly ends: boolean;
}

/** One event as it is drawn. */
export interface LaneRow {
  readonly event: string;
  readonly session: string;
  readonly mark: LaneMark;
  readonly lane: number;
  /** Its lane begins here. */
  readonly begins: boolean;
  /** Its lane ends here. */
  readonly ends: boolean;
  /** All lanes that come down into this row, its own included, in order. Rows between which nothing begins or ends share one array. */
  readonly above: readonly number[];
  /** All lanes that go on below it. */
  readonly below: readonly number[];
  readonly links: readonly LaneLink[];
}

/** The rows of events, parents first: `lanes(events.slice(0, k))` are the first k rows of `lanes(events)`. */
export function lanes(events: Iterable<LaneEvent>): LaneRow[] {
  const drawing = new Lanes();
  return Array.from(events, (event) => drawing.add(event));
}

/** A branch for as long as it is drawn in one lane. */
interface Strand {
  readonly session: string;
  readonly lane: number;
  tip: string;
  drawn: boolean;
}

/** Draws row by row, for logs that go on. */
export class Lanes {
  /** The lanes in use, in order; never changed in place. */
  #drawn: readonly number[] = [];
  readonly #strandOf = new Map<string, Strand>();
  readonly #newest = new Map<string, Strand>();

  add(event: LaneEvent): LaneRow {
    const above = this.#drawn;
    const links = originsOf(event).map((from) => this.#link(event, from));
    for (const link of links) if (link.ends) this.#end(this.#strandOf.get(link.from));
    const known = this.#newest.get(event.session);
    const own = known?.drawn === true ? known : this.#begin(event, above);
    own.tip = event.id;
    this.#strandOf.set(event.id, own);
    const mark = markOf(event);
    if (mark === "reject") this.#end(own);
    return {
      event: event.id,
      session: event.session,
      mark,
      lane: own.lane,
      begins: own !== known,
      ends: !own.drawn,
      above,
      below: this.#drawn,
      links,
    };
  }

  /** An event that has no row of its own, shown with the newest row of its branch: lines may come from it. */
  join({ id, session }: Pick<LaneEvent, "id" | "session">): void {
    const strand = this.#newest.get(session);
    if (strand === undefined) return;
    strand.tip = id;
    this.#strandOf.set(id, strand);
  }

  #link(event: LaneEvent, from: string): LaneLink {
    const strand = this.#strandOf.get(from);
    const kind = linkOf(event, from, strand);
    const ends = strand?.drawn === true && strand.tip === from && (kind === "merge" || kind === "adopt" || kind === "return");
    return { from, lane: strand?.drawn === true ? strand.lane : undefined, kind, ends };
  }

  /** In the lowest lane that is free. One that ends in this row is still drawn in it. */
  #begin({ id, session }: LaneEvent, above: readonly number[]): Strand {
    // Lanes are in order, and nothing is drawn now that does not come down from above.
    let lane = 0;
    while (above[lane] === lane) lane++;
    const strand: Strand = { session, lane, tip: id, drawn: true };
    const place = this.#drawn.findIndex((other) => other > lane);
    this.#drawn = place < 0 ? [...this.#drawn, lane] : this.#drawn.toSpliced(place, 0, lane);
    this.#newest.set(session, strand);
    return strand;
  }

  #end(strand: Strand | undefined): void {
    if (strand === undefined) return;
    strand.drawn = false;
    this.#drawn = this.#drawn.filter((lane) => lane !== strand.lane);
  }
}

/** The events its lines come from: its parents, or where a detached branch was taken from. */
function originsOf(event: LaneEvent): readonly string[] {
  if (event.kind !== "session.detached") return event.parents.length < 2 ? event.parents : [...new Set(event.parents)];
  const from = (event.data as Event<"session.detached">["data"] | undefined)?.from.head;
  return from === undefined ? [] : [from];
}

function linkOf(event: LaneEvent, from: string, strand: Strand | undefined): LaneLink["kind"] {
  if (strand?.session === event.session) return "next";
  switch (event.kind) {
    case "session.forked":
      return markOf(event) === "nested" ? "nested" : "fork";
    case "session.detached":
      return "detach";
    case "session.merged":
      // An adopted head is the first parent; a merge continues the branch itself.
      return event.parents[0] === from ? "adopt" : "merge";
    default:
      return event.parents[0] === from ? "next" : "return";
  }
}

function markOf(event: LaneEvent): LaneMark {
  switch (event.kind) {
    case "session.created":
    case "session.imported":
      return event.parents.length === 0 ? "root" : "event";
    case "session.forked": {
      const data = event.data as Event<"session.forked">["data"] | undefined;
      return data?.nested === true ? "nested" : data?.implicit === true ? "implicit" : "fork";
    }
    case "session.detached":
      return "detach";
    case "session.merged":
      return (event.data as Event<"session.merged">["data"] | undefined)?.adopt === true ? "adopt" : "merge";
    case "session.rejected":
      return "reject";
    default:
      return event.parents.length > 1 && event.kind.endsWith(".returned") ? "return" : "event";
  }
}
