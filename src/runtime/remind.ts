/** Outside a durable run whoever waits for a person holds the process, and would do so in silence. */
import type { Pending } from "../session/session.ts";

/** Says what is waited for and how it is answered, unless the answer comes soon. Gives back what ends that. */
export function remind(pending: Pending, afterMs: number, warn: (message: string) => void): () => void {
  const [what, answer] = wanted(pending);
  if (what === undefined) return () => {};
  const timer = setTimeout(() => {
    warn(
      `${what} waits for a person, and this process with it. Answer with rath.decide("${pending.id}", { by, ${answer} }), or start the work with rath.run(): a run can be left and taken up again.`,
    );
  }, afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}

function wanted(pending: Pending): readonly [string | undefined, string] {
  switch (pending.kind) {
    case "approval":
      return [`"${pending.tool}", which needs a yes,`, "approve: true | false"];
    case "question":
      return [`The question "${pending.question}"`, "answer"];
    case "unknown":
      return [`"${pending.op}", of which nobody knows the outcome,`, "outcome"];
    case "timer":
    case "signal":
    case "process":
      return [undefined, ""];
    default:
      return pending satisfies never;
  }
}
