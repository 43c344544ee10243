/**
 * Merging continues the receiver with one event whose further parents are the other heads. What is shared is what is an ancestor
 * of both, judged by version vectors; a branch that is an ancestor already adds nothing.
 */
import { facts } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { EventKind } from "../session/event.ts";
import { stateOf } from "../session/fold.ts";
import type { Scope } from "../session/id.ts";
import { encode, type TreeName } from "../session/json.ts";
import { ancestorsOf, isAncestor, type Node } from "../session/log.ts";
import type { MergeOptions, Session } from "../session/session.ts";
import { toParts } from "../session/views.ts";
import type { Execution } from "./execution.ts";
import { link } from "./link.ts";

/** The receiver after the merge, or itself when nothing was new. */
export function mergeInto(
  execution: Execution,
  head: Node,
  others: readonly Node[],
  by: string,
  scope: Scope,
  options: MergeOptions,
  sessions: readonly Session[],
  { files, memory }: PartsOfMerge,
): Node {
  const fresh = freshAmong(head, others);
  if (fresh.length === 0) return head;
  for (const place of [head, ...fresh]) refuseOpen(place);
  const context = contextOf(options, sessions);
  const data = {
    branches: fresh.map((place) => ({ session: place.log.id, head: place.id })),
    ...(options.reason === undefined ? {} : { reason: options.reason }),
    ...(context === undefined ? {} : { context }),
    ...(files === undefined ? {} : { files }),
    ...(memory === undefined ? {} : { memory }),
  };
  return join(execution, head, [head, ...fresh], data, by, scope);
}

/** What a merge says beside who was merged. */
interface PartsOfMerge {
  readonly files?: FilesOfMerge | undefined;
  readonly memory?: readonly { readonly uri: string; readonly event: string }[] | undefined;
}

/** What is stored of the files of a merge. */
export interface FilesOfMerge {
  readonly tree: TreeName;
  readonly resolved?: readonly { readonly path: string; readonly how: string }[];
}

/** Those that add anything to the receiver. */
export function freshAmong(head: Node, others: readonly Node[]): readonly Node[] {
  const fresh: Node[] = [];
  for (const other of others) if (!isAncestor(other, head) && !fresh.some((taken) => isAncestor(other, taken))) fresh.push(other);
  return fresh;
}

/** The end of a run gives its session the head that `forward` returned: views follow that alone. */
export function adopt(execution: Execution, result: Node, by: string): Node {
  const own = (execution.branch ?? result.log).tip as Node;
  if (own === result) return result;
  if (own.kind === "session.merged" && own.parent === result) return own; // said before, and moved
  const before = execution.recorded?.adoption(result); // by whoever died before the run had ended
  if (before !== undefined) return before;
  return join(execution, own, [result, own], { adopt: true, branches: [{ session: result.log.id, head: result.id }] }, by, execution.scope);
}

function join(execution: Execution, head: Node, parents: readonly Node[], data: object, by: string, scope: Scope): Node {
  const { runtime } = execution;
  const kind: EventKind = "session.merged";
  const encoded = encode(data, runtime.platform, runtime.redact, kind);
  const recorded = execution.find(head, scope, kind, encoded, by);
  if (recorded !== undefined) return recorded;
  const { log, parent: place } = execution.next(head, scope, { kind, text: encoded.text });
  const joined = link(runtime, {
    log,
    parents: parents.map((parent) => (parent === head ? place : parent)),
    kind,
    data,
    by,
    pure: execution.mode !== "effects",
    encoded,
    facts: facts({ files: "files" in data || undefined, memory: "memory" in data || undefined }),
  });
  execution.asked?.add(head, joined);
  return joined;
}

function refuseOpen(place: Node): void {
  const open = stateOf(place).open[0];
  if (open !== undefined)
    throw new RathError(
      "merge.refused",
      `Session ${place.log.id} has an open effect (${open.kind} ${open.id}): wait for it or resolve it before merging.`,
      { details: { event: open.id } },
    );
}

/** The best common ancestors: the newest places in both pasts that are no ancestors of one another. */
export function bases(a: Node, b: Node): Node[] {
  const [ours, theirs] = [ancestorsOf(a), ancestorsOf(b)];
  const common: Node[] = [];
  for (const { key: log, newest } of ours) {
    const other = theirs.get(log);
    if (other < 0) continue;
    let node = log.tip;
    while (node !== undefined && node.seq > Math.min(newest, other)) node = node.prior;
    if (node !== undefined) common.push(node);
  }
  // Newest first: an ancestor has a smaller step, so what is kept stays.
  const best: Node[] = [];
  for (const place of common.sort((x, y) => y.step - x.step)) if (!best.some((other) => isAncestor(place, other))) best.push(place);
  return best;
}

function contextOf(options: MergeOptions, sessions: readonly Session[]): unknown {
  if (options.context === undefined || options.context === "answers") return undefined;
  return options.context === "all" ? "all" : toParts(options.context(sessions));
}
