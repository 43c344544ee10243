/** Calls about jobs: exports and dossiers, asked for, watched and fetched. */
import { RathError } from "../session/errors.ts";
import type { Asked } from "../wire/api/asked.ts";
import type { ExportRequest, JobResource, jobResultQuery } from "../wire/api/job.ts";
import type { PlaceQuery } from "../wire/api/session-queries.ts";
import { pause } from "./backoff.ts";
import { at, type CallOptions } from "./call.ts";
import type { Connection } from "./connection.ts";

/** Which file of a job. */
export type JobResultQuery = Asked<typeof jobResultQuery>;

/** Which file of a job, and who is told how far it is. */
export interface JobDoneOptions extends CallOptions {
  /** One of the files of a dossier; its page when left out. */
  readonly file?: string | undefined;
  /** Told how far the job is, as often as it is looked at. */
  readonly onProgress?: ((job: JobResource) => void) | undefined;
}

/**
 * Calls about long work whose result is a file.
 *
 * @example
 * const { jobs } = connect({ url: "http://127.0.0.1:7284", key: token });
 * const job = await jobs.export("0192f3a4", { format: "bundle" });
 * const file = await jobs.done(job.id, { onProgress: ({ progress }) => console.log(progress.done) });
 * const bytes = new Uint8Array(await file.arrayBuffer());
 */
export interface JobCalls {
  /** Begins to write a session in a format, as it stands or stood. */
  export(session: string, asked: ExportRequest, query?: PlaceQuery & CallOptions): Promise<JobResource>;
  /** Begins to write the dossier of a session. */
  dossier(session: string, query?: PlaceQuery & CallOptions): Promise<JobResource>;
  /** How far a job is. */
  get(job: string, options?: CallOptions): Promise<JobResource>;
  /** The file that a job made, to be read as it comes; status 202 and no file where it is not done. */
  result(job: string, query?: JobResultQuery & CallOptions): Promise<Response>;
  /** Waits for a job, however long it takes, and gives the file that it made. */
  done(job: string, options?: JobDoneOptions): Promise<Response>;
  /** Ends a job, or removes what it made. */
  cancel(job: string, options?: CallOptions): Promise<void>;
}

/** Looked at often at first: most jobs are short. */
const [soonMs, laterMs] = [50, 2000];

export function jobCalls(connection: Connection): JobCalls {
  const get: JobCalls["get"] = async (job, options) => connection.get(at`/v1/jobs/${job}`, options);
  const result: JobCalls["result"] = async (job, query) => connection.download(at`/v1/jobs/${job}/result`, query);
  return {
    export: async (session, asked, query) => connection.post(at`/v1/sessions/${session}/exports`, asked, query),
    dossier: async (session, query) => connection.post(at`/v1/sessions/${session}/dossiers`, undefined, query),
    get,
    result,
    done: async (job, { file, onProgress, signal } = {}) => {
      for (let waitMs = soonMs; ; waitMs = Math.min(waitMs * 1.5, laterMs)) {
        const now = await get(job, { signal });
        onProgress?.(now);
        if (now.error !== undefined) throw new RathError("export.failed", now.error.message, { details: { job, code: now.error.code } });
        const found = now.status === "done" ? await result(job, { file, signal }) : undefined;
        if (found !== undefined && found.status !== 202) return found;
        // Another server answered, which makes it again.
        await found?.body?.cancel();
        await pause(waitMs, signal);
      }
    },
    cancel: async (job, options) => connection.delete(at`/v1/jobs/${job}`, options),
  };
}
