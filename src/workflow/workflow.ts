/**
 * Composition: a Workflow maps a Session to a Session. Extend it and write `forward` as a method; entering and leaving are
 * recorded, and a workflow called inside another one is part of the same run.
 */
import { RathError } from "../session/errors.ts";
import { givenLimits } from "../session/given.ts";
import type { Entering } from "../session/host.ts";
import type { Content } from "../session/message.ts";
import type { Infer, InferInput, Limits, Schema, Session, Tool } from "../session/session.ts";
import type { Stream } from "../session/stream.ts";
import { placeOf } from "../session/value.ts";
import { ownName } from "./children.ts";
import { type Description, describeWorkflow } from "./describe.ts";
import { LiveStream } from "./stream.ts";
import { workflowTool } from "./workflow-tool.ts";

/** What a workflow's `forward` produces. */
export type OutputOf<W> = W extends { forward(session: Session): Promise<Session<infer Output>> } ? Output : never;

/** A workflow that says what it is for, so that something can choose it. */
export type Described = Workflow & { readonly description: string };

let entering: (workflow: Workflow, session: Session, how: Entering) => Promise<Session>;

/**
 * Extend it and write `forward` as a method. `name`, `description`, `version`, `input` (a schema that the newest message of a
 * run's session must fit, as JSON or text) and `onCancel(session)` (makes good what a cancelled run did, as a run of its own)
 * are read if present; they are not declared, so no `override` is needed. User code between effects must be deterministic:
 * time, chance and ids come from the session.
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
  readonly #enter: (session: Session, how: Entering) => Promise<Session>;

  static {
    entering = (workflow, session, how) => workflow.#enter(session, how);
  }

  /** `limits` hold for the workflow and everything under it. */
  constructor(limits?: Limits) {
    if (limits !== undefined) givenLimits(limits);
    const method: unknown = this.forward;
    if (typeof method !== "function")
      throw new RathError(
        "workflow.invalid",
        `${this.constructor.name} has no forward method: write it as a method, async forward(session) { … }, and not as a field (forward = …).`,
      );
    this.#enter = (session, how) =>
      placeOf(session).context.host.enter(session, this, (inner) => method.call(this, inner) as Promise<Session>, { limits, ...how });
    // A fixed own property: a class field named `forward` would bypass the record, so it fails at construction.
    Object.defineProperty(this, "forward", { value: (session: Session) => this.#enter(session, {}) });
  }

  abstract forward(session: Session): Promise<Session>;

  /** Starts `forward` at once and gives what happens as it happens. */
  stream(session: Session, options: { readonly signal?: AbortSignal | undefined } = {}): Stream<OutputOf<this>> {
    return new LiveStream<OutputOf<this>>((watch, signal) => this.#enter(session, { watch, signal }) as Promise<Session<OutputOf<this>>>, {
      ...options,
      clean: (text) => placeOf(session).context.host.clean(text),
    });
  }

  /** Pure data: every agent, model and tool it may use, and a revision that changes with them. */
  describe(): Description {
    return describeWorkflow(this, isWorkflow);
  }

  /** A tool that does this work in a session of its own, nested in the call. */
  asTool<S extends Schema>(options: {
    readonly name: string;
    readonly description?: string | undefined;
    readonly input: S;
    readonly say: (input: Infer<S>) => Content;
  }): Tool<InferInput<S>, OutputOf<this>>;
  asTool(options: { readonly name: string; readonly description?: string | undefined }): Tool<{ readonly task: string }, OutputOf<this>>;
  asTool(options: Parameters<typeof workflowTool>[1]): Tool<unknown, OutputOf<this>> {
    return workflowTool(this, options) as Tool<unknown, OutputOf<this>>;
  }

  toString(): string {
    return `Workflow ${ownName(this) ?? "(unnamed)"}`;
  }
}

/** Calls `forward` and says more of how it is entered. */
export function forwardWith(workflow: Workflow, session: Session, how: Pick<Entering, "memory">): Promise<Session> {
  return entering(workflow, session, how);
}

/** Calls `onCancel`, which makes good what a cancelled run did, as `forward` is called: entering and leaving are recorded. */
export function compensateWith(workflow: Workflow, session: Session): Promise<Session> {
  const { onCancel } = workflow as { readonly onCancel?: (session: Session) => Promise<Session> };
  if (typeof onCancel !== "function")
    throw new RathError("workflow.invalid", `${String(workflow)} has no onCancel any more, but a cancelled run of it is to be made good.`);
  return placeOf(session).context.host.enter(session, workflow, async (inner) => onCancel.call(workflow, inner), {});
}

export function isWorkflow(value: object): value is Workflow {
  return value instanceof Workflow;
}
