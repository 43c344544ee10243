/** Whoever waits for a person, with a process that waits too, would do so in silence. */
import type { Pending } from "../session/session.ts";

/** Says what is waited for and how it is answered, unless the answer comes soon. Gives back what ends that. */
export function remind(pending: Pending, afterMs: number, warn: (message: string) => void): () => void {
  const wanted = wantedOf(pending);
  if (wanted === undefined) return () => {};
  const message = `This process waits for a person: ${wanted.what}. Answer with ${wanted.decide}, or start the work with rath.run(): a run can be left and taken up again.`;
  const timer = setTimeout(() => warn(message), afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}

/** For whoever waits for the result of a run. It may have to wait for long, so each thing that a person must say is told once. */
export class Reminders {
  readonly #since = new Map<string, number>();
  readonly #afterMs: number;

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** What to say now, given what the run waits for at this time. */
  due(run: string, pending: readonly Pending[], nowMs: number): readonly string[] {
    return pending.flatMap((one) => {
      const wanted = wantedOf(one);
      const since = this.#since.get(one.id) ?? nowMs;
      const due = wanted !== undefined && nowMs - since >= this.#afterMs;
      this.#since.set(one.id, due ? Number.POSITIVE_INFINITY : since);
      if (!due) return [];
      return `Run ${run} waits for a person: ${wanted.what}. Answer with openrath approvals, in the inspector, or with ${wanted.decide}. Its result() resolves when it has ended; settle() says at once what it waits for.`;
    });
  }
}

/** What a person must say, and how. Undefined for what nobody has to answer. */
function wantedOf(pending: Pending): { readonly what: string; readonly decide: string } | undefined {
  const decide = (answer: string): string => `rath.decide("${pending.id}", { by, ${answer} })`;
  switch (pending.kind) {
    case "approval":
      return { what: `"${pending.tool}" needs a yes`, decide: decide("approve: true | false") };
    case "question":
      return { what: `the question "${pending.question}"`, decide: decide("answer") };
    case "unknown":
      return { what: `"${pending.op}" was started, and nobody knows whether it happened`, decide: decide("outcome") };
    case "timer":
    case "signal":
    case "process":
      return undefined;
    default:
      return pending satisfies never;
  }
}
