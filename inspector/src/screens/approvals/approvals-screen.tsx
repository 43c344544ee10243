/** What needs me: everything that waits for a person, and how it is decided. */
import { useEffect, useMemo, useRef, useState } from "react";
import { type Client, type PendingResource, RathError } from "../../../../src/client/client.ts";
import { decidedText } from "../../../../src/wire/pending-line.ts";
import { useClient, useInfo } from "../../client.tsx";
import { Choice } from "../../desk/choice.tsx";
import desk from "../../desk/desk.module.css";
import { type Filters, type Search, useFilters } from "../../desk/filters.ts";
import { LiveSign } from "../../desk/live-sign.tsx";
import { stepped } from "../../desk/virtual-table.tsx";
import type { Connection } from "../../lineage/live-lineage.ts";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import { useNarrow } from "../../parts/use-narrow.ts";
import { useKeys } from "../../shell/keys.ts";
import { say } from "../../shell/toasts.tsx";
import classes from "./approvals.module.css";
import { DecidedList } from "./decided-list.tsx";
import { PendingDetail } from "./pending-detail.tsx";
import { PendingList } from "./pending-list.tsx";
import { usePendingOf } from "./pending-of.ts";
import { QuietWaits } from "./quiet-waits.tsx";
import { type ForPeople, isForCaller, isForPeople, useWaiting, type Waiting } from "./waiting.ts";
import { subjectOf } from "./words.ts";

export function ApprovalsScreen() {
  const filters = useFilters();
  const { search, set } = filters;
  const { session, whose, tab } = search;
  const { pending: calls } = useClient();
  const isNarrow = useNarrow();
  const { pending, connection, error, retry, settle } = useWaiting((gone) => tellGone(calls, gone));
  const { people, quiet } = useFiltered(search, pending);
  const ids = people.map(({ id }) => id);
  const place = useShown(filters, { pending, ids, isNarrow });
  const { asked, shown, choose } = place;
  const decided = useDecided(place, { ids, settle, isNarrow });
  useEffect(() => {
    document.title = people.length === 0 ? "Approvals · OpenRath" : `(${people.length}) Approvals · OpenRath`;
  }, [people.length]);
  useKeys([
    { keys: "j", does: "what waits next", act: () => choose(stepped(ids, shown?.id, 1)) },
    { keys: "k", does: "what waits before it", act: () => choose(stepped(ids, shown?.id, -1)) },
    { keys: "Enter", does: "details", act: () => document.getElementById("pending-title")?.focus() },
    { keys: "H", does: "what was decided, or what waits", act: () => set({ tab: tab === "decided" ? undefined : "decided" }) },
  ]);
  return (
    <div className={desk["screen"]}>
      <ApprovalsHead {...{ connection, search, set }} hidden={isNarrow && tab !== "decided" && shown !== undefined} />
      {tab === "decided" ? (
        <DecidedList session={session} />
      ) : pending === undefined ? (
        error === undefined ? (
          <Loading what="what waits" />
        ) : (
          <Failure error={error} retry={retry} />
        )
      ) : (
        <div className={classes["split"]} data-open={isNarrow && shown !== undefined}>
          <div className={classes["side"]}>
            {people.length === 0 ? (
              <NothingWaits showAll={whose === "all" ? undefined : () => set({ whose: "all" })} />
            ) : (
              <PendingList items={people} chosen={shown?.id} choose={choose} />
            )}
            <QuietWaits items={quiet as never} />
          </div>
          {shown !== undefined && <PendingDetail key={shown.id} pending={shown} decided={decided} back={() => choose(undefined)} />}
          {shown === undefined && asked !== undefined && !isNarrow && (
            <WaitsNoLonger isLast={people.length === 0} goOn={() => choose(undefined)} />
          )}
        </div>
      )}
    </div>
  );
}

/** Says what somebody else decided, where that can be read. */
function tellGone(calls: Client["pending"], gone: PendingResource): void {
  if (!isForPeople(gone)) return;
  calls.decision(gone.id).then(
    (decided) =>
      say(
        `${subjectOf(gone).slice(0, 80)}: ${decided.by === undefined ? "waits no longer" : `${decidedText(decided as never).slice(0, 80)} by ${decided.by}`}`,
      ),
    (reason: unknown) => {
      if (!RathError.is(reason)) throw reason;
    },
  );
}

