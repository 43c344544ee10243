/** Makes all memory what it was at a revision or a time; of a revision it says first what that changes. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { plural } from "../../../../src/wire/format.ts";
import { useClient } from "../../client.tsx";
import { useDecision } from "./decide-memory.ts";
import { DecisionForm } from "./decision-form.tsx";
import classes from "./dialogs.module.css";
import { NamedMemories } from "./named-memories.tsx";
import { rollbackPreview } from "./rollback-preview.ts";
import { listed } from "./use-memories.ts";

export function RollbackDialog({ close }: { readonly close: () => void }) {
  const { memory } = useClient();
  const [to, setTo] = useState("");
  const [reason, setReason] = useState("");
  const wanted = placeOf(to);
  const { busy, error, send } = useDecision(
    async () => (await memory.rollback({ to: wanted ?? 0, reason: reason.trim() })).items,
    (changed) => (changed.length === 0 ? "Memory is as it was then already" : `Rolled back ${plural(changed.length, "memory")}`),
    close,
  );
  return (
    <DecisionForm
      title="Roll memory back"
      verb="Roll back"
      bad
      ready={wanted !== undefined}
      {...{ reason, setReason, busy, error, send, close }}
    >
      <p>All memory, whoever it belongs to, becomes what it was, by new versions. Nothing is lost: this can be rolled back, too.</p>
      <label className={classes["field"]}>
        To a revision, or a time
        <input
          className="mono"
          required
          placeholder="12, or 2026-01-31T12:00:00Z"
          value={to}
          onChange={(event) => setTo(event.target.value)}
        />
      </label>
      {typeof wanted === "number" && <Preview revision={wanted} />}
      {typeof wanted === "string" && (
        <p className="quiet">What a time changes is known when it is done: name a revision to see it before.</p>
      )}
    </DecisionForm>
  );
}

function placeOf(text: string): number | string | undefined {
  const given = text.trim();
  if (/^\d{1,15}$/.test(given)) return Number(given);
  const time = /^\d{4}-\d\d-\d\d/.test(given) ? new Date(given) : undefined;
  return time === undefined || Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

function Preview({ revision }: { readonly revision: number }) {
  const { memory } = useClient();
  const { data, error } = useQuery({
    queryKey: ["memory", "rollback", revision],
    queryFn: async ({ signal }) => {
      const [then, now] = await Promise.all([listed(memory, { asOf: revision, signal }), listed(memory, { signal })]);
      return { ...rollbackPreview(then.items, now.items), cut: then.cut || now.cut };
    },
    staleTime: 0,
  });
  if (error !== null) return <p role="alert">{error.message.slice(0, 300)}</p>;
  if (data === undefined) return <p className="quiet">Reading what was remembered then…</p>;
  const { restored, retracted, cut } = data;
  if (restored.length + retracted.length === 0) return <p>Nothing would change{cut ? " among the first 5 000" : ""}.</p>;
  return (
    <>
      {restored.length > 0 && (
        <>
          <p>
            <strong>{plural(restored.length, "memory")}</strong> would be as {restored.length === 1 ? "it was" : "they were"}:
          </p>
          <NamedMemories items={restored.map(({ before }) => before)} />
        </>
      )}
      {retracted.length > 0 && (
        <>
          <p>
            <strong>{plural(retracted.length, "memory")}</strong> would be retracted:
          </p>
          <NamedMemories items={retracted} />
        </>
      )}
      {cut && <p className="quiet">There are more: only the first 5 000 memories were compared here.</p>}
    </>
  );
}
