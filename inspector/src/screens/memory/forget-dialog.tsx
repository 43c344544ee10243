/** Ends a memory; what was made of it stays. */
import { useState } from "react";
import type { MemoryRecordResource } from "../../../../src/client/client.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useClient } from "../../client.tsx";
import { useDecision } from "./decide-memory.ts";
import { DecisionForm } from "./decision-form.tsx";

export function ForgetDialog({ item, close }: { readonly item: MemoryRecordResource; readonly close: () => void }) {
  const { memory } = useClient();
  const [reason, setReason] = useState("");
  const { busy, error, send } = useDecision(
    async () => (await memory.forget(item.uri, { reason: reason.trim() })).items,
    () => `Forgot ${item.key.slice(0, 100)}`,
    close,
  );
  return (
    <DecisionForm title={`Forget ${neutral(item.key.slice(0, 80))}`} verb="Forget" {...{ reason, setReason, busy, error, send, close }}>
      <p>
        Nobody recalls it any more. Other memories that were made of it stay: if it was wrong, retract it instead, which takes those back,
        too.
      </p>
    </DecisionForm>
  );
}
