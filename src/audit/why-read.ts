/** What a model had read: messages, results, recalls, merged branches and summaries, and which of it has the words asked about. */
import { inRanges, type View, viewOf } from "../session/context.ts";
import { callOf, list, stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { RequestMessage } from "../session/message.ts";
import type { Platform } from "../session/platform.ts";
import { partsOf, renderedEvent, resultOf } from "../session/render.ts";
import type { WhyEvidence } from "../session/why.ts";
import { recalledInside, type Step, stepTo, type Tracing } from "./why-step.ts";
import { askedWords, readWords } from "./why-words.ts";

/** Of what a model had read, so many of the newest results and messages are named, beside all that has the words; its call says how many there were. */
const namedResults = 20;
const namedMessages = 50;

/** What a model read, oldest first; a compression stands for what it replaced. */
export function readBy(called: Node, platform: Platform): View {
  return viewOf(stateOf(called.parent as Node).context, platform);
}

export function modelStep(tracing: Tracing, reply: Node): Step {
  const { platform } = tracing.runtime;
  const called = callOf(reply);
  return stepTo("decided", called, { words: `${askedWords(called, platform, reply)}, ${readWords(readBy(called, platform).nodes)}` });
}

/** What the model itself had said is not repeated, unless it has the words; results that have them are followed to who asked for them. */
export async function contextOf(tracing: Tracing, called: Node): Promise<readonly Step[]> {
  const { platform } = tracing.runtime;
  const steps: Step[] = [];
  const changed = called.data<"model.called">(platform)?.changed;
  const hook = changed === undefined ? undefined : await tracing.finder.find(changed);
  if (hook !== undefined) steps.push(stepTo("was-in-context", hook, { leaf: true }));
  const view = readBy(called, platform);
  let [results, messages] = [0, 0];
  for (const node of [...view.nodes].reverse()) {
    const evidence = evidenceOfWords(tracing, node, view.cuts.get(node));
    const step = (leaf: boolean): Step => stepTo("was-in-context", node, { leaf, evidence });
    switch (node.kind) {
      case "model.returned":
        if (evidence !== undefined) steps.push(step(false));
        break;
      case "tool.returned":
        if (results++ < namedResults || evidence !== undefined) steps.push(step(evidence === undefined));
        steps.push(...recalledInside(node));
        break;
      case "session.merged":
      case "recall.returned":
      case "context.compressed":
        steps.push(step(false));
        break;
      default:
        if (messages++ < namedMessages || evidence !== undefined) steps.push(step(true));
    }
  }
  return steps;
}

/** What models read of merged branches from the merge on: what each said last or came to, or all that was said there. */
export function branchesOf(tracing: Tracing, merged: Node): readonly Step[] {
  const all = merged.data<"session.merged">(tracing.runtime.platform)?.context === "all";
  return merged.parents.slice(1).flatMap((end): readonly Step[] => {
    const { said, output, talk } = stateOf(end);
    const last = said ?? (output?.facts.outcome === "ok" ? output : undefined);
    const read = all && tracing.words !== undefined ? list(talk).filter((node) => node.log === end.log && node !== last) : [];
    return [...(last === undefined ? [] : [last]), ...read].flatMap((node) => {
      const evidence = evidenceOfWords(tracing, node, undefined);
      return node === last || evidence !== undefined ? [stepTo("was-in-context", node, { evidence })] : [];
    });
  });
}

/** A summary leads to who wrote it, and to what it stands for. */
export async function replacedBy(tracing: Tracing, node: Node): Promise<readonly Step[]> {
  const { platform } = tracing.runtime;
  const data = node.data<"context.compressed">(platform);
  const replacement = data?.replacement;
  if (replacement === undefined || ("text" in replacement && isNote(replacement.text))) return [];
  const writer = "event" in replacement ? await tracing.finder.find(replacement.event) : undefined;
  const before = viewOf(stateOf(node.parent as Node).context, platform);
  return [
    ...(writer === undefined ? [] : [stepTo("wrote", writer)]),
    ...inRanges(before.nodes, data.dropped).map((dropped) => {
      const evidence = evidenceOfWords(tracing, dropped, before.cuts.get(dropped));
      const followed = dropped.kind === "recall.returned" || dropped.kind === "context.compressed";
      const has = evidence !== undefined && (dropped.kind === "tool.returned" || dropped.kind === "model.returned");
      return stepTo("compressed", dropped, { leaf: !followed && !has, evidence });
    }),
  ];
}

/** A text that only says how much is missing was not made of it. */
function isNote(text: string): boolean {
  return /^\[\d+ earlier messages? (?:is|are) not shown\]$|^Something earlier is not shown: /.test(text);
}

/** Where the words stand in what a model reads of an event, as they are or as JSON writes them. */
function evidenceOfWords({ words, places, runtime }: Tracing, node: Node, cut: number | undefined): WhyEvidence | undefined {
  if (words === undefined || node.erased) return undefined;
  // Most events are read whole by one model call after the other.
  const known = cut === undefined ? places.get(node) : undefined;
  const at = known ?? placeOfWords(textRead(node, cut, runtime.platform), words);
  if (cut === undefined) places.set(node, at);
  return at < 0 ? undefined : { words: { text: words, at } };
}

function placeOfWords(text: string, words: string): number {
  const at = text.indexOf(words);
  return at >= 0 ? at : text.indexOf(JSON.stringify(words).slice(1, -1));
}

/** All that a model reads of an event, as one text. */
export function textRead(node: Node, cut: number | undefined, platform: Platform): string {
  switch (node.kind) {
    case "model.returned":
      return partsOf(node, platform).map(textOfPart).join("\n");
    case "tool.returned":
      return textOfValue(resultOf(node, "", cut, platform).value);
    case "message.added":
    case "session.merged":
    case "recall.returned":
    case "context.compressed":
      return renderedEvent(node, platform).map(textOfMessage).join("\n");
    default:
      return textOfValue(node.data<"do.returned">(platform)?.value);
  }
}

function textOfMessage(message: RequestMessage): string {
  if (message.role === "system") return message.text;
  return message.role === "tool" ? "" : message.parts.map(textOfPart).join("\n");
}

function textOfPart(part: { readonly type: string; readonly text?: unknown; readonly input?: unknown }): string {
  return part.type === "text" ? String(part.text) : part.type === "call" ? String(part.input) : "";
}

function textOfValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
