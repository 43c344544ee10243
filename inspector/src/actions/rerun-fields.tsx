/** What is changed in a rerun: chosen, and edited. */
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { useClient } from "../client.tsx";
import { Field } from "./action-form.tsx";
import classes from "./actions.module.css";
import type { Editable } from "./rerun-change.ts";

export type What = "message" | "more" | "result" | "reply" | "model" | "instructions" | "nothing";

const words: Readonly<Record<What, string>> = {
  message: "the message",
  more: "something more is said here",
  result: "the result",
  reply: "the reply of the model",
  model: "the model",
  instructions: "the instructions of the agent",
  nothing: "nothing: run it again as it was",
};

export interface Drafted {
  /** Of a message, a result or a reply. */
  readonly value: Editable;
  readonly more: string;
  readonly instructions: string;
  readonly model: string;
}

interface Props {
  readonly choices: readonly What[];
  readonly what: What;
  readonly choose: (what: What) => void;
  readonly draft: Drafted;
  readonly change: (draft: Drafted) => void;
}

export function RerunFields({ choices, what, choose, draft, change }: Props) {
  return (
    <>
      <Field label="Change">
        {(tied) => (
          <select {...tied} value={what} onChange={(event) => choose(event.target.value as What)}>
            {choices.map((choice) => (
              <option key={choice} value={choice}>
                {words[choice]}
              </option>
            ))}
          </select>
        )}
      </Field>
      {(what === "message" || what === "result" || what === "reply") && (
        <ValueField label={labels[what]} value={draft.value} textOnly={what !== "result"} change={(value) => change({ ...draft, value })} />
      )}
      {what === "more" && (
        <Field label="Message of the user">
          {(tied) => <textarea {...tied} value={draft.more} onChange={(event) => change({ ...draft, more: event.target.value })} />}
        </Field>
      )}
      {what === "instructions" && (
        <Field label="Instructions" hint="They count for this agent from this call on.">
          {(tied) => (
            <textarea
              {...tied}
              rows={10}
              value={draft.instructions}
              onChange={(event) => change({ ...draft, instructions: event.target.value })}
            />
          )}
        </Field>
      )}
      {what === "model" && <ModelField model={draft.model} change={(model) => change({ ...draft, model })} />}
    </>
  );
}

const labels = { message: "Message of the user", result: "Result", reply: "Reply" } as const;

interface ValueProps {
  readonly label: string;
  readonly value: Editable;
  readonly textOnly: boolean;
  readonly change: (value: Editable) => void;
}

function ValueField({ label, value, textOnly, change }: ValueProps) {
  return (
    <>
      <Field label={label}>
        {(tied) => (
          <textarea
            {...tied}
            rows={10}
            data-mono={value.json}
            value={value.text}
            spellCheck={!value.json}
            onChange={(event) => change({ ...value, text: event.target.value })}
          />
        )}
      </Field>
      {!textOnly && (
        <label className={classes["check"]}>
          <input type="checkbox" checked={value.json} onChange={(event) => change({ ...value, json: event.target.checked })} /> It is JSON
        </label>
      )}
    </>
  );
}

function ModelField({ model, change }: { readonly model: string; readonly change: (model: string) => void }) {
  const { workflows } = useClient();
  const list = useId();
  const { data = [] } = useQuery({
    queryKey: ["models"],
    queryFn: async ({ signal }) => {
      const names = new Set<string>();
      for await (const { agents } of workflows.list({ signal }))
        for (const agent of agents) for (const name of agent.model.split(", ")) names.add(name);
      return [...names].sort();
    },
  });
  return (
    <Field label="Model" hint="One of those that the workflow has, or provider/model. It counts for this agent from this call on.">
      {(tied) => (
        <>
          {" "}
          <input {...tied} value={model} list={list} onChange={(event) => change(event.target.value)} spellCheck={false} />
          <datalist id={list}>
            {data.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
