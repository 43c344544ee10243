/** Facts of events that cause no effect. */
import type { DataOf, EventKind, Facts } from "../session/event.ts";

const alone = Object.freeze({ alone: true } as const);
const outside = Object.freeze({ outside: true } as const);
const files = Object.freeze({ files: true } as const);

/** What folds must know of an event without reading its data. */
export function pureFacts(kind: EventKind, data: unknown): Facts | undefined {
  if (kind === "message.added") {
    const { alone: stands, outside: brings } = data as DataOf<"message.added">;
    return stands === true ? alone : brings === true ? outside : undefined;
  }
  if (kind === "placement.changed") return (data as DataOf<"placement.changed">).spec["workspace"] === undefined ? undefined : files;
  return undefined;
}
