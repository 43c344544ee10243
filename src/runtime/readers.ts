/** Which model calls had something recalled before them: on its own branch, on forks of it, in work inside it and after merges. */
import { viewOf } from "../session/context.ts";
import { callOf, stateOf } from "../session/fold.ts";
import { isAncestor, type Log, type Node } from "../session/log.ts";
import type { Runtime } from "./runtime.ts";

/** Looks at a session and everything that was forked from it, each family once. A detached session is a family of its own. */
export class Readers {
  readonly #runtime: Runtime;
  readonly #families = new Map<string, Promise<readonly Log[]>>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** The model calls that read what a recall gave to models, in the order they were made. */
  async of(returned: Node): Promise<readonly string[]> {
    const { platform } = this.#runtime;
    const root = rootOf(returned.log);
    const known = this.#families.get(root.id) ?? this.#family(root);
    this.#families.set(root.id, known);
    const logs = await known;
    const carriers = [returned, ...logs.flatMap((log) => resultAround(returned, log))];
    const readers = logs.flatMap((log) =>
      nodesOf(log).filter((node) => {
        const place = node.kind === "model.called" ? node.parent : undefined;
        if (place === undefined || !carriers.some((carrier) => isAncestor(carrier, place))) return false;
        return viewOf(stateOf(place).context, platform).nodes.some((read) => carriers.includes(read));
      }),
    );
    return readers.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.step - b.step)).map(({ id }) => id);
  }

  async #family(root: Log): Promise<readonly Log[]> {
    const store = await this.#runtime.store();
    const ids = [root.id as string];
    for (const parent of ids) for await (const { id } of store.sessions({ parent, log: "session" })) if (!ids.includes(id)) ids.push(id);
    const logs = await this.#runtime.load(ids);
    return ids.flatMap((id) => logs.get(id) ?? []);
  }
}

function rootOf(log: Log): Log {
  let at = log;
  for (let parent = at.first?.parent; parent !== undefined; parent = at.first?.parent) at = parent.log;
  return at;
}

/** The result of a tool that gives what was recalled inside it. Work of an agent inside a tool gives an answer of its own. */
function resultAround(returned: Node, log: Log): readonly Node[] {
  for (let node = callOf(returned).prior; node !== undefined; node = node.prior) if (node.kind === "workflow.entered") return [];
  return nodesOf(log).filter((node) => node.kind === "tool.returned" && node.parents.slice(1).some((end) => end.log === returned.log));
}

function nodesOf(log: Log): readonly Node[] {
  const nodes: Node[] = [];
  for (let at = log.tip; at !== undefined; at = at.prior) nodes.push(at);
  return nodes.reverse();
}
