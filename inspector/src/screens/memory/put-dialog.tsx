/** Remembers something, or another version of something, as whoever looks. */
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { MemoryRecordResource } from "../../../../src/client/client.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useClient } from "../../client.tsx";
import { useDecision } from "./decide-memory.ts";
import { DecisionForm } from "./decision-form.tsx";
import classes from "./dialogs.module.css";

interface Props {
  /** The memory that gets another version. */
  readonly item?: MemoryRecordResource;
  readonly close: () => void;
}

export function PutDialog({ item, close }: Props) {
  const { memory } = useClient();
  const navigate = useNavigate();
  const [key, setKey] = useState(item?.key ?? "");
  const [content, setContent] = useState(item?.content ?? "");
  const [scope, setScope] = useState<"project" | "user">(item?.scope === "user" ? "user" : "project");
  const [expires, setExpires] = useState("");
  const [reason, setReason] = useState("");
  const { busy, error, send } = useDecision(
    async () => {
      const made = await memory.remember(key.trim(), {
        ...{ content, scope, reason: reason.trim(), based: item?.version ?? 0 },
        ...(expires.trim() === "" ? {} : { expires: expires.trim() }),
      });
      void navigate({ to: "/memory", search: (kept) => ({ ...kept, item: made.uri }) });
      return [made];
    },
    () => `Remembered ${key.slice(0, 100)}`,
    close,
  );
  const title = item === undefined ? "Remember something" : `Another version of ${neutral(item.key.slice(0, 80))}`;
  return (
    <DecisionForm
      title={title}
      verb="Remember"
      ready={key.trim() !== "" && content !== ""}
      {...{ reason, setReason, busy, error, send, close }}
    >
      {item === undefined && (
        <label className={classes["field"]}>
          Key
          <input
            className="mono"
            required
            maxLength={2000}
            placeholder="like billing/currency"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        </label>
      )}
      <label className={classes["field"]}>
        What is so
        <textarea rows={5} required value={content} onChange={(event) => setContent(event.target.value)} />
      </label>
      {item === undefined && (
        <label className={classes["field"]}>
          Whose
          <select value={scope} onChange={(event) => setScope(event.target.value === "user" ? "user" : "project")}>
            <option value="project">everybody's in the project</option>
            <option value="user">my own</option>
          </select>
        </label>
      )}
      <label className={classes["field"]}>
        Expires after (optional)
        <input
          placeholder="like 30d or 12h"
          pattern="\d{1,15}(\.\d{1,6})?(ms|s|m|h|d)"
          value={expires}
          onChange={(event) => setExpires(event.target.value)}
        />
      </label>
    </DecisionForm>
  );
}
