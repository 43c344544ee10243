/** What the code of an effect threw, or was not allowed to do: what is stored of it, and what stays in this process. */
import { EffectResult } from "../session/host.ts";
import type { Node } from "../session/log.ts";
import { textOfThrown } from "../session/thrown.ts";

export function failure(error: unknown): { readonly message: string; readonly name?: string } {
  const message = textOfThrown(error);
  return error instanceof Error && error.name !== "Error" ? { message, name: String(error.name) } : { message };
}

/** A rule does not allow what it did. */
export function denied(reason: string): EffectResult {
  return new EffectResult("denied", { reason, problem: "policy" });
}

const causes = new WeakMap<Node, unknown>();

export function setCause(returned: Node, error: unknown): void {
  causes.set(returned, error);
}

/** What was thrown, where it was thrown in this process: for people, not for programs, since a resumed one does not have it. */
export function causeOf(returned: Node): unknown {
  return causes.get(returned);
}
