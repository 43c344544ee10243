/** The newest statement, to be kept elsewhere; and what was erased, by whom. */
import { useEffect, useMemo } from "react";
import type { VerificationResource } from "../../../../src/client/client.ts";
import { plural } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { shortId } from "../../parts/short-id.ts";
import classes from "./verify.module.css";

export function Statement({ found, session }: { readonly found: VerificationResource; readonly session: string }) {
  return (
    <>
      {found.erasures.length > 0 && (
        <section aria-labelledby="erasures">
          <h2 id="erasures">What was erased</h2>
          <ul>
            {found.erasures.slice(0, 100).map(({ entry, by, at, reason, events }) => (
              <li key={entry} className="given">
                {plural(events, "event")} by {neutral(by.slice(0, 100))} on {at.slice(0, 10)}: {neutral(reason.slice(0, 500))}
              </li>
            ))}
          </ul>
        </section>
      )}
      {found.ok && found.statement !== undefined && <Anchor statement={found.statement} session={session} />}
    </>
  );
}

function Anchor({ statement, session }: { readonly statement: string; readonly session: string }) {
  const url = useMemo(() => URL.createObjectURL(new Blob([`${statement}\n`], { type: "application/jsonl" })), [statement]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  return (
    <section aria-labelledby="statement">
      <h2 id="statement">Keep this elsewhere</h2>
      <p className="quiet">
        Whoever can write the store could cut the record back to an older statement. Kept where they cannot write, the newest one shows that
        later: give it as the anchor.
      </p>
      <p className={classes["statement"]}>
        <a href={url} download={`anchor-${shortId(session)}.jsonl`}>
          <Icon name="download" /> Download the anchor
        </a>
        <CopyButton text={statement} what="the statement" />
      </p>
    </section>
  );
}
