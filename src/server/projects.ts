/** The Raths a server answers for, by tenant and project: its own, and others of the same store, opened when they are first asked for. */
import type { Scope } from "../access/access.ts";
import type { Rath } from "../runtime/rath.ts";
import { runtimeOf } from "../runtime/replay.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type Tenancy, tenancyOf } from "../runtime/tenancy.ts";
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";

export interface Project extends Scope {
  readonly rath: Rath;
  readonly runtime: Runtime;
}

/** A project that stays open until it is released. */
export interface HeldProject {
  readonly project: Project;
  /** Counts once. */
  release(): void;
}

interface Opened {
  readonly project: Project;
  holders: number;
  /** It stays open as long as the server does. */
  lasting: boolean;
}

export class Projects {
  readonly #own: Project;
  readonly #tenancy: Tenancy;
  readonly #most: number;
  /** The longest unused one first. */
  readonly #others = new Map<string, Opened>();
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  /** At most so many others are open at once, beside those that are held for good. */
  constructor(rath: Rath, most: number) {
    const runtime = runtimeOf(rath.session());
    this.#tenancy = tenancyOf(runtime);
    this.#own = { rath, runtime, ...this.#tenancy.scope };
    this.#most = most;
  }

  /** The project of the Rath the server was made with. */
  get own(): Project {
    return this.#own;
  }

  /** Those that are open now. */
  opened(): readonly Project[] {
    return [this.#own, ...[...this.#others.values()].map(({ project }) => project)];
  }

  /**
   * The project of a scope, which is not closed before it is released. One that is held for good, by a worker, takes no room from those
   * that calls ask for: there would soon be none left.
   */
  hold(scope: Scope, lasting = false): HeldProject {
    if (scope.tenant === this.#own.tenant && scope.project === this.#own.project) return { project: this.#own, release: () => {} };
    const name = nameOf(scope);
    const opened = this.#others.get(name) ?? this.#open(scope, lasting);
    this.#others.delete(name);
    this.#others.set(name, opened);
    opened.holders++;
    opened.lasting ||= lasting;
    let held = true;
    return {
      project: opened.project,
      release: () => {
        if (held) opened.holders--;
        held = false;
      },
    };
  }

  #open({ tenant, project }: Scope, lasting: boolean): Opened {
    if (this.#closed) throw new RathError("server.busy", "This server is stopping: ask another one, or again later.", { retryable: true });
    const passing = [...this.#others.values()].filter((one) => !one.lasting).length;
    if (!lasting && passing >= this.#most) this.#closeUnused();
    const rath = this.#tenancy.open({ tenant, project });
    if (rath === undefined)
      throw new RathError(
        "access.forbidden",
        `This process answers for project ${this.#own.project} of ${this.#own.tenant} alone: its store was opened for it. Give openrath() an address instead of a store.`,
      );
    return { project: { rath, runtime: runtimeOf(rath.session()), tenant, project }, holders: 0, lasting };
  }

  /** Makes room: the longest unused one of those that nobody holds, and in which nothing is under way. */
  #closeUnused(): void {
    for (const [name, { project, holders }] of this.#others) {
      if (holders > 0 || tenancyOf(project.runtime).isBusy()) continue;
      this.#others.delete(name);
      this.#close(project.rath);
      return;
    }
    throw new RathError(
      "server.busy",
      `This server has room for ${counted(this.#most, "project")} at once, and all of it is in use: try again later.`,
      {
        retryable: true,
        details: { retryAfter: 5 },
      },
    );
  }

  #close(rath: Rath): void {
    const closing = rath
      .close()
      .catch((error: unknown) => this.#own.runtime.warn(`A project could not be closed: ${String(error)}`))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Closes those it opened itself; none is opened any more. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { project } of this.#others.values()) this.#close(project.rath);
    this.#others.clear();
    await Promise.all(this.#closing);
  }
}

function nameOf({ tenant, project }: Scope): string {
  return JSON.stringify([tenant, project]);
}
