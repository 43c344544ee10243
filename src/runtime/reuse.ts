/**
 * Results of an earlier run, held by their inputs. The k-th equal request takes the k-th recorded result, each once. An effect
 * with an `input` is equal when name, repeat class, input, placement and files are; without one, when its whole history is too. A
 * tool that acted on files alone, and reached nothing else, depends on no history.
 */
import { actedOf, recordedTree } from "../session/acted.ts";
import { facts } from "../session/codec.ts";
import { tokensCounted } from "../session/context.ts";
import { type CalledKind, type Facts, isCalled, isReturned, isStarted, type OutcomeType } from "../session/event.ts";
import { type Chain, callOf, type State, stateOf } from "../session/fold.ts";
import type { Effect } from "../session/host.ts";
import { current, type Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import { stagedAt } from "../session/remembered.ts";
import { contextWhat } from "../session/request.ts";
import { type Whats, whatOf, whatOfResult } from "../session/what.ts";
import { emptyTree } from "../workspace/tree.ts";
import type { Captured, Services } from "./services.ts";

export interface Source {
  readonly id: string;
  readonly outcome: OutcomeType;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: string;
  readonly node: Node;
  /** Somebody put another value in its place. */
  readonly changed: boolean;
}

export class Reuse {
  /** Results taken, and how many there were. */
  readonly taken: Node[] = [];
  readonly of: number;
  /** The first call that found no equal one. */
  split: Node | undefined;
  /** One was asked for that has no equal, or another result: it may not have had its turn. */
  #differs = false;
  readonly #runtime: Services;
  readonly #held = new Map<string, Node[]>();
  readonly #used = new Set<Node>();
  /** Results of nested work, by the call they are inside. */
  readonly #inside = new Map<string, Node[]>();
  readonly #whats: Whats = new Map();
  /** Results of batches that stand for their sources, each by itself. */
  readonly #results: Whats = new Map();
  readonly #contexts = new WeakMap<Chain, string>();
  readonly #text = (node: Node): string => this.#runtime.textOf(node);
  readonly #effects: "ask" | "live";
  /** Calls that were started and have no known result. */
  readonly #doubts = new Map<string, Node>();
  #replaced: { readonly result: Node; readonly change: (node: Node) => Node } | undefined;
  readonly #change: { readonly event: string; readonly output: unknown } | undefined;
  /** The files that directories held when the earlier run first used them, by placement. */
  readonly #captured: ReadonlyMap<string, Captured>;

  constructor(
    runtime: Services,
    events: readonly Node[],
    options: {
      readonly effects: "ask" | "live";
      readonly change?: { readonly event: string; readonly output: unknown } | undefined;
      readonly captured?: ReadonlyMap<string, Captured> | undefined;
      /** The revision of memory that is read now, where it is not the one that was. */
      readonly latest?: number | undefined;
      /** Results that equal requests took before. */
      readonly taken?: ReadonlySet<string> | undefined;
      /** A call that was started and has no known result stays unknown for whoever asks for it again. */
      readonly doubts?: boolean | undefined;
    },
  ) {
    const { latest, taken, doubts = false } = options;
    this.#captured = options.captured ?? new Map();
    this.#runtime = runtime;
    this.#effects = options.effects;
    this.#change = options.change;
    const results = new Map<Node, Node>();
    const begun = new Set(events.filter(({ kind }) => isStarted(kind)).map(callOf));
    for (const node of events)
      if (isReturned(node.kind) && node.facts.closed !== true && node.facts.outcome !== "unknown") results.set(callOf(node), node);
    this.of = results.size;
    for (const result of results.values()) {
      const scope = result.log.fork?.scope;
      if (scope !== undefined && "call" in scope) this.#inside.set(scope.call, [...(this.#inside.get(scope.call) ?? []), result]);
    }
    for (const call of events) {
      if (!isCalled(call.kind)) continue;
      const result = results.get(call);
      if (doubts && result === undefined && (call.facts.started === true || begun.has(call)))
        this.#doubts.set(this.#key(call.parent as Node, call.kind, runtime.textOf(call)), call);
      if (result === undefined || taken?.has(result.id) === true || (latest !== undefined && readsAnother(result, latest, runtime)))
        continue;
      const [head, kind, text] = [call.parent as Node, call.kind as CalledKind, runtime.textOf(call)];
      this.#hold(this.#key(head, kind, text), result);
      if (actedOnFiles(call, result, runtime)) this.#hold(this.#key(head, kind, text, true), result);
    }
  }

  #hold(key: string, result: Node): void {
    const held = this.#held.get(key);
    if (held === undefined) this.#held.set(key, [result]);
    else held.push(result);
  }

  /** One place counts as another: the fork a rerun works on stands for the original input. */
  standsFor(place: Node, original: Node): void {
    this.#whats.set(place, this.#what(original));
  }

  /** The program gets another value in place of the one it holds after a recorded result. */
  replaceAfter(result: Node, change: (node: Node) => Node): void {
    this.#replaced = { result, change };
  }

  /** The place handed to the program after a reused result. */
  handedFor(returned: Node): Node {
    return this.#replaced !== undefined && this.#replaced.result.id === returned.facts.source ? this.#replaced.change(returned) : returned;
  }

  /** The result of the equal request that is next in line, or undefined when it must run. */
  take(called: Node, effect: Effect): Source | undefined {
    const result = this.#equal(called.parent as Node, called.kind as CalledKind, this.#runtime.textOf(called), effect);
    if (result === undefined || !this.#found(called, result)) {
      this.split ??= called;
      return undefined;
    }
    this.#used.add(result);
    const { platform } = this.#runtime;
    const changed = this.#change !== undefined && (this.#change.event === result.id || this.#change.event === callOf(result).id);
    if (changed) this.split ??= called;
    else if (wroteInside(result, platform)) {
      this.taken.push(result);
      return undefined;
    } else this.#took(result);
    const data = changed ? dataOf(result.kind, this.#change?.output) : (result.data(platform) as Readonly<Record<string, unknown>>);
    return { id: result.id, outcome: changed ? "ok" : (result.facts.outcome ?? "unknown"), data, at: result.at, node: result, changed };
  }

  /** Not everything that was asked for so far is as it was. */
  get differs(): boolean {
    return this.#differs || this.split !== undefined;
  }

  /** Whether it finds the files that its source did: others of its round may have changed them since it was called. */
  #found(called: Node, result: Node): boolean {
    if (!this.differs) return true;
    const before = actedOf(result, this.#runtime.platform)?.before;
    return before === undefined || before === (this.#tree(stateOf(current(called).log.tip as Node)) || emptyTree);
  }

  /** Nested work is reused with the result it led to. */
  #took(result: Node): void {
    this.taken.push(result);
    for (const inner of this.#inside.get(callOf(result).id) ?? []) this.#took(inner);
  }

  /** With an equal history before it, a reused result stands for its source: inner work is not done again and still counts. */
  reused(called: Node, returned: Node, source: Node): void {
    if (this.#what(called) !== this.#what(callOf(source))) return;
    // In a batch the place after a result holds those that came before it, in an order of its own.
    if (returned.facts.call === undefined) this.standsFor(returned, source);
    else this.#results.set(returned, whatOfResult(source, this.#runtime.platform, this.#text, this.#whats, this.#results));
  }

  /** An effect that may not be repeated and finds no equal result stops and asks. */
  asks(effect: Effect): boolean {
    return this.#effects === "ask" && (effect.repeat === "once" || effect.repeat === "keyed");
  }

  /** An equal call of which nobody knows what became. */
  doubtOf(called: Node, { repeat }: Effect): Node | undefined {
    if (repeat !== "once" || this.#doubts.size === 0) return undefined;
    return this.#doubts.get(this.#key(called.parent as Node, called.kind as CalledKind, this.#runtime.textOf(called)));
  }

  /** The call whose result an equal request would take. */
  callFor(parent: Node, kind: CalledKind, text: string, effect: Effect): Node | undefined {
    const result = this.#equal(parent, kind, text, effect);
    const call = result === undefined ? undefined : callOf(result);
    if (call === undefined || this.#change?.event === call.id || this.#change?.event === result?.id) this.#differs = true;
    return call;
  }

  /** The result of an equal request that was not taken yet; of one that depends on files alone, after any history. */
  #equal(head: Node, kind: CalledKind, text: string, { filesAlone }: Effect): Node | undefined {
    const same = this.#next(this.#key(head, kind, text));
    return same !== undefined || filesAlone !== true ? same : this.#next(this.#key(head, kind, text, true));
  }

  #next(key: string): Node | undefined {
    const held = this.#held.get(key);
    while (held?.[0] !== undefined && this.#used.has(held[0])) held.shift();
    return held?.[0];
  }

  #key(head: Node, kind: CalledKind, text: string, anyHistory = false): string {
    const { platform } = this.#runtime;
    const state = stateOf(head);
    const placement = state.placement === undefined ? "" : this.#runtime.textOf(state.placement);
    const inputs = anyHistory ? ["files alone", text] : this.#inputs(head, kind, text);
    const tree = kind === "model.called" ? "" : this.#tree(state);
    return platform.sha256(JSON.stringify([kind, ...inputs, placement, tree]));
  }

  /** The files before it; of a directory that was not used yet, those that the earlier run found there. */
  #tree(state: State): string {
    const recorded = recordedTree(state, this.#runtime.platform);
    if (recorded !== undefined || state.base === undefined) return recorded ?? "";
    return this.capturedFor(state.base)?.tree ?? "";
  }

  /** The files a directory held for the earlier run: a rerun begins with the same. */
  capturedFor(placement: Node): Captured | undefined {
    return this.#captured.get(this.#runtime.textOf(placement));
  }

  /** What a request of a kind depends on. */
  #inputs(head: Node, kind: CalledKind, text: string): readonly string[] {
    switch (kind) {
      case "model.called": {
        // The whole request by its contents: the digest in the call is over ids.
        const { request: _, changed: __, ...asked } = JSON.parse(text) as Record<string, unknown>;
        return [JSON.stringify(asked), contextWhat(stateOf(head).context, this.#runtime.platform, this.#contexts, this.#text)];
      }
      case "recall.called":
        // What is found depends on what is asked, on the store and on what is staged on the branch.
        return [text, this.#staged(stateOf(head))];
      case "remember.called": {
        const { because: _, ...asked } = JSON.parse(text) as Record<string, unknown>;
        return [JSON.stringify(asked), this.#what(head)];
      }
      case "do.called":
        return "input" in (JSON.parse(text) as object) ? [text] : [text, this.#what(head)];
      default:
        return [text, this.#what(head)];
    }
  }

  /** What is staged on a branch, without ids. */
  #staged(state: State): string {
    const staged = [...stagedAt(state, this.#runtime.platform).values()];
    return JSON.stringify(staged.map(({ item: { uri, version, content }, forgotten }) => [uri, version, content, forgotten]).sort());
  }

  #what(node: Node): string {
    return whatOf(node, this.#runtime.platform, this.#text, this.#whats, this.#results);
  }
}

/** It acted where commands reach nothing but files. */
function actedOnFiles(call: Node, result: Node, { platform }: Services): boolean {
  if (call.kind !== "tool.called" || call.data<"tool.called">(platform).repeat !== "safe") return false;
  const network = stateOf(call).placement?.data<"placement.changed">(platform).spec["network"] ?? "none";
  const isolation = actedOf(result, platform)?.isolation ?? "none";
  return network === "none" && isolation !== "none";
}

/** What it remembered lies in its nested work, which a reused result has not: it is entered again, where that does no harm, and what is inside is reused. */
function wroteInside(result: Node, platform: Platform): boolean {
  if (result.parents.length < 2 || stateOf(result).writes === stateOf(result.parent as Node).writes) return false;
  const repeat = callOf(result).data<"do.called" | "tool.called">(platform)?.repeat;
  return repeat === "nested" || repeat === "safe";
}

/** It recalled from another memory than there is now. */
function readsAnother(result: Node, latest: number, { platform }: Services): boolean {
  return result.kind === "recall.returned" && result.data<"recall.returned">(platform)?.revision !== latest;
}

/** What folds must know of a result that is taken from another run. */
export function reusedFacts({ node, data, changed, outcome, id }: Source, call: string | undefined): Facts {
  // What somebody put in the place of a result says nothing of files.
  const { acted, files } = "acted" in data ? node.facts : {};
  const { injected, outside, trusted } = changed ? {} : node.facts;
  const counted = tokensCounted(node);
  return facts({ acted, files, counted, injected, outside, trusted, outcome, attempts: 1, source: id, call });
}

/** What is stored of a result that somebody put in the place of the recorded one. */
function dataOf(kind: Node["kind"], output: unknown): Readonly<Record<string, unknown>> {
  if (kind === "check.returned") return typeof output === "boolean" ? { passed: output } : (output as Readonly<Record<string, unknown>>);
  if (kind !== "model.returned") return { value: output };
  return { finish: "stop", parts: [{ type: "text", text: typeof output === "string" ? output : JSON.stringify(output) }] };
}
