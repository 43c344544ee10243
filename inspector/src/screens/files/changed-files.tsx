/** The files that are different. */

import type { ChangedFile } from "../../../../src/client/client.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { Failure } from "../../parts/failure.tsx";
import classes from "./files.module.css";
import type { Changes } from "./use-files.ts";

interface Props {
  readonly changes: Changes;
  readonly items: readonly ChangedFile[];
  readonly chosen: string | undefined;
  readonly choose: (path: string) => void;
}

export function ChangedFiles({ changes, items, chosen, choose }: Props) {
  if (changes.error !== null) return <Failure error={changes.error} retry={() => void changes.refetch()} />;
  return (
    <section aria-label="Changed files">
      <h3>
        Changed <span className="quiet">{changes.data === undefined ? "" : `${items.length}${changes.hasNextPage ? "+" : ""}`}</span>
      </h3>
      {changes.data !== undefined && items.length === 0 && <p className="quiet small">Nothing is different.</p>}
      <ul>
        {items.map(({ path, kind }) => (
          <li key={path}>
            <button
              type="button"
              data-look="plain"
              className={classes["entry"]}
              aria-current={path === chosen}
              title={neutral(path)}
              onClick={() => choose(path)}
            >
              <ChangeSign kind={kind} />
              <span className="clip given">{neutral(path)}</span>
            </button>
          </li>
        ))}
      </ul>
      {changes.hasNextPage && (
        <button type="button" onClick={() => void changes.fetchNextPage()}>
          More
        </button>
      )}
    </section>
  );
}

const signs = { added: "A", changed: "C", removed: "R" } as const;

function ChangeSign({ kind }: { readonly kind: ChangedFile["kind"] }) {
  return (
    <span className={classes["sign"]} data-kind={kind} title={kind}>
      <span aria-hidden="true">{signs[kind]}</span>
      <span className="unseen">{kind}</span>
    </span>
  );
}
