/** Executes the workflow again against its record, and shows step by step whether it does the same. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { ReplayResource } from "../../../src/client/client.ts";
import { count, plural } from "../../../src/wire/format.ts";
import { neutralJson } from "../../../src/wire/neutral.ts";
import { useClient, useInfo } from "../client.tsx";
import { Badge } from "../parts/badge.tsx";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { GivenText } from "../parts/given-text.tsx";
import { stepTones, stepWords } from "../parts/step-result.ts";
import type { Asked } from "./action.ts";
import { ActionForm, Field } from "./action-form.tsx";
import classes from "./actions.module.css";
import { PlaceLine } from "./place-line.tsx";
import { useGo } from "./use-go.ts";

export function ReplayDialog({ place, close }: Asked) {
  const { sessions } = useClient();
  const { workflows } = useInfo();
  const [workflow, setWorkflow] = useState("");
  const doing = useMutation({ mutationFn: () => sessions.replay(place.session, workflow === "" ? {} : { workflow }) });
  if (doing.data !== undefined) return <Replayed report={doing.data} close={close} />;
  return (
    <ActionForm title="Replay" verb="Replay" close={close} submit={() => doing.mutate()} busy={doing.isPending} error={doing.error}>
      <PlaceLine place={{ session: place.session }} />
      <p>Executes the newest run of this session again and compares every step with the record. Nothing is called and nothing written.</p>
      <Field label="Workflow">
        {(tied) => (
          <select {...tied} value={workflow} onChange={(event) => setWorkflow(event.target.value)}>
            <option value="">the one on record</option>
            {workflows.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </Field>
    </ActionForm>
  );
}

/** Of many steps those around the first that is not the same. */
const shown = 300;

function Replayed({ report, close }: { readonly report: ReplayResource; readonly close: () => void }) {
  const go = useGo();
  const { steps, identical, workflow, field, expected, got, at } = report;
  const first = steps.findIndex(({ result }) => result === "differs" || result === "not-reached");
  const start = Math.max(0, Math.min(first < 0 ? 0 : first - shown / 3, steps.length - shown));
  return (
    <Dialog title={identical ? "Identical" : "It differs"} close={close} wide>
      <div className={classes["done"]}>
        <p role="status">
          <Badge tone={identical ? "ok" : "bad"}>{identical ? "identical" : "divergence"}</Badge> {workflow} was executed again:{" "}
          {identical ? `${plural(steps.length, "step")} as recorded.` : `the record says something else at step ${at?.step ?? "?"}.`}
        </p>
        {!identical && (
          <>
            <p>
              <code>{at?.kind}</code> {field !== undefined && <>differs in {<code className="given">{field}</code>}</>}
            </p>
            <div className={classes["pair"]}>
              <div>
                <h3>On record</h3>
                <GivenText mono text={textOf(expected)} />
              </div>
              <div>
                <h3>Now</h3>
                <GivenText mono text={textOf(got)} />
              </div>
            </div>
          </>
        )}
        <ol className={classes["steps"]} aria-label="Result of each step">
          {start > 0 && <li className="quiet">{plural(start, "earlier step")} left out</li>}
          {steps.slice(start, start + shown).map(({ event, session, step, kind, result }) => (
            <li key={event}>
              <Badge tone={stepTones[result]}>{stepWords[result]}</Badge>
              <code className="clip">{kind}</code>
              <button
                type="button"
                data-look="plain"
                className="small number"
                onClick={() => {
                  close();
                  go(session, event);
                }}
              >
                step {count(step)}
              </button>
            </li>
          ))}
          {start + shown < steps.length && <li className="quiet">{plural(steps.length - start - shown, "later step")} left out</li>}
        </ol>
        <DialogActions>
          <button type="button" data-look="main" onClick={close}>
            Close
          </button>
        </DialogActions>
      </div>
    </Dialog>
  );
}

function textOf(value: unknown): string {
  return value === undefined ? "nothing" : typeof value === "string" ? value : neutralJson(value, 2);
}
