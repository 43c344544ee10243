/** Memories by their keys, as many as somebody reads before deciding. */
import type { MemoryRecordResource } from "../../../../src/client/client.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import classes from "./dialogs.module.css";

const mostShown = 30;

export function NamedMemories({ items }: { readonly items: readonly MemoryRecordResource[] }) {
  return (
    <ul className={classes["named"]}>
      {items.slice(0, mostShown).map(({ uri, key, content, version }) => (
        <li key={uri}>
          <strong className="given">{neutral(key.slice(0, 100))}</strong> <span className="quiet small">v{version}</span>{" "}
          <span className="quiet given">{neutral(content.slice(0, 120))}</span>
        </li>
      ))}
      {items.length > mostShown && <li className="quiet">and {items.length - mostShown} more</li>}
    </ul>
  );
}
