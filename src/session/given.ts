/** What verbs are given, checked once where it enters: what is stored has the shape that verify and import expect. */
import { durationMs } from "./duration.ts";
import { RathError } from "./errors.ts";
import type { CheckResult, Content, Duration } from "./session.ts";

/** A string, named by its field when it is none. */
export function givenText(value: unknown, field: string): string {
  if (typeof value !== "string") throw unsupported(field, `is ${kindOf(value)}`, "give a string");
  return value;
}

/** A name that becomes part of `by`, which is hashed in clear and so must be well-formed. */
export function givenName(value: string, field: string): string {
  if (!(value as string & { isWellFormed(): boolean }).isWellFormed())
    throw unsupported(field, "has a lone surrogate", "give a well-formed string");
  return value;
}

export function givenContent(content: Content): Content {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw unsupported("content", `is ${kindOf(content)}`, "give a string or a list of parts");
  for (const [index, part] of content.entries()) {
    const field = `content[${index}]`;
    switch ((part as { readonly type?: unknown } | null | undefined)?.type) {
      case "text":
      case "reasoning":
        givenText(part.text, `${field}.text`);
        break;
      case "file":
        givenText(part.mediaType, `${field}.mediaType`);
        break;
      default:
        throw unsupported(field, "is no part of a message", 'give { type: "text" | "reasoning" | "file", … }');
    }
  }
  return content;
}

/** What is stored of a verdict. */
export function givenVerdict(value: CheckResult): Readonly<Record<string, unknown>> {
  if (typeof value === "boolean") return { passed: value };
  const { passed, score, reason } = value;
  if (score !== undefined && !Number.isFinite(score)) throw unsupported("score", `is ${kindOf(score)}`, "give a finite number");
  return {
    passed: passed === true,
    ...(score === undefined ? {} : { score }),
    ...(reason === undefined ? {} : { reason: givenText(reason, "reason") }),
  };
}

/** The time of a date, or so long after `now`. */
export function givenTime(time: Duration | Date, now: Date): string {
  const at = time instanceof Date ? time : new Date(now.getTime() + durationMs(time));
  const year = at.getUTCFullYear();
  if (!(year >= 0 && year <= 9999))
    throw unsupported("time", `("${String(time)}") is no time before the year 10000`, "give an earlier one");
  return at.toISOString();
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined || typeof value === "number") return String(value);
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

function unsupported(field: string, problem: string, next: string): RathError {
  return new RathError("value.unsupported", `${field} ${problem}: ${next}.`, { details: { field } });
}
