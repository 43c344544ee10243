/** What went wrong, what was tried again, what nobody knows, and what worked in the end: all from the record, nothing guessed. */
import { startsLater } from "../../runtime/waits.ts";
import type { Event } from "../../session/event.ts";
import { count, money, seconds } from "../../wire/format.ts";
import { dataOf, type Effect, problemOf } from "./effects.ts";
import type { Dossier } from "./read.ts";

/** Something that did not go well. */
export interface Failure {
  readonly kind: "tool" | "check" | "model" | "agent" | "effect" | "branch" | "run";
  readonly what: string;
  readonly why: string;
  readonly by: string;
  readonly session: string;
  readonly step: number;
  readonly event: string;
  /** The event with which the same went well later. */
  readonly later: Effect | undefined;
}

/** An effect that took several attempts. */
export interface Retry {
  readonly effect: Effect;
  readonly failures: readonly string[];
}

/** Something that happened to a run. */
export interface Interruption {
  readonly run: string;
  readonly at: string;
  readonly words: string;
}

export interface Failures {
  readonly failed: readonly Failure[];
  readonly retried: readonly Retry[];
  /** Started without a result, or with one that nobody knows. */
  readonly unknown: readonly Effect[];
  readonly crossed: readonly Event<"budget.crossed">[];
  readonly interrupted: readonly Interruption[];
}

/** Everything that went wrong on any branch. */
export function failuresOf(dossier: Dossier): Failures {
  const { effects, events, runs } = dossier;
  const journals = runs.flatMap(({ journal }) => journal);
  const stopped = events.filter((event) => event.kind === "agent.stopped" && event.data !== undefined && event.data.stop !== "finished");
  const worked = worksLater(effects);
  const failed = effects.filter((effect) => hasFailed(effect)).map((effect) => failureOf(effect, worked(effect)));
  return {
    failed: [...failed, ...stopped.map(stopOf)].sort((a, b) => a.step - b.step),
    retried: effects.filter(({ attempts }) => attempts > 1).map((effect) => ({ effect, failures: attemptsOf(effect) })),
    unknown: effects.filter(isUnknown),
    crossed: [...journals, ...events].filter((event) => event.kind === "budget.crossed"),
    interrupted: runs.flatMap(({ id, journal }) => journal.flatMap((event) => interruptionOf(id, event))),
  };
}

/** What has not begun is not unknown, nor what waits for somebody, itself or inside. */
function isUnknown({ op, outcome, call, started }: Effect): boolean {
  if (outcome !== "open") return outcome === "unknown";
  const { repeat } = dataOf(call, "tool.called") ?? dataOf(call, "do.called") ?? {};
  const waits = op === "ask" || op === "wait" || op === "receive" || op === "route" || repeat === "nested";
  return !waits && (!startsLater(call) || started !== undefined);
}

/** A check that says no is an answer of the check, and a failure of what it judged. */
function hasFailed({ op, outcome, result }: Effect): boolean {
  if (outcome === "open") return false;
  return outcome !== "ok" || (op === "check" && dataOf(result, "check.returned")?.passed !== true);
}

function failureOf(effect: Effect, later: Effect | undefined): Failure {
  const { op, name, by, session, step, call, outcome } = effect;
  const kind = op === "tool" || op === "check" || op === "model" ? op : "effect";
  const why =
    outcome === "ok" ? (dataOf(effect.result, "check.returned")?.reason ?? "it did not pass") : `${outcome}: ${problemOf(effect)}`;
  return {
    kind,
    what: op === "tool" || op === "check" || op === "model" ? name : `${op} ${name}`,
    why,
    by,
    session,
    step,
    event: call.id,
    later,
  };
}

function stopOf(event: Event): Failure {
  const { stop = "error", reason } = dataOf(event, "agent.stopped") ?? {};
  const { by, session, step, id } = event;
  return {
    kind: "agent",
    what: by,
    why: `stopped: ${stop}${reason === undefined ? "" : `, ${reason}`}`,
    by,
    session,
    step,
    event: id,
    later: undefined,
  };
}

/** The first time after an effect at which the same thing, for the same agent or check, went well. */
function worksLater(effects: readonly Effect[]): (effect: Effect) => Effect | undefined {
  const well = new Map<string, Effect[]>();
  const key = ({ op, name, by }: Effect): string => JSON.stringify(op === "check" ? [op, name] : [op, name, by]);
  for (const effect of effects) {
    if (hasFailed(effect) || effect.outcome === "open") continue;
    const known = well.get(key(effect));
    if (known === undefined) well.set(key(effect), [effect]);
    else known.push(effect);
  }
  return (effect) => well.get(key(effect))?.find((one) => one.step > effect.step);
}

function attemptsOf({ result }: Effect): readonly string[] {
  const { failures = [] } = (result?.data ?? {}) as {
    readonly failures?: readonly {
      readonly message: string;
      readonly model?: string;
      readonly status?: number;
      readonly waitedMs?: number;
    }[];
  };
  return failures.map(({ message, waitedMs }) => `${message}${waitedMs === undefined ? "" : ` (waited ${seconds(waitedMs)})`}`);
}

function interruptionOf(run: string, event: Event): readonly Interruption[] {
  const said = (words: string): readonly Interruption[] => [{ run, at: event.at, words }];
  if (event.data === undefined) return [];
  switch (event.kind) {
    case "run.parked": {
      const waits = event.data.pending.length;
      return said(`parked: it waited for ${waits === 1 ? "one answer" : `${count(waits)} answers`} and held no process meanwhile`);
    }
    case "run.resumed":
      return said(
        `resumed by ${event.data.worker}${event.data.abandoned === true ? ", after the process before it died or was cut off" : ""}`,
      );
    case "run.ended":
      return event.data.status === "done" ? [] : said(`ended ${event.data.status}: ${event.data.message ?? event.data.reason ?? ""}`);
    default:
      return [];
  }
}

/** A limit that was reached, in words. */
export function crossedText({ data }: Event<"budget.crossed">): string {
  if (data === undefined) return "a limit that was erased";
  const figure = (value: number): string => (data.limit === "usd" ? money(value) : data.limit === "time" ? seconds(value) : count(value));
  const unit = data.limit === "usd" || data.limit === "time" ? "" : ` ${data.limit}`;
  return `${data.by || "the run"} had spent ${figure(data.spent)} of ${figure(data.of)}${unit} when its limit was reached`;
}
