/** An answer must fit what was asked before it takes the place of the only answer there can be. */
import { RathError } from "../session/errors.ts";
import type { Op } from "../session/event.ts";
import type { Decision, Pending } from "../session/session.ts";

/** Loaded with the first question: later ones do not ask the loader again, which would take turns of the event loop. */
let zod: typeof import("zod") | undefined;

export async function validateAnswer(pending: Pending, decision: Decision, op: Op): Promise<void> {
  if (typeof decision.by !== "string" || decision.by === "") throw invalid('say who decides: { by: "human:…" }');
  switch (pending.kind) {
    case "question": {
      if (!("answer" in decision)) throw invalid("a question takes { answer }");
      zod ??= await import("zod");
      const { z } = zod;
      const result = z.fromJSONSchema(pending.answer as Parameters<typeof z.fromJSONSchema>[0]).safeParse(decision.answer);
      if (!result.success)
        throw invalid(result.error.issues.map((issue) => `${issue.path.join(".") || "answer"}: ${issue.message}`).join("; "));
      return;
    }
    case "approval":
      if (!("approve" in decision) || typeof decision.approve !== "boolean") throw invalid("an approval takes { approve: true | false }");
      return;
    case "unknown": {
      const outcome = "outcome" in decision ? decision.outcome : undefined;
      if (
        outcome === "run-again" ||
        (typeof outcome === "object" && ["ok", "error", "denied", "cancelled", "expired"].includes(outcome.type))
      )
        return;
      throw invalid('an effect with an unknown outcome takes { outcome: "run-again" } or { outcome: { type: "ok", value } } and the like');
    }
    case "signal":
      throw invalid(`it waits for the signal "${pending.signal}": send it with rath.send(run, ${JSON.stringify(pending.signal)}, data)`);
    case "timer":
      throw invalid(`a ${op} ends at its time`);
  }
}

function invalid(problem: string): RathError {
  return new RathError("pending.invalid-answer", `This decision does not fit: ${problem}.`);
}
