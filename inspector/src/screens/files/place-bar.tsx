/** Which place the files are shown at, what they are compared with, and the patch of it all. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { count } from "../../../../src/wire/format.ts";
import { useClient } from "../../client.tsx";
import { useEventLines } from "../../lineage/event-lines.ts";
import { Icon } from "../../parts/icon.tsx";
import type { LookedPlace } from "../../session/use-place.ts";
import { useKeys } from "../../shell/keys.ts";
import { say, sayFailure } from "../../shell/toasts.tsx";
import type { Compared } from "./compared.ts";
import { downloadPatch } from "./download-patch.ts";
import classes from "./files.module.css";

export function PlaceBar({ place, compared }: { readonly place: LookedPlace; readonly compared: Compared }) {
  const { lineage, row = 0, named, session } = place;
  const navigate = useNavigate();
  const { sessions } = useClient();
  const [isBusy, setBusy] = useState(false);
  const id = lineage.id(row);
  const line = useEventLines([id])(id);
  const compare = (since: string | undefined): void =>
    void navigate({ to: ".", search: (kept: object) => ({ ...kept, since }), replace: true });
  const download = async (): Promise<void> => {
    setBusy(true);
    await downloadPatch(sessions, { session, at: place.at, from: compared.with === "before" ? compared.from : undefined }).then(
      say,
      sayFailure,
    );
    setBusy(false);
  };
  useKeys([
    { keys: "d", does: "compare with just before, or with all", act: () => compare(compared.with === "taken" ? "before" : undefined) },
  ]);
  return (
    <header className={classes["bar"]}>
      <h2 className="unseen">Files</h2>
      <p className={classes["where"]}>
        <strong>{named ? `Step ${count(lineage.step(row))}` : "Newest"}</strong>
        <span className="quiet small">{named ? "after" : `step ${count(lineage.step(row))}, after`}</span>
        <Link to="/s/$session/graph" params={{ session: lineage.session }} search={(kept) => ({ ...kept, at: id })} className="clip given">
          {line?.slice(0, 300) ?? lineage.kind(row)}
        </Link>
        {named && (
          <button type="button" data-look="plain" onClick={() => place.go(undefined)}>
            To the newest
          </button>
        )}
      </p>
      <label className={classes["compared"]}>
        Compared with
        <select value={compared.with} onChange={(event) => compare(event.target.value === "before" ? "before" : undefined)}>
          <option value="taken">what the session began with</option>
          <option value="before">the step before</option>
        </select>
      </label>
      <button type="button" disabled={isBusy} onClick={() => void download()}>
        <Icon name="download" /> Download patch
      </button>
    </header>
  );
}
