/** Records that a branch is not wanted, and why. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useClient } from "../client.tsx";
import { shortId } from "../parts/short-id.ts";
import { say } from "../shell/toasts.tsx";
import type { Asked } from "./action.ts";
import { ActionForm, Field } from "./action-form.tsx";
import { PlaceLine } from "./place-line.tsx";

export function RejectDialog({ place, close }: Asked) {
  const { sessions } = useClient();
  const [reason, setReason] = useState("");
  const doing = useMutation({
    mutationFn: () => sessions.reject(place.session, reason.trim()),
    onSuccess: ({ id }) => {
      say(id === place.session ? "Rejected" : `Somebody is at work on it: the rejection is on its fork ${shortId(id)}`);
      close();
    },
  });
  return (
    <ActionForm
      title="Reject this branch"
      verb="Reject"
      dangerous
      ready={reason.trim() !== ""}
      close={close}
      submit={() => doing.mutate()}
      busy={doing.isPending}
      error={doing.error}
    >
      <PlaceLine place={{ session: place.session }} />
      <Field label="Reason" hint="It stays on record with your name. Nothing is removed.">
        {(tied) => <textarea {...tied} value={reason} maxLength={1000} onChange={(event) => setReason(event.target.value)} />}
      </Field>
    </ActionForm>
  );
}
