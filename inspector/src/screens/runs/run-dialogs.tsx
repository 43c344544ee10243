/** What can be done to a run: end it, have it go on, tell it something. */
import { type FormEvent, type ReactNode, useState } from "react";
import { RathError, type RunDetail } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import { JsonField, parsed } from "../../desk/json-field.tsx";
import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import { say } from "../../shell/toasts.tsx";
import classes from "./runs.module.css";

export type RunVerb = "cancel" | "resume" | "signal";

interface Props {
  readonly run: RunDetail;
  readonly close: () => void;
  readonly done: () => void;
}

export function RunDialog({ verb, ...props }: Props & { readonly verb: RunVerb }) {
  if (verb === "cancel") return <CancelDialog {...props} />;
  return verb === "resume" ? <ResumeDialog {...props} /> : <SignalDialog {...props} />;
}

interface QuestionProps extends Props {
  readonly title: string;
  readonly verb: string;
  readonly isBad?: boolean;
  readonly isReady?: boolean;
  readonly act: () => Promise<unknown>;
  readonly said: string;
  readonly children: ReactNode;
}

function RunQuestion({ title, verb, isBad = false, isReady = true, act, said, children, close, done }: QuestionProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await act();
      say(said);
      close();
      done();
    } catch (error) {
      setProblem(RathError.is(error) ? `${error.message} (${error.code})` : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} close={close}>
      <form className={classes["form"]} onSubmit={(event) => void submit(event)}>
        {children}
        {problem !== undefined && (
          <p role="alert" className={`${classes["problem"]} given`}>
            {problem.slice(0, 2000)}
          </p>
        )}
        <DialogActions>
          <button type="button" onClick={close}>
            Leave it
          </button>
          <button type="submit" data-look={isBad ? "bad" : "main"} disabled={busy || !isReady}>
            {verb}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function CancelDialog(props: Props) {
  const { runs } = useClient();
  const [reason, setReason] = useState("");
  const { id, workflow } = props.run;
  return (
    <RunQuestion
      {...props}
      title={`Cancel the run of ${workflow}`}
      verb="Cancel the run"
      isBad
      act={() => runs.cancel(id, reason.trim() === "" ? {} : { reason: reason.trim() })}
      said="It is asked to end"
    >
      <p>It ends where it stands, and so do the runs it has started. That cannot be taken back.</p>
      <label>
        Reason <span className="quiet small">goes on record; may be left out</span>
        <input maxLength={2000} value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
    </RunQuestion>
  );
}

const divergences = {
  "": "as the worker does it",
  pause: "pause, and say what differs",
  fork: "go on in a fork",
  fail: "fail",
} as const;

function ResumeDialog(props: Props) {
  const { runs } = useClient();
  const [onDivergence, setDivergence] = useState<keyof typeof divergences>("");
  const { id, workflow } = props.run;
  return (
    <RunQuestion
      {...props}
      title={`Resume the run of ${workflow}`}
      verb="Resume"
      act={() => runs.resume(id, onDivergence === "" ? {} : { onDivergence })}
      said="It goes on with the next worker"
    >
      <p>It is due at once: whoever works on the store takes it next, and goes on from its record.</p>
      <label>
        Where it does not ask again for what it recorded
        <select value={onDivergence} onChange={(event) => setDivergence(event.target.value as keyof typeof divergences)}>
          {Object.entries(divergences).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
        {onDivergence !== "" && <span className="quiet small">Then this server executes it.</span>}
      </label>
    </RunQuestion>
  );
}

function SignalDialog(props: Props) {
  const { runs } = useClient();
  const { id, workflow, outcome } = props.run;
  const awaited = outcome.pending?.find((one) => one.kind === "signal");
  const [signal, setSignal] = useState(awaited?.kind === "signal" ? awaited.signal : "");
  const [text, setText] = useState("{}");
  const found = parsed(text);
  return (
    <RunQuestion
      {...props}
      title={`Send a signal to the run of ${workflow}`}
      verb="Send"
      isReady={signal !== "" && "value" in found}
      act={() => runs.send(id, { signal, data: "value" in found ? found.value : undefined })}
      said={`The signal ${signal.slice(0, 60)} is sent`}
    >
      <label>
        Signal
        <input required maxLength={200} value={signal} onChange={(event) => setSignal(event.target.value)} />
      </label>
      <JsonField label="What it says" {...{ text, setText }} rows={4} />
    </RunQuestion>
  );
}
