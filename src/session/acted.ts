/** What events say about files: the tree a branch has, where an effect acted, and which background processes it left running. */
import { RathError } from "./errors.ts";
import type { EventKind } from "./event.ts";
import { list, type State } from "./fold.ts";
import { TreeName } from "./json.ts";
import type { Node } from "./log.ts";
import type { Platform } from "./platform.ts";
import type { Acted, Pending } from "./session.ts";

/** The tree that the data of an event names. */
export function treeOf(node: Node, platform: Platform): string | undefined {
  if (node.kind === "session.merged") return node.data<"session.merged">(platform)?.files?.tree;
  return node.data<"tool.returned">(platform)?.acted?.after;
}

/** The tree of files at a place, as far as it is on record. */
export function recordedTree(state: State, platform: Platform): string | undefined {
  const { files } = state;
  if (files?.erased === true) {
    const problem = `The files of session ${files.log.id} are not known any more: event ${files.id}, which named them, was erased.`;
    throw new RathError("event.erased", problem, { details: { session: files.log.id, event: files.id } });
  }
  return files === undefined ? undefined : treeOf(files, platform);
}

export function actedOf(returned: Node, platform: Platform): Acted | undefined {
  return returned.data<"tool.returned">(platform)?.acted as Acted | undefined;
}

/** Background processes that were started on a branch and have not ended, as far as is on record. */
export function processesOf(state: State, platform: Platform): readonly Extract<Pending, { readonly kind: "process" }>[] {
  const running = new Map<string, Extract<Pending, { readonly kind: "process" }>>();
  for (const node of list(state.processes)) {
    const { started = [], ended = [] } = actedOf(node, platform) ?? {};
    for (const { id, command } of started)
      running.set(id, {
        id: node.id,
        run: node.run,
        session: node.log.id,
        since: node.at,
        by: node.by,
        kind: "process",
        process: id,
        command,
      });
    for (const { id } of ended) running.delete(id);
  }
  return [...running.values()];
}

/** Data as it was before it was stored: trees are named by a mark, which reading takes away. `objects` are stored with it. */
export function withTrees(kind: EventKind, data: unknown, objects?: ReadonlyMap<string, Uint8Array>): unknown {
  switch (kind) {
    case "session.merged": {
      const { files } = data as { readonly files?: { readonly tree: string } };
      return files === undefined ? data : { ...(data as object), files: { ...files, tree: new TreeName(files.tree, objects) } };
    }
    case "workspace.captured":
      return { ...(data as object), tree: new TreeName((data as { readonly tree: string }).tree) };
    case "tool.returned":
    case "do.returned":
    case "check.returned": {
      const { acted } = data as { readonly acted?: Acted };
      if (acted === undefined) return data;
      return { ...(data as object), acted: { ...acted, before: new TreeName(acted.before), after: new TreeName(acted.after) } };
    }
    default:
      return data;
  }
}
