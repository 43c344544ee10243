/** Begins a session, and a run on it where a workflow is chosen. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { RathError } from "../../../../src/client/client.ts";
import { useClient, useMay } from "../../client.tsx";
import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import { say } from "../../shell/toasts.tsx";
import classes from "./sessions-screen.module.css";

export function StartDialog({ close }: { readonly close: () => void }) {
  const { sessions, runs, workflows } = useClient();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const mayRun = useMay("runs:write");
  const { data = [] } = useQuery({
    queryKey: ["workflows"],
    queryFn: async ({ signal }) => (await workflows.list({ limit: 500, signal }).page()).items,
    enabled: mayRun,
  });
  const [workflow, setWorkflow] = useState("");
  const [title, setTitle] = useState("");
  const [message, setMessage] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const named = title.trim() === "" ? {} : { title: title.trim() };
  const chosen = data.find(({ name }) => name === workflow);

  const begin = async (): Promise<string> => {
    if (workflow !== "") return (await runs.start({ workflow, message, ...named })).session;
    return (await sessions.create({ ...(message === "" ? {} : { message }), ...named })).id;
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      const session = await begin();
      void queries.invalidateQueries({ queryKey: ["sessions"] });
      say(workflow === "" ? "The session is made" : `${workflow} is started`);
      close();
      await navigate({ to: "/s/$session/transcript", params: { session } });
    } catch (error) {
      setProblem(RathError.is(error) ? `${error.message} (${error.code})` : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Start" close={close}>
      <form className={classes["form"]} onSubmit={(event) => void submit(event)}>
        {mayRun && (
          <label>
            Workflow
            <select value={workflow} onChange={(event) => setWorkflow(event.target.value)}>
              <option value="">none: only a session</option>
              {data.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
            {chosen?.description !== undefined && chosen.description !== "" && (
              <span className="quiet small given">{chosen.description}</span>
            )}
          </label>
        )}
        <label>
          Message
          <textarea rows={4} value={message} required={workflow !== ""} onChange={(event) => setMessage(event.target.value)} />
        </label>
        <label>
          Title <span className="quiet small">may be left out</span>
          <input value={title} maxLength={200} onChange={(event) => setTitle(event.target.value)} />
        </label>
        {problem !== undefined && (
          <p role="alert" className={classes["problem"]}>
            {problem}
          </p>
        )}
        <DialogActions>
          <button type="button" onClick={close}>
            Leave it
          </button>
          <button type="submit" data-look="main" disabled={busy}>
            {workflow === "" ? "Make the session" : "Start the run"}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
