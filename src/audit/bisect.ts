/**
 * The first step at which a check fails. Looks at O(log n) places of the first-parent line: each is given to the check as a throw-away
 * fork, on a runtime that stores nothing, so the session that is asked about stays as it is.
 */
import { flushBehind, runtimeOf } from "../runtime/replay.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type Found, scratchOf } from "../runtime/scratch.ts";
import { inside } from "../runtime/services.ts";
import { recordedTree } from "../session/acted.ts";
import { RathError } from "../session/errors.ts";
import type { Event } from "../session/event.ts";
import { stateOf } from "../session/fold.ts";
import { givenFunction, givenOneOf, givenOptions } from "../session/given.ts";
import type { Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { plural, shortEvent } from "../wire/format.ts";

/** What a check found at a place. */
export interface BisectStep {
  readonly event: string;
  readonly step: number;
  readonly verdict: "good" | "bad" | "skipped";
  /** How many places are still in question. */
  readonly left: number;
}

/** Where to look. */
export interface BisectOptions {
  /** A step or an event at which the check is known to pass: nothing before it is looked at. It is checked all the same. */
  readonly good?: number | string | undefined;
  /** One at which it is known to fail. Default: the session itself. */
  readonly bad?: number | string | undefined;
  /** Which places: every step (default), or only those that changed the files, for a check that looks at nothing else. */
  readonly places?: "steps" | "files" | undefined;
  /** Checks the two places found once more, and says so when the answers contradict each other. */
  readonly confirm?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told of each answer as it comes. */
  readonly onStep?: ((step: BisectStep) => void) | undefined;
}

/** What was found. */
export interface Bisection {
  /**
   * `found`: `bad` is the first step that fails. `never-fails`: it passes at the newest place. `always-fails`: it fails at the oldest
   * one too. `unclear`: between `good` and `bad` nothing could be checked. `contradictory`: asked again, the check said something else.
   */
  readonly result: "found" | "never-fails" | "always-fails" | "unclear" | "contradictory";
  /** The first event at which the check fails. */
  readonly bad: Event | undefined;
  /** The last one before it at which it passes. */
  readonly good: Event | undefined;
  /** How often the check was called. */
  readonly checks: number;
  /** Among how many places. */
  readonly places: number;
  readonly steps: readonly BisectStep[];
  toString(): string;
}

/**
 * Finds the first step of a session's first-parent line at which a check fails, assuming that it goes on failing from there. The
 * check gets a throw-away fork of each place and says true (good), false (bad) or undefined (cannot be told here); what it does with
 * the fork, commands in a sandbox included, is not recorded. At most ⌈log₂ n⌉ + 2 checks of n places, unless some cannot be told.
 *
 * @example
 * const { result, bad, good } = await bisect(session, async (place) => (await place.files.text("notes.md")).includes("noon"));
 * if (result === "found") console.log(`step ${bad?.step} broke it; step ${good?.step} was good`);
 */
export async function bisect(
  session: Session,
  check: (place: Session) => Promise<boolean | undefined> | boolean | undefined,
  options: BisectOptions = {},
): Promise<Bisection> {
  const runtime = runtimeOf(session);
  givenFunction(check, "the check");
  givenOptions(options, ["good", "bad", "places", "confirm", "signal", "onStep"], "bisect");
  givenOneOf(options.places, ["steps", "files"], "bisect.places");
  await flushBehind(session);
  const head = options.bad === undefined ? placeOf(session).node : placeOf(session.at(options.bad)).node;
  const line = lineTo(head, options.good === undefined ? undefined : placeOf(session.at(options.good)).node);
  const found = await foundOn(runtime, line, head);
  const places = options.places === "files" ? changedFiles(runtime, line, found) : line;
  return new Search(places, (node) => tried(runtime, found, node, check), options, runtime).answer();
}

/** What directories held when the line first used them. */
async function foundOn({ sandboxes }: Runtime, line: readonly Node[], head: Node): Promise<readonly Found[]> {
  const bases = new Set(line.flatMap((node) => stateOf(node).base ?? []));
  const found: Found[] = [];
  for (const placement of bases) {
    const captured = await sandboxes.captureOf(head, placement);
    if (captured !== undefined) found.push({ placement, captured });
  }
  return found;
}

/** One place, as a fork of its own; whatever it opened is closed behind it. */
async function tried(
  runtime: Runtime,
  found: readonly Found[],
  node: Node,
  check: Parameters<typeof bisect>[1],
): Promise<boolean | undefined> {
  await using scratch = scratchOf(runtime, found);
  // Where a workflow asks, the fork is none of its own.
  const verdict: unknown = await inside.exit(async () => check(scratch.outside(node).fork("bisect")));
  if (verdict === undefined || typeof verdict === "boolean") return verdict;
  throw new RathError("value.unsupported", `The check gave ${typeof verdict}: give true, false, or undefined where it cannot be told.`);
}

/** The first-parent line, oldest first, from a place that is known to be good. */
function lineTo(head: Node, good: Node | undefined): readonly Node[] {
  const line: Node[] = [];
  for (let node: Node | undefined = head; node !== undefined; node = node.parent) {
    line.push(node);
    if (node === good) return line.reverse();
  }
  if (good !== undefined)
    throw new RathError("session.not-found", `Event ${good.id} is not before ${head.id} on the line of session ${head.log.id}.`, {
      details: { event: good.id },
    });
  return line.reverse();
}

/** The places at which the files became others, beginning with those that were taken from a directory or first written. */
function changedFiles({ platform }: Runtime, line: readonly Node[], found: readonly Found[]): readonly Node[] {
  const taken = new Map(found.map(({ placement, captured }) => [placement, captured.tree]));
  const places: Node[] = [];
  let before: string | undefined;
  for (const node of line) {
    const state = stateOf(node);
    const tree = recordedTree(state, platform) ?? (state.base === undefined ? undefined : taken.get(state.base));
    if (tree === undefined || tree === before) continue;
    places.push(node);
    before = tree;
  }
  return places.length === 0 ? line.slice(-1) : places;
}

type Verdict = BisectStep["verdict"];

class Search {
  readonly #places: readonly Node[];
  readonly #check: (node: Node) => Promise<boolean | undefined>;
  readonly #options: BisectOptions;
  readonly #runtime: Runtime;
  readonly #steps: BisectStep[] = [];
  readonly #known = new Map<number, Verdict>();

  constructor(places: readonly Node[], check: (node: Node) => Promise<boolean | undefined>, options: BisectOptions, runtime: Runtime) {
    this.#places = places;
    this.#check = check;
    this.#options = options;
    this.#runtime = runtime;
  }

  async answer(): Promise<Bisection> {
    let [good, bad] = [0, this.#places.length - 1];
    const newest = await this.#ask(bad, (verdict) => (verdict === "bad" ? bad : 0));
    if (newest !== "bad") return this.#found(newest === "good" ? "never-fails" : "unclear", newest === "good" ? bad : undefined, undefined);
    const oldest = bad === good ? newest : await this.#ask(good, (verdict) => (verdict === "good" ? bad - good - 1 : 0));
    if (oldest !== "good") return this.#found(oldest === "bad" ? "always-fails" : "unclear", undefined, oldest === "bad" ? good : bad);
    for (let next = this.#between(good, bad); next !== undefined; next = this.#between(good, bad)) {
      const at = next;
      const verdict = await this.#ask(at, (answer) => (answer === "bad" ? at : bad) - (answer === "good" ? at : good) - 1);
      if (verdict === "good") good = at;
      if (verdict === "bad") bad = at;
    }
    if (bad - good > 1) return this.#found("unclear", good, bad);
    const again = this.#options.confirm === true ? [await this.#ask(good), await this.#ask(bad)] : ["good", "bad"];
    return this.#found(again[0] === "good" && again[1] === "bad" ? "found" : "contradictory", good, bad);
  }

  /** The place nearest to the middle that was not skipped. */
  #between(good: number, bad: number): number | undefined {
    const middle = (good + bad) >>> 1;
    for (let away = 0; middle - away > good || middle + away < bad; away++)
      for (const at of [middle - away, middle + away]) if (at > good && at < bad && !this.#known.has(at)) return at;
    return undefined;
  }

  async #ask(index: number, left: (verdict: Verdict) => number = () => 0): Promise<Verdict> {
    this.#options.signal?.throwIfAborted();
    const node = this.#places[index] as Node;
    const passes = await this.#check(node);
    const verdict: Verdict = passes === undefined ? "skipped" : passes ? "good" : "bad";
    this.#known.set(index, verdict);
    const step = Object.freeze({ event: node.id, step: node.step, verdict, left: left(verdict) });
    this.#steps.push(step);
    this.#options.onStep?.(step);
    return verdict;
  }

  #found(result: Bisection["result"], good: number | undefined, bad: number | undefined): Bisection {
    const eventAt = (index: number | undefined): Event | undefined =>
      index === undefined ? undefined : this.#places[index]?.event(this.#runtime.platform);
    const found = { result, bad: eventAt(bad), good: eventAt(good), checks: this.#steps.length, places: this.#places.length };
    return Object.freeze({ ...found, steps: Object.freeze(this.#steps), toString: () => bisectionText(found) });
  }
}

/** The answer in one sentence. */
export function bisectionText({ result, bad, good, checks, places }: Omit<Bisection, "steps" | "toString">): string {
  const effort = `${plural(checks, "check")} of ${plural(places, "place")}`;
  const at = (event: Event | undefined): string => (event === undefined ? "no step" : `step ${event.step} (${shortEvent(event.id)})`);
  switch (result) {
    case "found":
      return `${at(bad)} is the first that fails, ${at(good)} the last that passes: ${effort}`;
    case "never-fails":
      return `it does not fail: ${at(good)}, the newest place, passes`;
    case "always-fails":
      return `it fails from the start: ${at(bad)}, the oldest place, fails already`;
    case "unclear":
      if (bad === undefined || good === undefined)
        return `it cannot be told: the ${bad === undefined ? "newest" : "oldest"} place could not be checked`;
      return `between ${at(good)}, which passes, and ${at(bad)}, which fails, nothing could be checked: ${effort}`;
    case "contradictory":
      return `the answers contradict each other: asked again, ${at(good)} or ${at(bad)} answered something else, so the check depends on more than the session`;
    default:
      return result satisfies never;
  }
}
