/** Whether the server lives, and whether it can do its work. Anybody may ask: who keeps watch has no key. */
import type { Rath } from "../../runtime/rath.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { workerProblem } from "../../runtime/worker.ts";
import { RathError } from "../../session/errors.ts";
import { textOfThrown } from "../../session/thrown.ts";
import { health as healthResource, readiness } from "../../wire/api/info.ts";
import { route } from "../route.ts";
import type { Served } from "../served.ts";

export const health = route({
  name: "health",
  at: "GET /v1/health",
  needs: "nothing",
  summary: "Whether the process answers",
  answer: healthResource,
  handle: async () => ({ status: "ok" as const }),
});

export const ready = route({
  name: "ready",
  at: "GET /v1/ready",
  needs: "nothing",
  summary: "Whether it should be sent calls: its store and memory answer, its worker works, and it is not stopping",
  answer: readiness,
  handle: async ({ server }) => {
    const problem = await problemOf(server);
    if (problem === undefined) return { status: "ready" as const };
    throw new RathError("server.busy", `This server is not ready: ${problem.replace(/\.$/, "")}. Ask another one, or again later.`, {
      retryable: true,
      details: { retryAfter: 1 },
    });
  },
});

/** Those who keep watch do not wait for long. A store waits longer for a database that is away, and says only then what is wrong. */
const patienceMs = 2000;

/** Whoever asks while it is looked at waits for the same answer: asking often costs no more. */
const looking = new WeakMap<Runtime, Promise<string | undefined>>();
/** What was wrong when it was last looked at: said while looking again takes its time. */
const found = new WeakMap<Runtime, string>();

async function problemOf({ projects, stopping }: Served): Promise<string | undefined> {
  const { rath, runtime } = projects.own;
  if (stopping.aborted) return "it is stopping";
  const worker = workerProblem(runtime, new Date());
  if (worker !== undefined) return "its worker does not look for work";
  const looked = looking.get(runtime) ?? look(rath, runtime);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    const silent = `its store or its memory has not answered for ${patienceMs / 1000} s`;
    timer = setTimeout(() => resolve(found.get(runtime) ?? silent), patienceMs);
  });
  try {
    return await Promise.race([looked, late]);
  } finally {
    clearTimeout(timer);
  }
}

function look(rath: Rath, runtime: Runtime): Promise<string | undefined> {
  const looked = rath
    .ready()
    .then(
      () => undefined,
      (error: unknown) => {
        const problem = problemText(error);
        // Who runs the server is told where and why, once for each outage.
        if (found.get(runtime) !== problem) runtime.warn(`This server is not ready: ${textOfThrown(error)}`);
        return problem;
      },
    )
    .then((problem) => {
      looking.delete(runtime);
      if (problem === undefined) found.delete(runtime);
      else found.set(runtime, problem);
      return problem;
    });
  looking.set(runtime, looked);
  return looked;
}

/** Anybody may ask: where the database is, is not for them. */
function problemText(error: unknown): string {
  if (RathError.is(error, "store.unavailable")) return "its store or its memory cannot be reached";
  return RathError.is(error, "rath.closed") || RathError.is(error, "store.closed") ? "it is closed" : "its store or its memory failed";
}
