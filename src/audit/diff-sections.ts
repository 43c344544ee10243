/** What differs between aligned events, by what it is about: what was said, called, judged, chosen, answered and remembered. */
import { actedOf } from "../session/acted.ts";
import { isCalled, isReturned } from "../session/event.ts";
import { addTotals, callOf, nothing } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { MemoryHit } from "../session/memory.ts";
import type { Platform } from "../session/platform.ts";
import { stagedBy } from "../session/remembered.ts";
import type { Configuration } from "../session/request.ts";
import type { Check, Message, Outcome, Route, Totals } from "../session/session.ts";
import { checkOf, messageOf, outcomeOf, routeOf } from "../session/views.ts";
import { neutralJson } from "../wire/neutral.ts";
import { splitLines } from "../workspace/lines.ts";
import { hunkText } from "../workspace/patch.ts";
import { insideOf, type Pair } from "./diff-align.ts";
import type {
  Both,
  DiffAgent,
  DiffAnswer,
  DiffCall,
  Differing,
  DiffItem,
  DiffMemory,
  DiffMessage,
  DiffModel,
  DiffReuse,
  DiffSpent,
} from "./diff-data.ts";

/** Rows of a kind that are not the same, each side as a view. */
function differing<T>(pairs: readonly Pair[], view: (node: Node) => T | undefined): readonly Differing<T>[] {
  const rows: Differing<T>[] = [];
  for (const { relation, a, b } of pairs) {
    if (relation === "same") continue;
    const [ours, theirs] = [a && view(a), b && view(b)];
    if (ours !== undefined || theirs !== undefined) rows.push({ a: ours, b: theirs });
  }
  return rows;
}

/** What people and models said; results of tools are among the calls, and so is what was said inside them. */
export function messagesIn(pairs: readonly Pair[], platform: Platform): readonly DiffMessage[] {
  const view = (node: Node): Message | undefined => {
    const said = node.kind === "message.added" || (node.kind === "model.returned" && node.facts.outcome === "ok");
    if (!said || insideOf(node) !== undefined) return undefined;
    const message = messageOf(node, platform);
    return message.text === "" && message.parts.every(({ type }) => type === "call") ? undefined : message;
  };
  return differing(pairs, view)
    .filter(({ a, b }) => a?.text !== b?.text || a?.role !== b?.role)
    .map((both) => (both.a === undefined || both.b === undefined ? both : { ...both, ...patched(both.a.text, both.b.text) }));
}

/** What is one line on both sides is read as it is. */
function patched(a: string, b: string): { readonly patch?: string } {
  if (!a.includes("\n") && !b.includes("\n")) return {};
  const lines = (text: string): readonly string[] => splitLines(text.endsWith("\n") ? text : `${text}\n`);
  return { patch: hunkText(lines(a), lines(b)) };
}

export function checksIn(pairs: readonly Pair[], platform: Platform): readonly Differing<Check>[] {
  const verdict = (check: Check | undefined): string => JSON.stringify([check?.passed, check?.score, check?.reason]);
  return differing(pairs, (node) => (node.kind === "check.returned" ? checkOf(node, platform) : undefined)).filter(
    ({ a, b }) => verdict(a) !== verdict(b),
  );
}

export function routesIn(pairs: readonly Pair[], platform: Platform): readonly Differing<Route>[] {
  return differing(pairs, (node) => (node.kind === "route.returned" ? routeOf(node, platform) : undefined));
}

export function answersIn(pairs: readonly Pair[], asked: ReadonlySet<Node>, platform: Platform): readonly Differing<DiffAnswer>[] {
  const said = (answer: DiffAnswer | undefined): string => {
    const approved = answer?.kind === "approval" && !isRefusal(answer.outcome);
    return neutralJson([answer?.question, approved ? "approved" : answer?.outcome, answer?.input]);
  };
  return differing(pairs, (node) => answerOf(node, asked, platform)).filter(({ a, b }) => said(a) !== said(b));
}

/** What became of a call after it was approved is among the calls. */
export function isRefusal({ type }: Outcome): boolean {
  return type === "denied" || type === "expired" || type === "cancelled";
}

