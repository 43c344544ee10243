/** What does it believe, and why? All that is remembered, and one of them with where it comes from and where it went. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { useMay } from "../../client.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import { useKeys } from "../../shell/keys.ts";
import { ItemView } from "./item-view.tsx";
import classes from "./memory.module.css";
import { type Filters, MemoryFilters } from "./memory-filters.tsx";
import { MemoryList } from "./memory-list.tsx";
import { PutDialog } from "./put-dialog.tsx";
import { RollbackDialog } from "./rollback-dialog.tsx";
import { type Scope, scopes, useMemories } from "./use-memories.ts";
import { useSessionMemory } from "./use-session-memory.ts";

export function MemoryScreen() {
  const { item, q = "", scope, state = "published", session } = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = (search: Record<string, string | undefined>): void =>
    void navigate({ to: "/memory", search: (kept) => ({ ...kept, ...search }) });
  const { data, error, refetch } = useMemories({
    query: q.trim(),
    scope: scopes.includes(scope as Scope) ? (scope as Scope) : undefined,
    state: state === "published" || state === "retracted" ? state : undefined,
  });
  const { data: known, error: unknown } = useSessionMemory(session);
  const items = useMemo(() => {
    const all = data?.items ?? [];
    return session === undefined ? all : all.filter(({ uri }) => known?.touched.has(uri) === true);
  }, [data, session, known]);
  useEffect(() => {
    document.title = "Memory · OpenRath";
  }, []);
  const go = (by: number): void => {
    const at = items.findIndex(({ uri }) => uri === item);
    const next = items[at < 0 ? 0 : Math.max(0, Math.min(items.length - 1, at + by))];
    if (next !== undefined) change({ item: next.uri });
  };
  useKeys([
    { keys: "j", does: "next memory", act: () => go(1) },
    { keys: "k", does: "memory before", act: () => go(-1) },
    { keys: "/", does: "search memory", act: () => document.getElementById("memory-search")?.focus() },
  ]);
  const filters: Filters = { q, scope, state, session };
  const waiting = data === undefined || (session !== undefined && known === undefined);
  const problem = error ?? (session === undefined ? null : unknown);
  return (
    <div className={classes["screen"]} data-item={item !== undefined}>
      <section className={classes["aside"]} aria-label="Memories">
        <MemoryHead />
        <MemoryFilters filters={filters} change={change} />
        {problem !== null && <Failure error={problem} retry={() => void refetch()} />}
        {problem === null && waiting && <Loading what="memory" />}
        {problem === null && !waiting && items.length === 0 && <NothingFound filters={filters} />}
        {problem === null && !waiting && items.length > 0 && (
          <MemoryList items={items} chosen={item} touched={known?.touched} cut={(data?.cut ?? false) || known?.cut === true} />
        )}
      </section>
      <section className={classes["item"]} aria-label="The memory">
        {item === undefined ? (
          <Empty title="Choose a memory">
            <p>Its evidence, its versions and where it was used are shown here.</p>
          </Empty>
        ) : (
          <ItemView key={item} name={item} back={() => change({ item: undefined })} />
        )}
      </section>
    </div>
  );
}

/** The title, and what can be done with all of it. */
function MemoryHead() {
  const mayWrite = useMay("memory:write");
  const mayRollBack = useMay("people:act");
  const [asked, ask] = useState<"put" | "rollback">();
  const close = (): void => ask(undefined);
  return (
    <header className={classes["head"]}>
      <h1>Memory</h1>
      {mayWrite && (
        <span className={classes["verbs"]}>
          {mayRollBack && (
            <button type="button" onClick={() => ask("rollback")}>
              Roll back…
            </button>
          )}
          <button type="button" onClick={() => ask("put")}>
            Remember…
          </button>
        </span>
      )}
      {asked === "put" && <PutDialog close={close} />}
      {asked === "rollback" && <RollbackDialog close={close} />}
    </header>
  );
}

function NothingFound({ filters: { q, scope, session, state } }: { readonly filters: Filters }) {
  if (q !== "" || scope !== undefined || session !== undefined || state !== "published")
    return (
      <Empty title="No memory is like that">
        <p>Look for other words, or show the retracted ones, too.</p>
      </Empty>
    );
  return (
    <Empty title="No memory is published">
      <p>
        Sessions remember with <code>session.remember(…)</code>; people with the button above. Staged and retracted memories are hidden.
      </p>
    </Empty>
  );
}
