/** Where a program, executed again, left its record: what was expected there, what it asked for, and which field differs. */
import { type Event, isCalled } from "../session/event.ts";
import { isAncestor, type Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Execution, Stray } from "./execution.ts";

/** Where a resumed program left its record: what is on record there, and what it asked for instead. */
export interface Divergence {
  /** The recorded event that was not asked for again, or the last one before a request that was never recorded. */
  readonly at: Event;
  readonly field: string;
  readonly expected: unknown;
  readonly got: unknown;
  /** Both sides in one line. */
  readonly text: string;
}

/** What is on record of a divergence, in words. */
export function divergedText({ step, kind, field }: { readonly step: number; readonly kind: string; readonly field: string }): string {
  return `at step ${step} (${kind}) its code asks for another "${field}" than is on record`;
}

export function divergenceOf(platform: Platform, execution: Execution): Divergence {
  const recorded = execution.recorded;
  const unclaimed = new Set(recorded?.unclaimed ?? []);
  const side = execution.strays
    .map((stray) => ({ stray, instead: recorded?.after(stray.head) }))
    .find(({ instead }) => instead !== undefined);
  if (side?.instead !== undefined) return noting(side.instead, compare(platform, side.instead, side.stray));
  const [missing] = unclaimed;
  if (missing !== undefined) return noting(missing, describe(missing.event(platform), "event", brief(missing, platform), undefined));
  const extra = firstOf(execution.strays);
  if (extra !== undefined) return describe(extra.head.event(platform), "event", undefined, { kind: extra.kind, ...(extra.data as object) });
  throw new Error("nothing diverged");
}

/** What led to the first effect that was never recorded; what causes none may only be unwritten. */
function firstOf(strays: readonly Stray[]): Stray | undefined {
  const called = strays.find(({ kind }) => isCalled(kind));
  return called === undefined ? strays[0] : strays.find(({ head }) => isAncestor(head, called.head));
}

/** Where something was erased, the program is not to blame: it could not be given again what it had been given. */
function noting(at: Node, divergence: Divergence): Divergence {
  let erased: Node | undefined = at;
  while (erased !== undefined && !erased.erased) erased = erased.prior;
  if (erased === undefined) return divergence;
  return { ...divergence, text: `${divergence.text}; what step ${erased.step} (${erased.kind}) said was erased` };
}

function compare(platform: Platform, expected: Node, got: Stray): Divergence {
  const event = expected.event(platform);
  if (expected.kind !== got.kind) {
    const text = `at step ${event.step} there was ${show(brief(expected, platform))}, now ${show({ kind: got.kind, ...(got.data as object) })}`;
    return { at: event, field: "kind", expected: expected.kind, got: got.kind, text };
  }
  const field = firstDifference(readable(expected.data(platform)), readable(got.data), []);
  return describe(event, field.path.join("."), field.expected, field.got);
}

/** The outcome of a whole run compared with what it recorded. */
export function describe(at: Event, field: string, expected: unknown, got: unknown): Divergence {
  const [was, now] = [expected, got].map((value) => (typeof value === "string" ? value : textOf(value))) as [string, string];
  const from = was.length > shownCharacters || now.length > shownCharacters ? parting(was, now) : 0;
  const [before, after] = [expected, got].map((value) => show(value, from));
  return { at, field, expected, got, text: `at step ${at.step} (${at.kind}) "${field}" was ${before}, now ${after}` };
}

/** The configuration of an agent is kept as one text; people want to know which instruction or tool differs. */
function readable(data: unknown): unknown {
  const { configuration, request, ...rest } = (data ?? {}) as Record<string, unknown>;
  if (typeof configuration !== "string") return data;
  return { ...rest, ...(JSON.parse(configuration) as object), request };
}

function firstDifference(
  expected: unknown,
  got: unknown,
  path: readonly string[],
): { readonly path: readonly string[]; readonly expected: unknown; readonly got: unknown } {
  if (typeof expected === "object" && expected !== null && typeof got === "object" && got !== null) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(got)]);
    for (const key of keys) {
      const [a, b] = [(expected as Record<string, unknown>)[key], (got as Record<string, unknown>)[key]];
      if (JSON.stringify(a) !== JSON.stringify(b)) return firstDifference(a, b, [...path, key]);
    }
  }
  return { path: path.length === 0 ? ["data"] : path, expected, got };
}

function brief(node: Node, platform: Platform): unknown {
  return { kind: node.kind, ...(node.data(platform) as object) };
}

const shownCharacters = 120;

/** A little before the place where two texts part: of long ones, the beginnings say nothing. */
function parting(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return Math.max(0, at - 30);
}

function show(value: unknown, from = 0): string {
  const cut = (text: string): string => `${from > 0 ? "…" : ""}${text.slice(from)}`;
  const text = typeof value === "string" ? JSON.stringify(cut(value)) : cut(textOf(value));
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters - 1)}…`;
}

function textOf(value: unknown): string {
  return value === undefined ? "nothing" : (JSON.stringify(value) ?? String(value));
}
