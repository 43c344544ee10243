/** Since when a memory is there, by whom, and of what. */
import { Link } from "@tanstack/react-router";
import type { MemoryRecordResource } from "../../../../src/client/client.ts";
import { ago } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { EventLink } from "../../parts/event-link.tsx";
import { shortId } from "../../parts/short-id.ts";
import { when } from "../../parts/when.ts";
import classes from "./item-view.module.css";

const mostNamed = 20;

export function ItemFacts({ item }: { readonly item: MemoryRecordResource }) {
  const { scope, owner, origin, by, at, session, event, revision, expires, from } = item;
  return (
    <dl className={classes["facts"]}>
      <dt>Written by</dt>
      <dd className="given">{neutral(by.slice(0, 200))}</dd>
      <dt>At</dt>
      <dd>
        <time dateTime={at}>{when(at)}</time> <span className="quiet">({ago(at, new Date())})</span>
      </dd>
      <dt>In</dt>
      <dd>
        {session === undefined ? (
          "no session: a person decided it"
        ) : (
          <>
            event <EventLink session={session} event={event} /> of session <code>{shortId(session)}</code>
          </>
        )}
      </dd>
      <dt>Belongs to</dt>
      <dd className="given">
        {scope}
        {owner !== undefined && ` ${neutral(owner.slice(0, 200))}`}
      </dd>
      <dt>Comes from</dt>
      <dd>
        {origin}, at revision {revision}
      </dd>
      {expires !== undefined && (
        <>
          <dt>Expires</dt>
          <dd>{when(expires)}</dd>
        </>
      )}
      {from.length > 0 && (
        <>
          <dt>Read before it</dt>
          <dd className={classes["from"]}>
            {from.slice(0, mostNamed).map((name) => (
              <Link key={name} to="/memory" search={(kept) => ({ ...kept, item: name.replace(/@\d+$/, "") })} className="given">
                {neutral(name.replace("memory://", "").slice(0, 120))}
              </Link>
            ))}
            {from.length > mostNamed && <span className="quiet">and {from.length - mostNamed} more</span>}
          </dd>
        </>
      )}
    </dl>
  );
}
