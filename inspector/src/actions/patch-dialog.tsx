/** Fetches what a session changed in its files, as one patch that `git apply` takes. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { count, plural } from "../../../src/wire/format.ts";
import { neutral } from "../../../src/wire/neutral.ts";
import { useClient } from "../client.tsx";
import { shortId } from "../parts/short-id.ts";
import { say } from "../shell/toasts.tsx";
import type { Asked } from "./action.ts";
import { ActionForm } from "./action-form.tsx";
import classes from "./actions.module.css";
import { PlaceLine } from "./place-line.tsx";
import { saveAnswer } from "./save-file.ts";

const most = 200;

export function PatchDialog({ place, close }: Asked) {
  const { sessions } = useClient();
  const changes = useQuery({
    queryKey: ["changes", place.session, place.event, most],
    queryFn: ({ signal }) => sessions.changes(place.session, { at: place.event, patches: true, limit: most, signal }).page(),
  });
  const doing = useMutation({
    mutationFn: async () => {
      const name = `${shortId(place.session)}.patch`;
      await saveAnswer(name, await sessions.patch(place.session, { at: place.event }));
      return name;
    },
    onSuccess: (name) => {
      say(`Saved ${name}: git apply ${name}`);
      close();
    },
  });
  const items = changes.data?.items ?? [];
  return (
    <ActionForm
      title="Save the changes as a patch"
      verb="Save"
      ready={items.length > 0}
      close={close}
      submit={() => doing.mutate()}
      busy={doing.isPending}
      error={doing.error ?? changes.error}
    >
      <PlaceLine place={place} />
      {changes.isPending && <p className="quiet">Reading what changed…</p>}
      {changes.data !== undefined && items.length === 0 && <p>This session changed no files.</p>}
      <ul className={classes["files"]}>
        {items.map(({ path, kind, lines }) => (
          <li key={path}>
            <code className="given clip" title={neutral(path)}>
              {neutral(path)}
            </code>
            <span className="quiet small">{kind}</span>
            <span className="small number">{lines !== undefined && `+${count(lines.added)} −${count(lines.removed)}`}</span>
          </li>
        ))}
      </ul>
      {changes.data?.next !== undefined && <p className="quiet">More than {plural(most, "file")}: the patch has all of them.</p>}
    </ActionForm>
  );
}
