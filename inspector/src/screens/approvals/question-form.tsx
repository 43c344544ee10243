/** The answer to a question, as a form where its schema is simple, else as JSON. */
import { type FormEvent, type RefObject, useState } from "react";
import { JsonField, parsed } from "../../desk/json-field.tsx";
import { JsonText } from "../../desk/json-text.tsx";
import { type AnswerField, answerFields, answerOf, type Given } from "./answer-fields.ts";
import { AnswerInput } from "./answer-input.tsx";
import classes from "./approvals.module.css";
import type { Deciding } from "./decide.ts";
import { Problem } from "./deny-dialog.tsx";

interface Props {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly deciding: Deciding;
  /** May be focused by a key. */
  readonly form: RefObject<HTMLFormElement | null>;
}

export function QuestionForm({ schema, deciding: { send, busy, problem }, form }: Props) {
  const fields = answerFields(schema);
  const [given, setGiven] = useState<Given>(() => initial(fields ?? []));
  const [text, setText] = useState("");
  const [missing, setMissing] = useState<string>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found = fields === undefined ? jsonAnswer(text) : answerOf(fields, given);
    setMissing("problem" in found ? found.problem : undefined);
    if ("answer" in found && !busy) void send({ answer: found.answer }, "Answered");
  };
  return (
    <form ref={form} className={classes["form"]} onSubmit={submit}>
      {fields === undefined ? (
        <JsonField label="Answer" {...{ text, setText }} rows={6} />
      ) : (
        fields.map((field) => (
          <AnswerInput
            key={field.name}
            field={field}
            value={given[field.name]}
            set={(value) => setGiven((before) => ({ ...before, [field.name]: value }))}
          />
        ))
      )}
      {fields === undefined && Object.keys(schema).length > 0 && (
        <details>
          <summary>What an answer must be</summary>
          <div className={classes["json"]}>
            <JsonText value={schema} />
          </div>
        </details>
      )}
      <Problem text={missing ?? problem} />
      <div className={classes["actions"]}>
        <button type="submit" data-look="main" disabled={busy}>
          Answer
        </button>
      </div>
    </form>
  );
}

function initial(fields: readonly AnswerField[]): Given {
  const known = fields.flatMap(({ name, initial: value }) =>
    value === undefined || value === null ? [] : [[name, typeof value === "boolean" ? value : String(value)] as const],
  );
  return Object.fromEntries(known);
}

function jsonAnswer(text: string) {
  const found = parsed(text);
  return "problem" in found ? found : { answer: found.value };
}
