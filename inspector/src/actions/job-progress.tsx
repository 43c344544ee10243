/** A job that makes files: begun, watched, and ended with the dialog. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { JobResource } from "../../../src/client/client.ts";
import { plural } from "../../../src/wire/format.ts";
import { useClient } from "../client.tsx";

export interface Watched {
  readonly job: JobResource | undefined;
  readonly error: unknown;
  readonly busy: boolean;
  /** Begins one, and gives its file when it is done. */
  readonly watch: (begin: () => Promise<JobResource>, then: (file: Response, job: JobResource) => Promise<void>) => void;
}

export function useJob(): Watched {
  const { jobs } = useClient();
  const [job, setJob] = useState<JobResource>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const leaving = useRef<AbortController>(undefined);
  useEffect(() => () => leaving.current?.abort(), []);
  const watch: Watched["watch"] = useCallback(
    (begin, then) => {
      const abort = new AbortController();
      leaving.current?.abort();
      leaving.current = abort;
      const { signal } = abort;
      const work = async (): Promise<void> => {
        let last = await begin();
        setJob(last);
        const file = await jobs.done(last.id, {
          signal,
          onProgress: (now) => {
            last = now;
            setJob(now);
          },
        });
        await then(file, last);
      };
      setBusy(true);
      setError(undefined);
      setJob(undefined);
      work()
        .catch((problem: unknown) => {
          if (!signal.aborted) setError(problem);
        })
        .finally(() => {
          if (!signal.aborted) setBusy(false);
        });
    },
    [jobs],
  );
  return { job, error, busy, watch };
}

export function JobProgress({ job }: { readonly job: JobResource | undefined }) {
  return (
    <p role="status" className="quiet">
      <progress aria-label="How far it is" /> {job === undefined || job.status === "queued" ? "waiting for its turn" : job.status}
      {job !== undefined && job.progress.done > 0 && `, ${plural(job.progress.done, "event")} gone through`}
    </p>
  );
}
