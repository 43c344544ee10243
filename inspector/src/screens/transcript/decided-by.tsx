/** Who answered what waited, and why. */
import { useEvent } from "../../lineage/use-event.ts";

interface Answer {
  readonly approve?: boolean;
  readonly reason?: string;
}

export function DecidedBy({ answer }: { readonly answer: string }) {
  const { data } = useEvent(answer);
  if (data === undefined) return null;
  const { approve, reason } = (data.data ?? {}) as Answer;
  return (
    <p className="small">
      {approve === undefined ? "answered" : approve ? "approved" : "denied"} by <strong className="given">{data.by}</strong>
      {reason !== undefined && <span className="given">: {reason.slice(0, 1000)}</span>}
    </p>
  );
}
