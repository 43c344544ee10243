/** Which branch of the lineage is on screen. */
import { neutral } from "../../../src/wire/neutral.ts";
import { useLineage } from "../lineage/use-lineage.tsx";
import { shortId } from "../parts/short-id.ts";
import { useBranches } from "./use-branches.ts";

/** Of very many branches the list has so many; others are chosen on the graph. */
const most = 200;

interface Props {
  readonly branch: string;
  readonly choose: (branch: string) => void;
}

export function BranchChoice({ branch, choose }: Props) {
  const { lineage } = useLineage();
  const branches = useBranches();
  const ids = lineage.sessions.slice(0, most);
  if (!ids.includes(branch)) ids.push(branch);
  return (
    <label>
      <span className="unseen">Branch</span>
      <select value={branch} onChange={(event) => choose(event.target.value)}>
        {ids.map((id) => (
          <option key={id} value={id}>
            {nameOf(branches.get(id)?.label, id)}
            {id === lineage.session ? " (this session)" : wordsOf(branches.get(id))}
          </option>
        ))}
      </select>
    </label>
  );
}

function nameOf(label: string | undefined, id: string): string {
  return label === undefined || label === "" || label === shortId(id) ? shortId(id) : `${neutral(label.slice(0, 60))} · ${shortId(id)}`;
}

function wordsOf(branch: { readonly status: string; readonly won: boolean; readonly kind: string } | undefined): string {
  if (branch === undefined) return "";
  if (branch.status === "rejected") return " (rejected)";
  return branch.kind === "nested" ? " (nested)" : branch.won ? " (won)" : "";
}
