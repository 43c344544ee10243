/** Writes a session as a file of whoever looks, in one of the formats that the server has. */
import { useState } from "react";
import type { ExportRequest } from "../../../src/client/client.ts";
import { size } from "../../../src/wire/format.ts";
import { useClient, useInfo } from "../client.tsx";
import { shortId } from "../parts/short-id.ts";
import { say } from "../shell/toasts.tsx";
import type { Asked } from "./action.ts";
import { ActionForm, Field } from "./action-form.tsx";
import classes from "./actions.module.css";
import { JobProgress, useJob } from "./job-progress.tsx";
import { PlaceLine } from "./place-line.tsx";
import { saveAnswer } from "./save-file.ts";

/** What each is for. A format without words is shown by its name. */
const words: Readonly<Record<string, string>> = {
  bundle: "Everything with its proofs: can be verified and imported elsewhere.",
  "lineage-jsonl": "One line for each branch: where it comes from and what became of it.",
  "chat-jsonl": "Conversations as chat messages, for training or evaluation.",
  otlp: "Spans of OpenTelemetry, for whatever shows traces.",
  atif: "Trajectories in the Agent Trajectory Interchange Format.",
  markdown: "The conversation, for people to read.",
  mermaid: "The graph as text that Mermaid draws.",
  dot: "The graph as text that Graphviz draws.",
  svg: "The graph as a picture.",
  html: "One page that shows the session without a server.",
};

export function ExportDialog({ place, close }: Asked) {
  const { jobs } = useClient();
  const { formats } = useInfo();
  const [format, setFormat] = useState(formats[0] ?? "bundle");
  const [content, setContent] = useState(false);
  const [alone, setAlone] = useState(false);
  const { job, error, busy, watch } = useJob();
  const asked = {
    format,
    ...(format === "otlp" ? { content } : {}),
    ...(format === "chat-jsonl" ? { branches: alone ? "session" : "all" } : {}),
  } as ExportRequest;
  const submit = (): void =>
    watch(
      () => jobs.export(place.session, asked, { at: place.event }),
      async (file, { files = [] }) => {
        const name = files[0]?.path ?? `${shortId(place.session)}.${format}`;
        say(`Saved ${name} (${size(await saveAnswer(name, file))})`);
        close();
      },
    );
  return (
    <ActionForm title="Export" verb="Export" close={close} submit={submit} busy={busy} error={error}>
      <PlaceLine place={place} />
      <Field label="Format" hint={words[format]}>
        {(tied) => (
          <select {...tied} value={format} onChange={(event) => setFormat(event.target.value)}>
            {formats.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </Field>
      {format === "otlp" && (
        <label className={classes["check"]}>
          <input type="checkbox" checked={content} onChange={(event) => setContent(event.target.checked)} /> With what was said, not only
          how long it took
        </label>
      )}
      {format === "chat-jsonl" && (
        <label className={classes["check"]}>
          <input type="checkbox" checked={alone} onChange={(event) => setAlone(event.target.checked)} /> Only this session, without its
          other branches
        </label>
      )}
      {busy && <JobProgress job={job} />}
    </ActionForm>
  );
}
