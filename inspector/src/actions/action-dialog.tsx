/** The question of a verb. */
import type { Action, Asked } from "./action.ts";
import { DossierDialog } from "./dossier-dialog.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { ForkDialog } from "./fork-dialog.tsx";
import { PatchDialog } from "./patch-dialog.tsx";
import { RejectDialog } from "./reject-dialog.tsx";
import { ReplayDialog } from "./replay-dialog.tsx";
import { RerunDialog } from "./rerun-dialog.tsx";
import { SayDialog } from "./say-dialog.tsx";

export function ActionDialog({ action, close }: { readonly action: Action; readonly close: () => void }) {
  const asked: Asked = { place: action.place, close };
  switch (action.verb) {
    case "say":
      return <SayDialog {...asked} />;
    case "fork":
      return <ForkDialog {...asked} />;
    case "rerun":
      return <RerunDialog {...asked} />;
    case "replay":
      return <ReplayDialog {...asked} />;
    case "reject":
      return <RejectDialog {...asked} />;
    case "export":
      return <ExportDialog {...asked} />;
    case "dossier":
      return <DossierDialog {...asked} />;
    case "patch":
      return <PatchDialog {...asked} />;
    default:
      return action.verb satisfies never;
  }
}