function answerOf(node: Node, asked: ReadonlySet<Node>, platform: Platform): DiffAnswer | undefined {
  const { kind } = node;
  if (kind !== "ask.returned" && kind !== "receive.returned" && kind !== "tool.returned") return undefined;
  const base = { outcome: outcomeOf(node, platform), event: node.id };
  const call = callOf(node);
  if (kind === "ask.returned") return { kind: "question", question: call.data<"ask.called">(platform)?.question ?? "[erased]", ...base };
  if (kind === "receive.returned")
    return { kind: "signal", question: call.data<"receive.called">(platform)?.signal ?? "[erased]", ...base };
  if (!asked.has(call)) return undefined;
  const ran = node.data<"tool.returned">(platform);
  return {
    kind: "approval",
    question: call.data<"tool.called">(platform)?.name ?? "[erased]",
    ...base,
    ...(ran !== undefined && "input" in ran ? { input: ran.input } : {}),
  };
}

/** Calls of tools and of the program's own code, with what they came to; those without a result yet too. */
export function callsIn(pairs: readonly Pair[], platform: Platform): readonly Differing<DiffCall>[] {
  const answered = new Set<Node>();
  const partner = new Map<Node, Node>();
  for (const { a, b } of pairs) {
    if (a !== undefined && isReturned(a.kind)) answered.add(callOf(a));
    if (b !== undefined && isReturned(b.kind)) answered.add(callOf(b));
    if (a === undefined || b === undefined) continue;
    partner.set(a, b);
    partner.set(b, a);
  }
  const view = (node: Node): DiffCall | undefined => (isCalled(node.kind) && answered.has(node) ? undefined : diffCallOf(node, platform));
  /** What the other side has that only called it. */
  const open = (result: Node | undefined): DiffCall | undefined => {
    const call = result === undefined || !isReturned(result.kind) ? undefined : partner.get(callOf(result));
    return call === undefined || answered.has(call) ? undefined : diffCallOf(call, platform);
  };
  const found: Differing<DiffCall>[] = [];
  for (const { relation, a, b } of pairs) {
    const [ours, theirs] = relation === "same" ? [] : [a && view(a), b && view(b)];
    if (ours === undefined && theirs === undefined) continue;
    const both = { a: ours ?? open(b), b: theirs ?? open(a) };
    if (differ(both)) found.push(both);
  }
  return found;
}

/** The same input and the same outcome may still come of another way. */
function differ({ a, b }: Differing<DiffCall>): boolean {
  if (a === undefined || b === undefined) return true;
  const said = (call: DiffCall): string => neutralJson([call.name, call.input, call.outcome, call.changes]);
  return said(a) !== said(b);
}

function diffCallOf(node: Node, platform: Platform): DiffCall | undefined {
  const call = isReturned(node.kind) ? callOf(node) : node;
  if (call.kind !== "tool.called" && call.kind !== "do.called") return undefined;
  const asked = call.data<"tool.called">(platform);
  const returned = call === node ? undefined : node;
  const ran = returned?.data<"tool.returned">(platform);
  const inside = insideOf(node);
  return {
    event: node.id,
    op: call.kind === "tool.called" ? "tool" : "do",
    name: asked?.name ?? "[erased]",
    input: ran !== undefined && "input" in ran ? ran.input : asked?.input,
    outcome: returned === undefined ? undefined : outcomeOf(returned, platform),
    by: call.by,
    step: node.step,
    ms: returned === undefined ? 0 : paidMs(returned),
    changes: (returned === undefined ? undefined : actedOf(returned, platform)?.changes) ?? [],
    ...(inside === undefined ? {} : { inside }),
  };
}

function paidMs({ facts }: Node): number {
  return facts.ms ?? 0;
}

/** What each side read and wrote last under each name. */
export function memoryIn(a: readonly Node[], b: readonly Node[], platform: Platform): readonly DiffMemory[] {
  const [ours, theirs] = [itemsOf(a, platform), itemsOf(b, platform)];
  const found: DiffMemory[] = [];
  for (const key of [...new Set([...ours.keys(), ...theirs.keys()])].sort()) {
    const [left, right] = [ours.get(key), theirs.get(key)];
    if (said(left) === said(right)) continue;
    const [what, uri] = JSON.parse(key) as [DiffMemory["what"], string];
    found.push({ what, uri, a: left, b: right });
  }
  return found;
}

function said(item: DiffItem | undefined): string {
  return JSON.stringify([item?.version, item?.content, item?.forgotten]);
}

function itemsOf(nodes: readonly Node[], platform: Platform): ReadonlyMap<string, DiffItem> {
  const items = new Map<string, DiffItem>();
  for (const node of nodes) {
    if (node.kind === "recall.returned" && node.facts.outcome === "ok")
      for (const { uri, version, content } of (node.data<"recall.returned">(platform)?.value ?? []) as readonly MemoryHit[])
        items.set(JSON.stringify(["read", uri]), { version, content, forgotten: false, event: node.id });
    if ((node.kind !== "remember.returned" && node.kind !== "forget.returned") || node.facts.outcome !== "ok") continue;
    const staged = stagedBy(node, platform);
    if (staged === undefined) continue;
    const { uri, version, content } = staged.item;
    items.set(JSON.stringify(["write", uri]), { version, content, forgotten: staged.forgotten, event: node.id });
  }
  return items;
}

