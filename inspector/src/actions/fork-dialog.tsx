/** Begins a branch, and goes there. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useClient } from "../client.tsx";
import { shortId } from "../parts/short-id.ts";
import { say } from "../shell/toasts.tsx";
import type { Asked } from "./action.ts";
import { ActionForm, Field } from "./action-form.tsx";
import { PlaceLine } from "./place-line.tsx";
import { useGo } from "./use-go.ts";

export function ForkDialog({ place, close }: Asked) {
  const { sessions } = useClient();
  const go = useGo();
  const [label, setLabel] = useState("");
  const doing = useMutation({
    mutationFn: () => sessions.fork(place.session, { at: place.event, ...(label.trim() === "" ? {} : { label: label.trim() }) }),
    onSuccess: ({ id, head }) => {
      say(`Forked: ${shortId(id)}`);
      close();
      go(id, head);
    },
  });
  return (
    <ActionForm title="Fork" verb="Fork" close={close} submit={() => doing.mutate()} busy={doing.isPending} error={doing.error}>
      <PlaceLine place={place} />
      <Field label="Label" hint="Optional: what this branch is for.">
        {(tied) => <input {...tied} value={label} maxLength={200} onChange={(event) => setLabel(event.target.value)} />}
      </Field>
    </ActionForm>
  );
}
