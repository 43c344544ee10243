/**
 * Which calls wait for somebody, as the record of a run shows it to whoever does not execute it. A call that has not started waits
 * for a person, for its turn beside others, or is about to start: the difference is on record before anybody is asked.
 */
import { isStarted } from "../session/event.ts";
import { current, type Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import { patiently } from "./patience.ts";
import type { Given, Owner, Services } from "./services.ts";

/** A call that does not start at once. */
export function startsLater({ kind, facts }: Pick<Node, "kind" | "facts">): boolean {
  return facts.started !== true && ["ask.called", "wait.called", "receive.called", "tool.called", "do.called"].includes(kind);
}

/** What it is says that it waits: a question, a timer, a receive, or a call that was recorded as one that a person approves. */
export function waitsByItself(call: Pick<Node, "kind" | "facts">, data: unknown): boolean {
  if (!startsLater(call) || call.kind === "do.called") return false;
  return call.kind !== "tool.called" || (data as { readonly approval?: string } | undefined)?.approval !== undefined;
}

/** Whether nobody knows what became of a call that was started and has no result; any other is made again, unless its run asks. */
export function mayBeLost(call: Node, platform: Platform): boolean {
  return (call.kind === "do.called" || call.kind === "tool.called") && call.data<"do.called">(platform)?.repeat === "once";
}

/** Whether a call that has no result waits under its newest mark, by what its run has said in its own log. */
export function waitsUnder(mark: Node, call: Node, journal: readonly Node[], platform: Platform): boolean {
  if (mark === call && waitsByItself(call, call.data(platform))) return true;
  const begun = isStarted(mark.kind) || call.facts.started === true;
  return journal.some((said) => {
    if (said.kind === "run.resumed") return begun && mark.order < said.order && mayBeLost(call, platform);
    return namedBy(said, platform).includes(mark.id);
  });
}

/** The marks that a run says it waits under. */
export function namedBy(said: Node, platform: Platform): readonly string[] {
  if (said.kind === "run.parked") return said.data<"run.parked">(platform).pending;
  return said.kind === "run.asked" ? [said.data<"run.asked">(platform).pending] : [];
}

/** Somebody is about to be asked about a call: its run says so, where nobody else could know it. */
export async function sayAsked(execution: Asking, asking: Asked): Promise<void> {
  if (execution.mode !== "run") return;
  // Its name may change until it is on disk.
  await patiently(execution, () => execution.writer.flush());
  if (!execution.closed && !isAsked(execution, asking)) execution.journal("run.asked", { pending: asking.mark.id });
}

/** Whether a person was asked about a call, or has answered unasked: the record says so, not the rules, which may be others by now. */
export async function wasAsked(execution: Asking, asked: Asked): Promise<boolean> {
  return isAsked(execution, asked) || (await saidOf(execution, asked.called)) !== undefined;
}

/** What was said of a call before it was started. */
export function saidOf(execution: Asking, called: Node): Promise<Given | undefined> {
  return patiently(execution, () => execution.runtime.answers.find(called.id));
}

/** Whether the record says that a person is asked about a call under its newest mark. */
export function isAsked({ log, runtime }: Asking, { mark, called }: Asked): boolean {
  const journal: Node[] = [];
  for (let node = log.tip; node !== undefined; node = node.prior) journal.push(current(node));
  return waitsUnder(mark, called, journal, runtime.platform);
}

interface Asked {
  readonly mark: Node;
  readonly called: Node;
}

interface Asking extends Owner {
  readonly mode: string;
  readonly closed: boolean;
  readonly runtime: Services;
  readonly writer: { flush(): Promise<unknown> };
}
