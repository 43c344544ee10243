/** Whether the server lives, and whether it can do its work. Anybody may ask, and is told no more than that. */
import { workerProblem } from "../../runtime/worker.ts";
import { RathError } from "../../session/errors.ts";
import { health as healthResource, readiness } from "../../wire/api/info.ts";
import { type Call, route } from "../route.ts";

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
  handle: async (call) => {
    if (await isReady(call)) return { status: "ready" as const };
    throw new RathError("server.busy", "This server is not ready: ask another one, or again later.", {
      retryable: true,
      details: { retryAfter: 1 },
    });
  },
});

/** Whoever asks while it is looked at waits for the same answer: asking often costs no more. */
const looking = new WeakMap<object, Promise<boolean>>();

async function isReady({ server }: Call): Promise<boolean> {
  const { rath, runtime } = server.projects.own;
  if (server.stopping.aborted || workerProblem(runtime, new Date()) !== undefined) return false;
  const looked = looking.get(runtime) ?? rath.ready().then(ok, notOk);
  looking.set(runtime, looked);
  try {
    return await looked;
  } finally {
    looking.delete(runtime);
  }
}

const ok = (): boolean => true;
const notOk = (): boolean => false;
