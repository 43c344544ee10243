/** What was said and done: one branch as a conversation. */
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { plural } from "../../../../src/wire/format.ts";
import { useAct } from "../../actions/actions.tsx";
import { useMay } from "../../client.tsx";
import { useSeldom } from "../../desk/use-seldom.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { Empty } from "../../parts/empty.tsx";
import { BranchChoice } from "../../session/branch-choice.tsx";
import { usePlace } from "../../session/use-place.ts";
import { conversationOf } from "./conversation.ts";
import { Conversation } from "./conversation.tsx";
import classes from "./transcript.module.css";

const manyEvents = 20_000;

export function TranscriptScreen() {
  const { lineage, version } = useLineage();
  const place = usePlace();
  // All of a long one is gone through again: not for every event.
  const seldom = useSeldom(version, 400);
  const seen = lineage.count > manyEvents ? seldom : version;
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lineage grows in place, and its version says so
  const items = useMemo(() => conversationOf(lineage, place.branch, opened), [lineage, seen, place.branch, opened]);
  const toggle = (fork: number): void => {
    const changed = new Set(opened);
    if (!changed.delete(fork)) changed.add(fork);
    setOpened(changed);
  };
  return (
    <div className={classes["screen"]}>
      <div className={classes["bar"]}>
        <BranchChoice branch={place.branch} choose={(branch) => place.change({ branch, at: undefined })} />
        <span className="quiet small">{plural(items.length, "item")}</span>
        <BranchVerbs branch={place.branch} />
      </div>
      {place.named && place.chosen === undefined && (
        <p className={classes["lost"]} role="status">
          The event of the address is not on this lineage.{" "}
          <Link to="." search={(kept) => ({ ...kept, at: undefined })}>
            To the end
          </Link>
        </p>
      )}
      {items.length === 0 ? (
        <Empty title="Nothing was said on this branch">
          <p>Say something, or choose another branch.</p>
        </Empty>
      ) : (
        <Conversation key={place.branch} items={items} place={place} opened={opened} toggle={toggle} />
      )}
    </div>
  );
}

function BranchVerbs({ branch }: { readonly branch: string }) {
  const act = useAct();
  const mayWrite = useMay("sessions:write");
  const mayRun = useMay("runs:write");
  const place = { session: branch };
  return (
    <span className={classes["verbs"]}>
      {mayWrite && (
        <>
          <button type="button" onClick={() => act({ verb: "say", place })}>
            Say here…
          </button>
          <button type="button" onClick={() => act({ verb: "reject", place })}>
            Reject…
          </button>
        </>
      )}
      {mayRun && (
        <button type="button" onClick={() => act({ verb: "replay", place })}>
          Replay…
        </button>
      )}
      <button type="button" onClick={() => act({ verb: "patch", place })}>
        Patch…
      </button>
    </span>
  );
}