/** What people are asked, as the filters have it, and what goes on by itself. */
function useFiltered({ session, kind, whose }: Search, pending: Waiting["pending"]) {
  const { caller } = useInfo();
  const behind = usePendingOf(session, pending);
  return useMemo(() => {
    const here = (pending ?? []).filter((one) => session === undefined || one.session === session || behind.has(one.id));
    const asked = here.filter(isForPeople).filter((one) => kind === undefined || one.kind === kind);
    const mine = asked.filter((one) => whose === "all" || isForCaller(one, caller));
    return { people: mine, quiet: here.filter((one) => !isForPeople(one)) };
  }, [pending, session, behind, kind, whose, caller]);
}

interface Shown {
  /** What is to be shown; it may wait no longer. */
  readonly asked: string | undefined;
  readonly shown: ForPeople | undefined;
  readonly choose: (id: string | undefined) => void;
}

interface ShownOf extends Pick<Waiting, "pending"> {
  readonly ids: readonly string[];
  readonly isNarrow: boolean;
}

/** Where nobody has chosen the first is shown, and stays: a key that is pressed just then must not decide another one. */
function useShown({ search, set }: Filters, { pending, ids, isNarrow }: ShownOf): Shown {
  const [first, setFirst] = useState<string>();
  const asked = search["pending"] ?? (isNarrow ? undefined : first);
  const shown = asked === undefined ? undefined : pending?.filter(isForPeople).find(({ id }) => id === asked);
  const isFirstHere = first !== undefined && (shown?.id !== first || ids.includes(first));
  const newFirst = isFirstHere ? first : ids[0];
  useEffect(() => {
    if (first !== newFirst) setFirst(newFirst);
  }, [first, newFirst]);
  const choose = (id: string | undefined): void => {
    setFirst(undefined);
    set({ pending: id });
  };
  return { asked, shown, choose };
}

interface DecidedOf extends Pick<Waiting, "settle"> {
  readonly ids: readonly string[];
  readonly isNarrow: boolean;
}

/** What is done once one was decided here: the one that now is in its place is shown. */
function useDecided({ asked, shown, choose }: Shown, { ids, settle, isNarrow }: DecidedOf): (id: string) => void {
  const order = useRef<readonly string[]>([]);
  order.current = ids;
  const current = useRef({ asked, index: 0 });
  const index = shown === undefined ? -1 : ids.indexOf(shown.id);
  current.current = { asked, index: index < 0 ? current.current.index : index };
  return (id) => {
    const { asked: now, index: before } = current.current;
    const left = order.current.filter((one) => one !== id);
    settle(id);
    // Whoever went on to another one meanwhile stays there.
    if (now === undefined || now === id) choose(isNarrow ? undefined : left[Math.min(before, left.length - 1)]);
  };
}

interface HeadProps extends Filters {
  readonly connection: Connection;
  readonly hidden: boolean;
}

function ApprovalsHead({ connection, search: { session, whose, kind, tab }, set, hidden }: HeadProps) {
  return (
    <header className={desk["head"]} hidden={hidden}>
      <h1>Approvals</h1>
      <LiveSign connection={connection} />
      <Choice
        label="Waiting or decided"
        options={["waiting", "decided"]}
        value={tab ?? "waiting"}
        set={(one) => set({ tab: one === "decided" ? one : undefined })}
        all={false}
      />
      <span className={desk["spring"]} />
      {session !== undefined && (
        <button type="button" onClick={() => set({ session: undefined })}>
          Of one session: show all
        </button>
      )}
      {tab !== "decided" && (
        <Choice label="Kind" options={["approval", "question", "unknown"]} value={kind} set={(one) => set({ kind: one })} />
      )}
      {tab !== "decided" && (
        <label className={desk["check"]}>
          <input type="checkbox" checked={whose !== "all"} onChange={() => set({ whose: whose === "all" ? undefined : "all" })} />
          For me
        </label>
      )}
    </header>
  );
}

function NothingWaits({ showAll }: { readonly showAll: (() => void) | undefined }) {
  return (
    <Empty title="Nothing needs you">
      <p>Approvals, questions and effects with an unknown outcome come here by themselves, as soon as they wait.</p>
      {showAll !== undefined && (
        <button type="button" onClick={showAll}>
          What waits for others
        </button>
      )}
    </Empty>
  );
}

function WaitsNoLonger({ isLast, goOn }: { readonly isLast: boolean; readonly goOn: () => void }) {
  return (
    <Empty title="It waits no longer">
      <p>Somebody decided it, or its time was over.</p>
      <button type="button" onClick={goOn}>
        {isLast ? "To all that waits" : "To what waits next"}
      </button>
    </Empty>
  );
}
