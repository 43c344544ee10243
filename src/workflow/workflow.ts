/**
 * Composition: a Workflow maps a Session to a Session. Extend it and write `forward` as a method; entering and leaving are
 * recorded, and a workflow called inside another one is part of the same run.
 */
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";

/** What a workflow's `forward` produces. */
export type OutputOf<W> = W extends { forward(session: Session): Promise<Session<infer Output>> } ? Output : never;

/**
 * Extend it and write `forward` as a method. `name` and `description` are read if present; they are not declared, so no
 * `override` is needed. User code between effects must be deterministic: time, chance and ids come from the session.
 *
 * @example
 * class Migrate extends Workflow {
 *   async forward(session: Session) {
 *     for (const table of ["users", "orders"]) session = await session.do(`copy ${table}`, () => copy(table));
 *     return session;
 *   }
 * }
 */
export abstract class Workflow {
  constructor() {
    const method: unknown = this.forward;
    if (typeof method !== "function")
      throw new RathError("workflow.invalid", `${this.constructor.name} has no forward method: write async forward(session) { … }.`);
    // A fixed own property: a class field named `forward` would bypass the record, so it fails at construction.
    Object.defineProperty(this, "forward", {
      value: (session: Session) =>
        placeOf(session).context.host.enter(
          session,
          this as { readonly name?: unknown },
          (inner) => method.call(this, inner) as Promise<Session>,
        ),
    });
  }

  abstract forward(session: Session): Promise<Session>;

  toString(): string {
    const { name } = this as { readonly name?: unknown };
    return `Workflow ${typeof name === "string" ? name : "(unnamed)"}`;
  }
}
