/**
 * What a model reads, rebuilt from the log. A request is a fold like every other view: the conversation of the line, each round
 * of calls followed by all its results, and one message for each branch that a merge brought. Its digest is chained over the
 * events that hold it, so that a request costs what is new and an erased event cannot be guessed from it.
 */

import { compresses, isAlone, type View, viewOf } from "./context.ts";
import { RathError } from "./errors.ts";
import { type Chain, callOf, inCallOrder, stateOf } from "./fold.ts";
import type { Node } from "./log.ts";
import type { ModelRequest, ModelSettings, RequestMessage, RequestTool } from "./message.ts";
import type { Platform } from "./platform.ts";
import { rendered, renderedEvent, resultOf } from "./render.ts";
import { whatOfEvent } from "./what.ts";

/** How messages are made of events; part of the digest, so that a request is never checked against another rendering. */
const rendering = "openrath request 1";

/** Instructions, tools and output schema of an agent, as one text. */
export interface Configuration {
  readonly instructions: string;
  readonly tools: readonly RequestTool[];
  readonly output?: object | undefined;
}

/** The request that a `model.called` stands for, checked against its digest. */
export function requestOf(called: Node, platform: Platform): ModelRequest {
  const data = called.data<"model.called">(platform);
  if (data === undefined) throw new RathError("event.erased", `The model call ${called.id} was erased.`, { details: { event: called.id } });
  const { context } = stateOf(called.parent as Node);
  if (digestOf(context, platform) !== data.request)
    throw new RathError(
      "store.corrupt",
      `What the model read at ${called.id} does not have the digest that was recorded: verify the session.`,
      {
        details: { event: called.id },
      },
    );
  const configuration = JSON.parse(data.configuration) as Configuration;
  const changed = data.changed === undefined ? undefined : changedMessages(called, data.changed, platform);
  return {
    model: data.model,
    ...configuration,
    messages: changed ?? messagesOf(context, platform),
    settings: (data.settings ?? {}) as ModelSettings,
  };
}

/** The newest model call on the first-parent line of a place, or undefined. */
export function modelCallBefore(place: Node): Node | undefined {
  let node: Node | undefined = place;
  while (node !== undefined && node.kind !== "model.called") node = node.parent;
  return node;
}

/** The messages a hook put in place of those of the log. */
function changedMessages(called: Node, hook: string, platform: Platform): readonly RequestMessage[] | undefined {
  let node: Node | undefined = called.parent;
  while (node !== undefined && node.id !== hook) node = node.parent;
  return (node?.data<"do.returned">(platform).value as { readonly messages?: readonly RequestMessage[] } | undefined)?.messages;
}

const digests = new WeakMap<Chain, string>();

/** Chained over the ids of the events a model reads; a hash even where there are none. */
export function digestOf(chain: Chain | undefined, platform: Platform): string {
  if (chain === undefined) return platform.sha256(rendering);
  return along(chain, digests, ({ node }, before) => platform.sha256(`${before} ${node.id}`));
}

/** The same over contents, without ids: equal requests have equal ones, however they came about. */
export function contextWhat(
  chain: Chain | undefined,
  platform: Platform,
  known: WeakMap<Chain, string>,
  text: (node: Node) => string,
): string {
  const what = (node: Node, cut?: number): string => whatIsRead(node, cut, platform, text);
  return along(chain, known, (link, before) => {
    const { node } = link;
    if (node.kind === "context.compressed") return compresses(node) ? viewWhat(viewOf(link, platform), platform, what) : before;
    if (node.kind !== "tool.returned" || node.facts.call === undefined) return platform.sha256(`${before} ${what(node)}`);
    // Results of a batch come in any order and are read in the order of their calls.
    const round: Node[] = [];
    let at: Chain | undefined = link;
    for (; at?.node.kind === "tool.returned" && at.node.log === node.log; at = at.before) round.push(at.node);
    const start = at === undefined ? rendering : known.get(at);
    return platform.sha256([start, ...inCallOrder(round).map((result) => what(result))].join(" "));
  });
}

/** The same over a view: where nothing is left out it gives what the chain gives. */
function viewWhat({ nodes, cuts }: View, platform: Platform, what: (node: Node, cut?: number) => string): string {
  const folded: string[] = [];
  for (const [index, node] of nodes.entries()) {
    const read = (one: Node): string => what(one, cuts.get(one));
    let start = index;
    if (node.kind === "tool.returned" && node.facts.call !== undefined)
      while (start > 0 && nodes[start - 1]?.kind === "tool.returned" && nodes[start - 1]?.log === node.log) start--;
    const before = folded[start - 1] ?? rendering;
    folded.push(platform.sha256([before, ...inCallOrder(nodes.slice(start, index + 1)).map(read)].join(" ")));
  }
  return folded.at(-1) ?? rendering;
}

/** What is read of one event, as contents. */
function whatIsRead(node: Node, cut: number | undefined, platform: Platform, text: (node: Node) => string): string {
  if (node.kind === "session.merged") return platform.sha256(mergedText(node, platform));
  if (node.kind === "context.compressed" || node.kind === "recall.returned")
    return platform.sha256(JSON.stringify(renderedEvent(node, platform)));
  if (cut === undefined) return whatOfEvent(node, platform, text);
  return platform.sha256(JSON.stringify([whatOfEvent(callOf(node), platform, text), resultOf(node, "", cut, platform)]));
}

/** What is read of a merge, which is of other branches' histories only so much. One without a label is named by an id, another one each time. */
function mergedText(node: Node, platform: Platform): string {
  let text = JSON.stringify(renderedEvent(node, platform));
  for (const [index, { log }] of node.parents.slice(1).entries()) if (!log.fork?.label) text = text.replaceAll(log.id, `branch ${index}`);
  return text;
}

/** Folds along a chain from its start, or from the newest message that a model reads nothing before; remembers each link. */
function along(chain: Chain | undefined, known: WeakMap<Chain, string>, next: (link: Chain, before: string) => string): string {
  const waiting: Chain[] = [];
  let at = chain;
  let value: string | undefined;
  for (; at !== undefined; at = at.before) {
    value = known.get(at);
    if (value !== undefined) break;
    waiting.push(at);
    if (isAlone(at.node)) break;
  }
  let folded = value ?? rendering;
  for (const link of waiting.reverse()) {
    folded = next(link, folded);
    known.set(link, folded);
  }
  return folded;
}

/** What a model reads at a place of the log. */
export function messagesOf(chain: Chain | undefined, platform: Platform): readonly RequestMessage[] {
  return rendered(viewOf(chain, platform), platform);
}

/** What of that comes after the newest thing a model said; costs what is new. What was compressed since is not looked at. */
export function messagesSince(chain: Chain | undefined, platform: Platform): readonly RequestMessage[] {
  const nodes: Node[] = [];
  for (let at = chain; at !== undefined; at = at.before) {
    if (at.node.kind !== "context.compressed") nodes.push(at.node);
    if (isAlone(at.node) || at.node.kind === "model.returned") break;
  }
  const messages = rendered({ nodes: nodes.reverse(), cuts: new Map() }, platform);
  return messages[0]?.role === "assistant" ? messages.slice(1) : messages;
}
