/** What of it is listed: words, whose it is, whether it still holds. All of it is in the address. */
import { useTyped } from "../../desk/use-typed.ts";
import { Icon } from "../../parts/icon.tsx";
import { shortId } from "../../parts/short-id.ts";
import classes from "./memory.module.css";
import { scopes } from "./use-memories.ts";

export interface Filters {
  readonly q: string;
  readonly scope: string | undefined;
  readonly state: string;
  readonly session: string | undefined;
}

interface Props {
  readonly filters: Filters;
  readonly change: (search: Record<string, string | undefined>) => void;
}

export function MemoryFilters({ filters: { q, scope, state, session }, change }: Props) {
  const [words, setWords] = useTyped(q, (typed) => change({ q: typed.trim() === "" ? undefined : typed }));
  return (
    <search className={classes["filters"]}>
      <input
        id="memory-search"
        type="search"
        aria-label="Search memory"
        placeholder="Search by words…"
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <select aria-label="Whose" value={scope ?? ""} onChange={(event) => change({ scope: event.target.value || undefined })}>
        <option value="">Every scope</option>
        {scopes.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <select aria-label="State" value={state} onChange={(event) => change({ state: event.target.value })}>
        <option value="published">Published</option>
        <option value="retracted">Retracted</option>
        <option value="all">All</option>
      </select>
      {session !== undefined && (
        <button type="button" className={classes["chip"]} onClick={() => change({ session: undefined })}>
          read or written by <code>{shortId(session)}</code> <Icon name="close" />
          <span className="unseen">: show those of all sessions</span>
        </button>
      )}
    </search>
  );
}
