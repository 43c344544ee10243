/** One event as it is on record, as a tree. */
import { count, shortEvent } from "../../../../src/wire/format.ts";
import { saveFile } from "../../actions/save-file.ts";
import { useEvent } from "../../lineage/use-event.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Icon } from "../../parts/icon.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { Loading } from "../../parts/loading.tsx";
import classes from "./raw.module.css";

export function RawEvent({ id }: { readonly id: string | undefined }) {
  const { data, error, refetch } = useEvent(id);
  if (id === undefined)
    return (
      <aside className={classes["event"]}>
        <Empty title="Choose an event">
          <p>All of it is shown here, as it is on record.</p>
        </Empty>
      </aside>
    );
  if (error !== null)
    return (
      <aside className={classes["event"]}>
        <Failure error={error} retry={() => void refetch()} />
      </aside>
    );
  if (data === undefined)
    return (
      <aside className={classes["event"]}>
        <Loading what="the event" />
      </aside>
    );
  const text = (): string => JSON.stringify(data, undefined, 2);
  return (
    <aside className={classes["event"]} aria-label="The chosen event">
      <header className={classes["eventBar"]}>
        <h2>{data.kind}</h2>
        <span className="quiet small">step {count(data.step)}</span>
        <span className={classes["eventVerbs"]}>
          <CopyButton text={data.id} what="the id" />
          <button
            type="button"
            className="small"
            onClick={() => saveFile(`${shortEvent(data.id)}.json`, new Blob([text()], { type: "application/json" }))}
          >
            <Icon name="download" /> JSON
          </button>
        </span>
      </header>
      <div className={classes["tree"]}>
        <JsonTree value={data} open={3} />
      </div>
    </aside>
  );
}
