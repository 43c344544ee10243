/**
 * What models say and tools report in this process, put between the events it belongs to. A part is passed on when the events before
 * it are on disk and were sent. What was shown of a reply is compared with the reply on record: where they differ, it is shown again, whole.
 */
import type { Event } from "../session/event.ts";
import type { StreamPart } from "../session/stream.ts";

type Item = { readonly awaited: string } | { readonly part: StreamPart; readonly run: string };

/** Events that are never stored (their run was taken over) must not hold back what comes for ever. */
const mostHeld = 1000;

export class LiveReplies {
  readonly #send: (part: StreamPart, run: string, begins: boolean) => void;
  /** Of each session, what happened after an event that was not sent yet. */
  readonly #held = new Map<string, Item[]>();
  /** What was shown of replies that are not on record yet. */
  readonly #shown = new Map<string, string>();

  /** `begins` says that nothing of this reply was shown before. */
  constructor(send: (part: StreamPart, run: string, begins: boolean) => void) {
    this.#send = send;
  }

  hear(part: StreamPart, run: string): void {
    const held = this.#held.get(part.session);
    if (part.type === "event") {
      if (held === undefined) this.#held.set(part.session, [{ awaited: part.event.id }]);
      else held.push({ awaited: part.event.id });
    } else if (held === undefined) this.#show(part, run);
    else held.push({ part, run });
    if (held !== undefined && held.length > mostHeld) this.#release(part.session, held.length);
  }

  /** An event is about to be sent: what happened before it goes first. */
  reach(session: string, id: string): void {
    const at = this.#held.get(session)?.findIndex((item) => "awaited" in item && item.awaited === id) ?? -1;
    if (at >= 0) this.#release(session, at);
  }

  /** It was sent: what happened after it follows, up to the next event. */
  sent(session: string, id: string): void {
    const held = this.#held.get(session);
    const [first] = held ?? [];
    if (held === undefined || first === undefined || !("awaited" in first) || first.awaited !== id) return;
    held.shift();
    const next = held.findIndex((item) => "awaited" in item);
    this.#release(session, next < 0 ? held.length : next);
  }

  /** The whole reply where something else was shown of it, and whether anything was. */
  returned(event: Event<"model.returned">): { readonly shown: boolean; readonly whole: StreamPart | undefined } {
    const { session, by } = event;
    const shown = this.#shown.get(session);
    this.#shown.delete(session);
    if (shown === undefined || event.facts.outcome !== "ok" || event.data === undefined) return { shown: false, whole: undefined };
    const text = (event.data.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
    return { shown: shown === text, whole: { type: "text-delta", text, by, session, restart: true } };
  }

  /** A reply that cannot be read: there is nothing to put right what was shown with. */
  lost(session: string): { readonly shown: boolean; readonly whole: undefined } {
    this.#shown.delete(session);
    return { shown: false, whole: undefined };
  }

  clear(): void {
    this.#held.clear();
    this.#shown.clear();
  }

  #release(session: string, count: number): void {
    const held = this.#held.get(session) ?? [];
    for (const item of held.splice(0, count)) if ("part" in item) this.#show(item.part, item.run);
    if (held.length === 0) this.#held.delete(session);
  }

  #show(part: StreamPart, run: string): void {
    if (part.type !== "text-delta") {
      this.#send(part, run, false);
      return;
    }
    const before = part.restart === true ? undefined : this.#shown.get(part.session);
    this.#shown.set(part.session, (before ?? "") + part.text);
    this.#send(part, run, before === undefined);
  }
}
