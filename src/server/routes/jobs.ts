/** Exports and dossiers, as jobs: asked for, watched, fetched. Any server of the store knows every job, since its id says what it makes. */
import { z } from "@hono/zod-openapi";
import { heedErasures } from "../../runtime/heed-erasures.ts";
import { RathError } from "../../session/errors.ts";
import { exportRequest, jobId, jobResource, jobResultQuery } from "../../wire/api/job.ts";
import { atPlace, ofSession } from "../../wire/api/place.ts";
import { plainJson } from "../../wire/neutral.ts";
import { isPage, type JobName, readJobId } from "../job-name.ts";
import { openSession } from "../open-session.ts";
import { type Call, route } from "../route.ts";

const ofJob = z.object({ job: jobId });

export const startExport = route({
  name: "startExport",
  at: "POST /v1/sessions/{session}/exports",
  needs: "sessions:read",
  summary: "Write a session in a format, as it stands or stood: a job that makes one file",
  params: ofSession,
  query: z.strictObject(atPlace),
  body: exportRequest,
  answer: jobResource,
  status: 202,
  handle: async (call) => begin(call, { kind: "export", options: call.body }),
});

export const startDossier = route({
  name: "startDossier",
  at: "POST /v1/sessions/{session}/dossiers",
  needs: "sessions:read",
  summary: "Write the dossier of a session: a job that makes a page for people and the files beside it",
  params: ofSession,
  query: z.strictObject(atPlace),
  answer: jobResource,
  status: 202,
  handle: async (call) => begin(call, { kind: "dossier", options: {} }),
});

type Starting = Call<{ readonly session: string }, { readonly at?: string | undefined }>;
type Wanted =
  | Pick<Extract<JobName, { kind: "export" }>, "kind" | "options">
  | Pick<Extract<JobName, { kind: "dossier" }>, "kind" | "options">;

async function begin(call: Starting, wanted: Wanted) {
  const asOf = await nowIn(call);
  const session = await openSession(call, call.params.session, call.query.at);
  // A page for somebody who may not execute workflows is another page: what is made for one is shown to all who ask for the same.
  const replay = isPage(wanted) ? { replay: mayReplay(call) } : {};
  return call.server.jobs.begin(call, { ...wanted, session: session.id, head: session.head, ...replay }, session, asOf);
}

export const getJob = route({
  name: "getJob",
  at: "GET /v1/jobs/{job}",
  needs: "sessions:read",
  summary: "How far a job is. A server that does not know it begins it",
  params: ofJob,
  answer: jobResource,
  handle: async (call) => begun(call, readJobId(call.params.job)),
});

export const getJobResult = route({
  name: "getJobResult",
  at: "GET /v1/jobs/{job}/result",
  needs: "sessions:read",
  summary: "The file that a job made, or one of those of a dossier; 202 and how far it is, when it is not done",
  params: ofJob,
  query: jobResultQuery,
  media: "application/octet-stream",
  orStatus: 202,
  orAnswer: jobResource,
  long: true,
  handle: async (call) => {
    const name = readJobId(call.params.job);
    const job = await begun(call, name);
    if (job.error !== undefined) throw new RathError("export.failed", job.error.message, { details: { code: job.error.code } });
    if (job.status !== "done") return new Response(plainJson(job), { status: 202, headers: { "content-type": "application/json" } });
    const file = await call.server.jobs.file(call, name, call.query.file);
    if (file === undefined)
      throw new RathError(
        "request.not-found",
        `The job made no file of this name: it made ${job.files?.map(({ path }) => path).join(", ")}.`,
      );
    return file;
  },
});

export const cancelJob = route({
  name: "cancelJob",
  at: "DELETE /v1/jobs/{job}",
  needs: "sessions:read",
  summary: "End a job, or remove what it made from this server",
  params: ofJob,
  status: 204,
  handle: async (call) => {
    await call.server.jobs.cancel(call, readJobId(call.params.job));
    return undefined;
  },
});

/** What was made before somebody erased something, here or in another process, is made again. The session is looked up in the caller's own project: a job of another one cannot be begun. */
async function begun(call: Call, name: JobName) {
  const asOf = await nowIn(call);
  const known = call.server.jobs.find(call, name, asOf.erasures);
  if (known !== undefined) return known;
  if (name.replay === true && !mayReplay(call))
    throw new RathError("access.forbidden", "This key may not do that: this page executes a workflow, and needs runs:write.", {
      details: { needs: "runs:write" },
    });
  const session = await openSession(call, name.session, name.head);
  if (session.id !== name.session || session.head !== name.head)
    throw new RathError("request.not-found", "There is no such job: its session does not have this place.");
  return call.server.jobs.begin(call, name, session, asOf);
}

/** Asked for first: what is erased or written after that is not in what was opened, or makes it be made again. */
async function nowIn({ runtime }: Pick<Call, "runtime">) {
  return { erasures: await heedErasures(runtime), place: await (await runtime.store()).fedTo() };
}

function mayReplay({ caller }: Pick<Call, "caller">): boolean {
  return caller.permissions.has("runs:write");
}
