/** A worker beside a server: for its own project, and for every other that has a key. */
import type { Scope } from "../access/access.ts";
import type { WorkOptions } from "../runtime/worker.ts";
import { textOfThrown } from "../session/thrown.ts";
import { servedBy } from "./served.ts";

/** How soon a project is worked on that got its first key. */
const lookMs = 5000;

/** Until the signal. `concurrency` counts for each project. */
export async function workBeside(server: object, options: WorkOptions & { readonly signal: AbortSignal }): Promise<void> {
  const { access, metrics, projects } = servedBy(server);
  const { signal } = options;
  const working = new Map<string, Promise<void>>();
  const work = async (scope: Scope): Promise<void> => {
    const { project, release } = projects.hold(scope, true);
    try {
      await project.rath.work({ ...options, report: (state) => metrics.worker(nameOf(scope), state) });
    } finally {
      release();
    }
  };
  const own = work(projects.own);
  working.set(nameOf(projects.own), own);
  const look = async (): Promise<void> => {
    for await (const { tenant, project } of (await access()).keys({})) {
      const name = nameOf({ tenant, project });
      if (signal.aborted || working.has(name)) continue;
      const begun = work({ tenant, project }).catch((error: unknown) => {
        working.delete(name); // it is tried again
        projects.own.runtime.warn(`Nobody works for project ${project} of ${tenant}: ${textOfThrown(error)}`);
      });
      working.set(name, begun);
    }
  };
  const looking = setInterval(() => void look().catch(() => {}), lookMs); // what failed is tried at the next look
  void look().catch(() => {});
  try {
    await own;
    await Promise.all(working.values());
  } finally {
    clearInterval(looking);
  }
}

function nameOf({ tenant, project }: Scope): string {
  return JSON.stringify([tenant, project]);
}
