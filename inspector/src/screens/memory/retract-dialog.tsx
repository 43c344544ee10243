/** Takes a memory back with all that was made of it; says first what that is. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { MemoryRecordResource } from "../../../../src/client/client.ts";
import { plural } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useClient } from "../../client.tsx";
import { useDecision } from "./decide-memory.ts";
import { DecisionForm } from "./decision-form.tsx";
import { NamedMemories } from "./named-memories.tsx";

const mostAsked = 500;

export function RetractDialog({ item, close }: { readonly item: MemoryRecordResource; readonly close: () => void }) {
  const { memory } = useClient();
  const [reason, setReason] = useState("");
  const { data, error: unknown } = useQuery({
    queryKey: ["memory", "derived", item.uri],
    queryFn: ({ signal }) => memory.derivedFrom(item.uri, { limit: mostAsked, signal }).page(),
    staleTime: 0,
  });
  const { data: uses } = useQuery({
    queryKey: ["memory", "use count", item.uri],
    queryFn: ({ signal }) => memory.usedBy(item.uri, { limit: mostAsked, signal }).page(),
  });
  const { busy, error, send } = useDecision(
    async () => (await memory.retract(`${item.uri}@${item.version}`, { reason: reason.trim() })).items,
    (changed) => `Retracted ${plural(changed.length, "memory")}`,
    close,
  );
  const made = data?.items ?? [];
  return (
    <DecisionForm
      title={`Retract ${neutral(item.key.slice(0, 80))}`}
      verb="Retract"
      bad
      {...{ reason, setReason, busy, error, send, close }}
    >
      <p>Nobody recalls it any more, nor what was made of it. The versions stay on record; rolling back brings them back.</p>
      {unknown !== null && <p role="alert">What was made of it could not be read: {unknown.message.slice(0, 300)}</p>}
      {data === undefined && unknown === null && <p className="quiet">Reading what was made of it…</p>}
      {data !== undefined && made.length === 0 && <p>Nothing was made of it: it alone is retracted.</p>}
      {made.length > 0 && (
        <>
          <p>
            <strong>
              {plural(made.length, "memory")}
              {data?.next === undefined ? "" : " and more"}
            </strong>{" "}
            made of it {made.length === 1 ? "is" : "are"} retracted, too:
          </p>
          <NamedMemories items={made} />
        </>
      )}
      {uses !== undefined && uses.items.length > 0 && (
        <p className="quiet">
          It was recalled {uses.items.length}
          {uses.next === undefined ? "" : " or more"} {uses.items.length === 1 ? "time" : "times"}; what sessions did then stays as it is.
        </p>
      )}
    </DecisionForm>
  );
}
