/** What did it change? The files at a place, what is different in them, and who wrote each line. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import { usePlace } from "../../session/use-place.ts";
import { ChangedFiles } from "./changed-files.tsx";
import { comparedWith } from "./compared.ts";
import { FileTree } from "./file-tree.tsx";
import { FileView } from "./file-view.tsx";
import classes from "./files.module.css";
import { PlaceBar } from "./place-bar.tsx";
import { useChanges, useDirectory } from "./use-files.ts";
import { WritingSteps } from "./writing-steps.tsx";

export function FilesScreen() {
  const place = usePlace();
  const navigate = useNavigate();
  const { path, since } = useSearch({ strict: false }) as { path?: string; since?: string };
  const compared = comparedWith(place, since);
  const changes = useChanges(place, compared);
  const root = useDirectory(place, "");
  const choose = (chosen: string): void => void navigate({ to: ".", search: (kept: object) => ({ ...kept, path: chosen }) });
  if (place.row === undefined)
    return (
      <Empty title="There is no such event in this session">
        <button type="button" onClick={() => place.go(undefined)}>
          To the newest
        </button>
      </Empty>
    );
  if (root.error !== null) return <Failure error={root.error} retry={() => void root.refetch()} />;
  const isEmpty = root.data?.pages[0]?.items.length === 0 && changes.data?.pages[0]?.items.length === 0;
  const items = changes.data?.pages.flatMap((page) => page.items) ?? [];
  const shown = path ?? items[0]?.path;
  return (
    <div className={classes["screen"]}>
      <PlaceBar place={place} compared={compared} />
      {root.data === undefined ? (
        <Loading what="the files" />
      ) : isEmpty ? (
        <NoFiles isNewest={!place.named} />
      ) : (
        <div className={classes["parts"]}>
          <nav className={classes["side"]} aria-label="Files">
            <ChangedFiles changes={changes} items={items} chosen={shown} choose={choose} />
            <WritingSteps place={place} />
            <FileTree place={place} chosen={shown} choose={choose} />
          </nav>
          <section className={classes["main"]} aria-label="The file">
            {shown === undefined ? (
              <Empty title="Nothing was changed">Choose a file to read it as it was at this place.</Empty>
            ) : (
              <FileView key={shown} place={place} compared={compared} path={shown} items={items} />
            )}
          </section>
        </div>
      )}
    </div>
  );
}

function NoFiles({ isNewest }: { readonly isNewest: boolean }) {
  return (
    <Empty title={isNewest ? "This session has no files" : "There were no files yet"}>
      <p>
        A session has files once it is placed in a sandbox:{" "}
        <code>
          session.to("local", {"{"} workspace: "." {"}"})
        </code>{" "}
        takes those of a directory, and whatever its tools change there is recorded step by step.
      </p>
    </Empty>
  );
}
