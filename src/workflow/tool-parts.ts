/** Beginning and end of tools, which follow from the events of a stream. */
import type { Event } from "../session/event.ts";
import type { StreamPart } from "../session/stream.ts";
import { outcomeFrom } from "../session/views.ts";

export class ToolParts {
  readonly #calls = new Map<string, { readonly tool: string; readonly input: unknown; readonly session: string }>();

  /** What follows from a part beside itself. */
  of(part: StreamPart): readonly StreamPart[] {
    if (part.type !== "event") return [];
    const { event, by, session } = part;
    if (event.kind === "tool.called") {
      this.#calls.set(event.id, { tool: event.data?.name ?? "[erased]", input: event.data?.input, session });
      return event.facts.started === true ? this.#started(event.id, by, session) : [];
    }
    if (event.kind === "tool.started") return this.#started(this.#callOf(event), by, session);
    if (event.kind !== "tool.returned") return [];
    const call = this.#callOf(event);
    this.#calls.delete(call);
    return [{ type: "tool-end", call, outcome: outcomeFrom(event.facts.outcome, event.data), by, session }];
  }

  #started(call: string, by: string, session: string): readonly StreamPart[] {
    const { tool, input } = this.#calls.get(call) ?? {};
    return tool === undefined ? [] : [{ type: "tool-start", call, tool, input, by, session }];
  }

  /** Inside a batch an event names its call; elsewhere it is the newest one on its branch. */
  #callOf(event: Event): string {
    const newest = [...this.#calls].findLast(([, { session }]) => session === event.session)?.[0];
    return event.facts.call ?? newest ?? event.parents[0] ?? "";
  }
}
