/** An answer must fit what was asked before it takes the place of the only answer there can be. */
import { RathError } from "../session/errors.ts";
import type { Op } from "../session/event.ts";
import { kindOf } from "../session/given.ts";
import type { Decision, Pending } from "../session/session.ts";

/** Who decides is in the envelope of the answer, which is kept in clear and for ever. */
const longestName = 500;

export async function validateAnswer(pending: Pending, given: Decision, op: Op): Promise<void> {
  const decision = givenDecision(given);
  switch (pending.kind) {
    case "question":
      only(decision, ["answer"], "a question takes { answer }");
      return fits(decision["answer"], pending.answer);
    case "approval":
      only(decision, ["approve", "input"], "an approval takes { approve: true | false }, perhaps with { input }");
      if (typeof decision["approve"] !== "boolean") throw invalidDecision("an approval takes { approve: true | false }");
      return;
    case "unknown":
      only(decision, ["outcome"], outcomes);
      return givenOutcome(decision["outcome"]);
    case "signal":
      throw invalidDecision(
        `it waits for the signal "${pending.signal}": send it with rath.send(run, ${JSON.stringify(pending.signal)}, data)`,
      );
    case "timer":
      throw invalidDecision(`a ${op} ends at its time`);
    case "process":
      throw invalidDecision("a process ends by itself");
  }
}

type Fields = Readonly<Record<string, unknown>>;

function givenDecision(given: unknown): Fields {
  if (typeof given !== "object" || given === null) throw invalidDecision(`it is ${kindOf(given)}: give { by, answer | approve | outcome }`);
  const { by, reason } = given as Fields;
  if (typeof by !== "string" || by.trim() === "") throw invalidDecision('say who decides: { by: "human:…" }');
  if (by.length > longestName) throw invalidDecision(`by has ${by.length} characters: give at most ${longestName}`);
  if (reason !== undefined && typeof reason !== "string") throw invalidDecision(`reason is ${kindOf(reason)}: give a string`);
  return given as Fields;
}

/** What is asked for and nothing else: a field that nobody reads was meant to say something. */
function only(decision: Fields, fields: readonly string[], expected: string): void {
  const known = new Set(["by", "reason", ...fields]);
  const [first = ""] = fields;
  const strange = Object.keys(decision).filter((name) => decision[name] !== undefined && !known.has(name));
  if (strange.length > 0) throw invalidDecision(`${expected}, not { ${strange.join(", ")} }`);
  if (decision[first] === undefined) throw invalidDecision(expected);
}

/** Loaded with the first question: later ones do not ask the loader again, which would take turns of the event loop. */
let zod: typeof import("zod") | undefined;

async function fits(answer: unknown, schema: object): Promise<void> {
  zod ??= await import("zod");
  const { z } = zod;
  const result = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(answer);
  if (!result.success)
    throw invalidDecision(result.error.issues.map((issue) => `${issue.path.join(".") || "answer"}: ${issue.message}`).join("; "));
}

const outcomes = 'an effect with an unknown outcome takes { outcome: "run-again" } or { outcome: { type: "ok", value } } and the like';

/** What must be said of each. */
const fieldsOf: Readonly<Record<string, readonly [field: string, required: boolean] | undefined>> = Object.freeze({
  ok: ["value", false],
  error: ["message", true],
  denied: ["reason", true],
  cancelled: ["reason", true],
  expired: ["", false],
});

function givenOutcome(outcome: unknown): void {
  if (outcome === "run-again") return;
  const said = (typeof outcome === "object" && outcome !== null ? outcome : {}) as Fields;
  const { type, ...rest } = said;
  const known = typeof type === "string" && Object.hasOwn(fieldsOf, type) ? fieldsOf[type] : undefined;
  if (known === undefined) throw invalidDecision(outcomes);
  const [field, required] = known;
  const strange = Object.keys(rest).filter((name) => name !== field);
  if (strange.length > 0) throw invalidDecision(`an outcome "${String(type)}" has no ${strange.join(", ")}`);
  if (required && typeof rest[field] !== "string") throw invalidDecision(`an outcome "${String(type)}" takes { ${field}: text }`);
}

export function invalidDecision(problem: string): RathError {
  return new RathError("pending.invalid-answer", `This decision does not fit: ${problem}.`);
}
