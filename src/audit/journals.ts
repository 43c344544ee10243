/** What runs say of themselves, in their own logs. */
import type { Runtime } from "../runtime/runtime.ts";
import { dataText, parseEnvelope } from "../session/codec.ts";
import type { DataOf, EventKind } from "../session/event.ts";
import type { Node } from "../session/log.ts";
import { compare } from "./branches.ts";

/** One event of a run's own log. */
export interface Said<K extends EventKind = EventKind> {
  readonly event: string;
  readonly run: string;
  readonly at: string;
  readonly kind: K;
  readonly data: DataOf<K>;
}

/** Events of these kinds from the own logs of all runs that wrote any of the nodes, oldest first. */
export async function journalsOf(
  runtime: Runtime,
  nodes: readonly Node[],
  kinds: readonly EventKind[],
  signal?: AbortSignal,
): Promise<readonly Said[]> {
  const store = await runtime.store();
  const { platform } = runtime;
  const said: Said[] = [];
  for (const run of new Set(nodes.flatMap((node) => node.run ?? [])))
    for await (const { id, envelope, data } of store.events({ session: run })) {
      signal?.throwIfAborted();
      const { kind, at } = parseEnvelope(platform.text(envelope));
      if (data === undefined || !kinds.includes(kind)) continue;
      said.push({ event: id, run, at, kind, data: JSON.parse(dataText(platform, data)) });
    }
  return said.sort((a, b) => compare(a.at, b.at));
}

export function ofKind<K extends EventKind>(said: readonly Said[], kind: K): readonly Said<K>[] {
  return said.filter((one) => one.kind === kind) as unknown as readonly Said<K>[];
}