/** Agents that were asked on both sides, and not with the same. */
export function agentsIn(a: readonly Node[], b: readonly Node[], platform: Platform): readonly Both<DiffAgent>[] {
  const [ours, theirs] = [lastAsked(a), lastAsked(b)];
  return [...ours].flatMap(([by, left]) => {
    const right = theirs.get(by);
    const both = right === undefined ? undefined : { a: agentOf(left, platform), b: agentOf(right, platform) };
    return both?.a === undefined || both.b === undefined || JSON.stringify(both.a) === JSON.stringify(both.b)
      ? []
      : [both as Both<DiffAgent>];
  });
}

function lastAsked(nodes: readonly Node[]): ReadonlyMap<string, Node> {
  return new Map(nodes.flatMap((node) => (node.kind === "model.called" ? [[node.by, node] as const] : [])));
}

function agentOf(called: Node, platform: Platform): DiffAgent | undefined {
  const data = called.data<"model.called">(platform);
  if (data === undefined) return undefined;
  const { instructions, tools, output } = JSON.parse(data.configuration) as Configuration;
  const base = { by: called.by, model: data.model, settings: data.settings ?? {}, instructions, tools };
  return output === undefined ? base : { ...base, output };
}

/** Models whose calls or usage differ. */
export function modelsIn(a: readonly Node[], b: readonly Node[], platform: Platform): readonly Differing<DiffModel>[] {
  const [ours, theirs] = [modelsOf(a, platform), modelsOf(b, platform)];
  return [...new Set([...ours.keys(), ...theirs.keys()])].sort().flatMap((model) => {
    const both = { a: ours.get(model), b: theirs.get(model) };
    return JSON.stringify(both.a) === JSON.stringify(both.b) ? [] : [both];
  });
}

function modelsOf(nodes: readonly Node[], platform: Platform): ReadonlyMap<string, DiffModel> {
  const models = new Map<string, DiffModel>();
  for (const node of nodes) {
    if (node.kind !== "model.returned") continue;
    const model = node.data<"model.returned">(platform)?.model ?? callOf(node).data<"model.called">(platform)?.model ?? "[erased]";
    const { calls, reused, usage } = models.get(model) ?? { calls: 0, reused: 0, usage: nothing };
    const again = node.facts.source === undefined ? 0 : 1;
    models.set(model, { model, calls: calls + 1, reused: reused + again, usage: addTotals(usage, paid(node)) });
  }
  return models;
}

/** What one side spent. */
export function spentBy(nodes: readonly Node[]): DiffSpent {
  let [calls, failed, effectMs, usage] = [0, 0, 0, nothing];
  let [began, newest] = ["", ""];
  for (const node of nodes) {
    if (isCalled(node.kind) && (began === "" || node.at < began)) began = node.at;
    if (node.at > newest) newest = node.at;
    if (!isReturned(node.kind)) continue;
    calls++;
    if (node.facts.outcome !== "ok") failed++;
    effectMs += paidMs(node);
    usage = addTotals(usage, paid(node));
  }
  const round = Math.round(effectMs * 1000) / 1000;
  return { events: nodes.length, calls, failed, usage, effectMs: round, wallMs: began === "" ? 0 : Date.parse(newest) - Date.parse(began) };
}

/** What one side took from the record of the other; a result that somebody put another in place of is none. */
export function reusedBy(nodes: readonly Node[], other: readonly Node[], pairs: readonly Pair[]): DiffReuse | undefined {
  if (nodes.every(({ facts }) => facts.source === undefined)) return undefined;
  const changed = new Set(pairs.flatMap(({ relation, a, b }) => (relation === "changed" ? [a, b] : [])));
  const theirs = new Map(other.flatMap((node) => (isReturned(node.kind) ? [[node.id as string, node] as const] : [])));
  const sources = nodes.flatMap((node) => (changed.has(node) ? [] : (theirs.get(node.facts.source ?? "") ?? [])));
  if (sources.length === 0) return undefined;
  return { results: sources.length, of: theirs.size, saved: sources.reduce((sum, source) => addTotals(sum, paid(source)), nothing) };
}

/** A reused result has neither usage nor time of its own. */
function paid({ facts }: Node): Totals {
  return facts.usage ?? nothing;
}
