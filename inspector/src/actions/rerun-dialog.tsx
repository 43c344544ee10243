/** Reruns on a fork with one thing changed: a message, a result, a model or instructions. What is equal is reused. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { EventResource, RecordedRequest, RerunAsked } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";
import { useEvent } from "../lineage/use-event.ts";
import { useLineage } from "../lineage/use-lineage.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Failure } from "../parts/failure.tsx";
import { Loading } from "../parts/loading.tsx";
import type { Asked } from "./action.ts";
import { ActionForm } from "./action-form.tsx";
import { PlaceLine } from "./place-line.tsx";
import { RerunBegun } from "./rerun-begun.tsx";
import { type Changeable, changeableAt, type Editable, editable, outputOf } from "./rerun-change.ts";
import { type Drafted, RerunFields, type What } from "./rerun-fields.tsx";
import { RerunOptions, type RerunSettings } from "./rerun-options.tsx";
import { useRequest } from "./use-request.ts";

export function RerunDialog(asked: Asked) {
  const { place, close } = asked;
  const { lineage } = useLineage();
  const row = place.event === undefined ? lineage.newestOn(place.session) : lineage.rowOf(place.event);
  const found: Changeable =
    row === undefined ? { what: "nothing", why: "This place is not among the events that were read." } : changeableAt(lineage, row);
  const shown = found.what === "message" ? place.event : found.what === "nothing" ? undefined : found.result;
  const event = useEvent(shown);
  const request = useRequest(place.session, found.what === "call" ? found.call : undefined);
  const error = event.error ?? request.error;
  if (error !== null)
    return (
      <Dialog title="Rerun" close={close}>
        <Failure error={error} retry={() => void (event.error === null ? request : event).refetch()} />
      </Dialog>
    );
  if ((shown !== undefined && event.data === undefined) || (found.what === "call" && request.data === undefined))
    return (
      <Dialog title="Rerun" close={close}>
        <Loading what="what can be changed" />
      </Dialog>
    );
  return (
    <RerunForm
      {...asked}
      found={found}
      step={row === undefined ? undefined : lineage.step(row)}
      event={event.data}
      request={request.data}
    />
  );
}

interface FormProps extends Asked {
  readonly found: Changeable;
  readonly step: number | undefined;
  readonly event: EventResource | undefined;
  readonly request: RecordedRequest | undefined;
}

const whats: Readonly<Record<Changeable["what"], readonly What[]>> = {
  message: ["message", "nothing"],
  call: ["instructions", "model", "reply", "nothing"],
  result: ["result", "nothing"],
  nothing: ["more", "nothing"],
};

function RerunForm({ place, close, found, step, event, request }: FormProps) {
  const { sessions } = useClient();
  const current: Editable = event === undefined ? { text: "", json: false } : editable(event);
  const choices = whats[found.what].filter((what) => event !== undefined || (what !== "reply" && what !== "result"));
  const [what, setWhat] = useState<What>(choices[0] ?? "nothing");
  const [draft, setDraft] = useState<Drafted>({
    value: current,
    more: "",
    instructions: request?.request.instructions ?? "",
    model: request?.request.model ?? "",
  });
  const [settings, setSettings] = useState<RerunSettings>({ live: false, latest: false, workflow: "" });
  const doing = useMutation({
    mutationFn: () => {
      const { live, latest, workflow } = settings;
      const body: RerunAsked = {
        ...changeOf(what, draft, found, step),
        effects: live ? "live" : "ask",
        memory: latest ? "latest" : "recorded",
        ...(workflow === "" ? {} : { workflow }),
      };
      return sessions.rerun(place.session, body, found.what === "message" ? { at: found.at } : {});
    },
  });
  if (doing.data !== undefined) return <RerunBegun begun={doing.data} close={close} />;
  return (
    <ActionForm
      title="Rerun with something changed"
      verb="Rerun"
      wide
      ready={isChanged(what, draft, current, request)}
      close={close}
      submit={() => doing.mutate()}
      busy={doing.isPending}
      error={doing.error}
    >
      <PlaceLine place={place} />
      {found.what === "nothing" && <p className="quiet">{found.why}</p>}
      <RerunFields choices={choices} what={what} choose={setWhat} draft={draft} change={setDraft} />
      <RerunOptions settings={settings} change={setSettings} />
    </ActionForm>
  );
}

/** What is sent for the change. The step says which run is meant, where a session has several. */
function changeOf(what: What, draft: Drafted, found: Changeable, step: number | undefined): Pick<RerunAsked, "change" | "from"> {
  const from = step === undefined || found.what === "message" ? {} : { from: step };
  const named = found.what === "call" ? found.call : "";
  switch (what) {
    case "message":
      return { change: { message: draft.value.text } };
    case "more":
      return { ...from, change: { message: draft.more } };
    case "result":
    case "reply":
      return { ...from, change: { event: (found as { readonly result: string }).result, output: outputOf(draft.value) } };
    case "model":
      return { ...from, change: { event: named, model: draft.model.trim() } };
    case "instructions":
      return { ...from, change: { event: named, instructions: draft.instructions } };
    case "nothing":
      return from;
    default:
      return what satisfies never;
  }
}

function isChanged(
  what: What,
  { value, more, instructions, model }: Drafted,
  current: Editable,
  asked: RecordedRequest | undefined,
): boolean {
  switch (what) {
    case "message":
      return value.text !== current.text && value.text.trim() !== "";
    case "more":
      return more.trim() !== "";
    case "result":
    case "reply":
      return value.text !== current.text || value.json !== current.json;
    case "model":
      return model.trim() !== "" && model.trim() !== asked?.request.model;
    case "instructions":
      return instructions !== asked?.request.instructions;
    case "nothing":
      return true;
    default:
      return what satisfies never;
  }
}
