/** Says something to a session, and perhaps has a workflow go on with it. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useInfo, useMay } from "../client.tsx";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { shortId } from "../parts/short-id.ts";
import { say } from "../shell/toasts.tsx";
import type { Asked } from "./action.ts";
import { ActionForm, Field } from "./action-form.tsx";
import classes from "./actions.module.css";
import { PlaceLine } from "./place-line.tsx";
import { useGo } from "./use-go.ts";

export function SayDialog({ place, close }: Asked) {
  const { sessions, runs } = useClient();
  const { workflows } = useInfo();
  const mayRun = useMay("runs:write");
  const [text, setText] = useState("");
  const [workflow, setWorkflow] = useState("");
  // What was said stays said where the run did not start: only that is tried again.
  const [said, setSaid] = useState<string>();
  const doing = useMutation({
    mutationFn: async () => {
      const session = said ?? (await sessions.say(place.session, text)).id;
      setSaid(session);
      if (workflow !== "") await runs.start({ workflow, session });
      return session;
    },
    onSuccess: (session) => {
      if (session !== place.session) return;
      say(workflow === "" ? "Said" : `Said, and ${workflow} goes on with it`);
      close();
    },
  });
  if (doing.data !== undefined && doing.data !== place.session) return <WentElsewhere session={doing.data} close={close} />;
  return (
    <ActionForm
      title="Say something"
      verb={workflow === "" ? "Say" : "Say and run"}
      ready={text.trim() !== ""}
      close={close}
      submit={() => doing.mutate()}
      busy={doing.isPending}
      error={doing.error}
    >
      <PlaceLine place={{ session: place.session }} />
      <Field label="Message of the user" hint="It is added behind this event.">
        {(tied) => <textarea {...tied} value={text} onChange={(event) => setText(event.target.value)} readOnly={said !== undefined} />}
      </Field>
      {mayRun && workflows.length > 0 && (
        <Field label="Then run">
          {(tied) => (
            <select {...tied} value={workflow} onChange={(event) => setWorkflow(event.target.value)}>
              <option value="">nothing</option>
              {workflows.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
      )}
    </ActionForm>
  );
}

function WentElsewhere({ session, close }: { readonly session: string; readonly close: () => void }) {
  const go = useGo();
  return (
    <Dialog title="It went on as a fork" close={close}>
      <div className={classes["done"]}>
        <p>
          Somebody else is at work on this session. What you said is on record on an implicit fork of it, <code>{shortId(session)}</code>.
        </p>
        <DialogActions>
          <button type="button" onClick={close}>
            Stay here
          </button>
          <button
            type="button"
            data-look="main"
            onClick={() => {
              close();
              go(session);
            }}
          >
            Go to the fork
          </button>
        </DialogActions>
      </div>
    </Dialog>
  );
}
