/** Works for a project and for every other of its store that has a key: beside a server, or without one. */
import { setMaxListeners } from "node:events";
import type { AccessStore, Scope } from "../access/access.ts";
import type { Rath } from "../runtime/rath.ts";
import { tenancyOf } from "../runtime/tenancy.ts";
import type { RunWork, WorkOptions, WorkState } from "../runtime/worker.ts";
import { textOfThrown } from "../session/thrown.ts";
import { Projects } from "./projects.ts";
import { servedBy } from "./served.ts";

/** How soon a project is worked on that got its first key. */
const lookMs = 5000;

interface AllWork extends Omit<WorkOptions, "report" | "onRun"> {
  readonly signal: AbortSignal;
  /** Told how the work for one of the projects goes. */
  readonly report: (scope: Scope, state: WorkState) => void;
  readonly onRun?: ((scope: Scope, run: RunWork) => void) | undefined;
}

/** Until the signal. `concurrency` counts for each project. */
export async function workBeside(server: object, options: WorkOptions & { readonly signal: AbortSignal }): Promise<void> {
  const { access, metrics, projects } = servedBy(server);
  const { onRun } = options;
  await workForAll(projects, access, {
    ...options,
    report: (scope, state) => metrics.worker(nameOf(scope), state),
    onRun: (_, run) => onRun?.(run),
  });
}

/** The same where there is no server. */
export async function workAlone(rath: Rath, options: AllWork): Promise<void> {
  const projects = new Projects(rath, 0);
  await using access = await tenancyOf(projects.own.runtime).openAccess();
  try {
    await workForAll(projects, async () => access, options);
  } finally {
    await projects.close();
  }
}

async function workForAll(projects: Projects, access: () => Promise<AccessStore>, options: AllWork): Promise<void> {
  const { runtime } = projects.own;
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  setMaxListeners(0, signal); // every project listens to it
  const working = new Map<string, Promise<void>>();
  const work = async (scope: Scope): Promise<void> => {
    const { project, release } = projects.hold(scope, true);
    try {
      await project.rath.work({
        ...{ concurrency: options.concurrency, drain: options.drain, signal },
        report: (state) => options.report(scope, state),
        onRun: (run) => options.onRun?.(scope, run),
      });
    } finally {
      release();
    }
  };
  const { tenant, project } = projects.own;
  const own = work({ tenant, project });
  working.set(nameOf(projects.own), own);
  /** What failed is tried again at the next look, and said once. */
  const said = new Set<string>();
  const say = (message: string): void => {
    if (!signal.aborted && !said.has(message)) runtime.warn(message);
    said.add(message);
  };
  const look = async (): Promise<void> => {
    for await (const { tenant, project } of (await access()).keys({})) {
      const name = nameOf({ tenant, project });
      if (signal.aborted || working.has(name)) continue;
      const begun = work({ tenant, project }).catch((error: unknown) => {
        working.delete(name);
        say(`Nobody works for project ${project} of ${tenant}: ${textOfThrown(error)}`);
      });
      working.set(name, begun);
    }
  };
  const lookOrSay = (): void =>
    void look().catch((error: unknown) => say(`It cannot be seen which other projects have a key: ${textOfThrown(error)}`));
  const looking = setInterval(lookOrSay, lookMs);
  lookOrSay();
  try {
    await own;
  } finally {
    clearInterval(looking);
    over.abort(); // where its own cannot be worked on, the others are left in good order too
    await Promise.allSettled(working.values());
  }
}

function nameOf({ tenant, project }: Scope): string {
  return JSON.stringify([tenant, project]);
}
