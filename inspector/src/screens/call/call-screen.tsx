/** What exactly did the model read: the request of one model call, what of it was new, and what was replied. */
import { useMemo } from "react";
import { useAct } from "../../actions/actions.tsx";
import { useMay } from "../../client.tsx";
import { branchWith } from "../../lineage/branch-rows.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { Empty } from "../../parts/empty.tsx";
import { BranchChoice } from "../../session/branch-choice.tsx";
import { usePlace } from "../../session/use-place.ts";
import { useKeys } from "../../shell/keys.ts";
import classes from "./call.module.css";
import { CallDetail } from "./call-detail.tsx";
import { CallList } from "./call-list.tsx";
import { callAt, modelCallsOn } from "./model-calls.ts";

export function CallScreen() {
  const { lineage, version } = useLineage();
  const place = usePlace();
  const act = useAct();
  const mayRun = useMay("runs:write");
  // A place beside the branch is looked at on its own one.
  const branch = branchWith(lineage, place.branch, place.chosen) ?? lineage.session;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lineage grows in place, and its version says so
  const calls = useMemo(() => modelCallsOn(lineage, branch), [lineage, version, branch]);
  const index = callAt(lineage, calls, place.chosen);
  const chosen = calls[index];
  const choose = (wanted: number): void => {
    const call = calls[wanted]?.call;
    if (call !== undefined) place.change({ at: lineage.id(call) });
  };
  const rerun = (): void => {
    if (chosen !== undefined) act({ verb: "rerun", place: { session: lineage.branch(chosen.call), event: lineage.id(chosen.call) } });
  };
  useKeys([
    { keys: "[", does: "model call before", act: () => choose(index - 1) },
    { keys: "]", does: "next model call", act: () => choose(index + 1) },
    ...(mayRun ? [{ keys: "r", does: "rerun with other instructions or another model", act: rerun }] : []),
  ]);
  return (
    <div className={classes["screen"]}>
      <div className={classes["side"]}>
        <div className={classes["sideBar"]}>
          <BranchChoice branch={branch} choose={(chosenBranch) => place.change({ branch: chosenBranch, at: undefined })} />
        </div>
        <CallList calls={calls} chosen={index} choose={choose} />
      </div>
      {chosen === undefined ? (
        <Empty title="No model was asked on this branch">
          <p>Choose another branch, or run a workflow with an agent.</p>
        </Empty>
      ) : (
        <CallDetail
          key={chosen.call}
          chosen={chosen}
          before={index > 0 ? () => choose(index - 1) : undefined}
          next={index < calls.length - 1 ? () => choose(index + 1) : undefined}
          rerun={mayRun ? rerun : undefined}
        />
      )}
    </div>
  );
}
