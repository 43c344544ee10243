/** How a process that works for several projects stands: what each of its workers says, and what that comes to. */
import type { Scope } from "../access/access.ts";
import { type WorkState, worksWell } from "../runtime/worker.ts";

export class WorkStates {
  readonly #own: string;
  readonly #concurrency: number;
  readonly #states = new Map<string, WorkState>();

  /** `concurrency`: how many runs of a project are executed at once; a worker that has that many does not look for more. */
  constructor(own: Scope, concurrency: number) {
    this.#own = nameOf(own);
    this.#concurrency = concurrency;
  }

  /** True when it is the first word of this project's worker. */
  tell(scope: Scope, state: WorkState): boolean {
    const name = nameOf(scope);
    const first = !this.#states.has(name);
    this.#states.set(name, state);
    return first;
  }

  /** As one: runs are added up, and what is wrong with any of them is wrong. Undefined before the own project is worked on. */
  get sum(): WorkState | undefined {
    const own = this.#states.get(this.#own);
    if (own === undefined) return undefined;
    const going = this.#going;
    const add = (what: "executing" | "taken"): number => [...this.#states.values()].reduce((sum, state) => sum + state[what], 0);
    const looked = going.map((state) => state.looked);
    return {
      worker: own.worker,
      status: going.find(({ status }) => status === "draining")?.status ?? going[0]?.status ?? "stopped",
      ...{ executing: add("executing"), taken: add("taken") },
      looked: looked.includes(undefined) ? undefined : (looked.sort()[0] ?? own.looked),
      problem: going.find(({ problem }) => problem !== undefined)?.problem,
    };
  }

  /** Whether all of them do their work. */
  workWell(now: Date): boolean {
    const going = this.#going;
    return this.#states.has(this.#own) && going.length > 0 && going.every((state) => worksWell(state, this.#concurrency, now));
  }

  /** One that stopped while the others go on could not be worked for, and is tried again. */
  get #going(): readonly WorkState[] {
    return [...this.#states.values()].filter(({ status }) => status !== "stopped");
  }
}

function nameOf({ tenant, project }: Scope): string {
  return JSON.stringify([tenant, project]);
}
