/** How a rerun goes on: what may happen again, which memory is read, and which workflow it is. */
import { useInfo } from "../client.tsx";
import { Field } from "./action-form.tsx";
import classes from "./actions.module.css";

export interface RerunSettings {
  /** Effects that may not be repeated happen without asking. */
  readonly live: boolean;
  /** Memory as it is now, not as it was. */
  readonly latest: boolean;
  /** Empty: the one on record. */
  readonly workflow: string;
}

interface Props {
  readonly settings: RerunSettings;
  readonly change: (settings: RerunSettings) => void;
}

export function RerunOptions({ settings, change }: Props) {
  const { workflows } = useInfo();
  return (
    <details className={classes["options"]}>
      <summary>How it goes on</summary>
      <div className={classes["form"]}>
        <label className={classes["check"]}>
          <input type="checkbox" checked={settings.live} onChange={(event) => change({ ...settings, live: event.target.checked })} />{" "}
          Effects that may not be repeated happen again; otherwise they ask first
        </label>
        <label className={classes["check"]}>
          <input type="checkbox" checked={settings.latest} onChange={(event) => change({ ...settings, latest: event.target.checked })} />{" "}
          Read memory as it is now, not as it was then
        </label>
        <Field label="Workflow">
          {(tied) => (
            <select {...tied} value={settings.workflow} onChange={(event) => change({ ...settings, workflow: event.target.value })}>
              <option value="">the one on record</option>
              {workflows.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
    </details>
  );
}
