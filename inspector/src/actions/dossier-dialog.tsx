/** Has the dossier of a session written: a page for people, and the files beside it. */

import { useState } from "react";
import type { JobResource } from "../../../src/client/client.ts";
import { size } from "../../../src/wire/format.ts";
import { neutral } from "../../../src/wire/neutral.ts";
import { useClient } from "../client.tsx";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { sayFailure } from "../shell/toasts.tsx";
import type { Asked } from "./action.ts";
import { ActionForm } from "./action-form.tsx";
import classes from "./actions.module.css";
import { JobProgress, useJob } from "./job-progress.tsx";
import { PlaceLine } from "./place-line.tsx";
import { saveAnswer } from "./save-file.ts";

export function DossierDialog({ place, close }: Asked) {
  const { jobs } = useClient();
  const { job, error, busy, watch } = useJob();
  const [made, setMade] = useState<JobResource>();
  if (made !== undefined) return <DossierFiles made={made} close={close} />;
  const submit = (): void =>
    watch(
      () => jobs.dossier(place.session, { at: place.event }),
      async (file, done) => {
        await file.body?.cancel();
        setMade(done);
      },
    );
  return (
    <ActionForm title="Dossier" verb="Write it" close={close} submit={submit} busy={busy} error={error}>
      <PlaceLine place={place} />
      <p>One folder that answers for the session: a page for people, the bundle, and what was verified.</p>
      {busy && <JobProgress job={job} />}
    </ActionForm>
  );
}

function DossierFiles({ made, close }: { readonly made: JobResource; readonly close: () => void }) {
  const { jobs } = useClient();
  const save = (path: string): void => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    jobs
      .done(made.id, { file: path })
      .then((file) => saveAnswer(name, file))
      .catch(sayFailure);
  };
  const files = made.files ?? [];
  const saveAll = (): void => {
    for (const { path } of files) save(path);
  };
  return (
    <Dialog title="The dossier is written" close={close}>
      <ul className={classes["files"]}>
        {files.map(({ path, bytes }) => (
          <li key={path}>
            <code className="given clip" title={neutral(path)}>
              {neutral(path)}
            </code>
            <span className="quiet small number">{size(bytes)}</span>
            <button type="button" aria-label={`Save ${neutral(path)}`} onClick={() => save(path)}>
              <Icon name="download" />
            </button>
          </li>
        ))}
      </ul>
      <DialogActions>
        <button type="button" onClick={close}>
          Close
        </button>
        <button type="button" data-look="main" onClick={saveAll}>
          Save all
        </button>
      </DialogActions>
    </Dialog>
  );
}
