/** The items of a conversation, of which only those on screen are in the page. Begins at the end, or at the chosen event. */
import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { useAct } from "../../actions/actions.tsx";
import { useMay } from "../../client.tsx";
import { useEventBodies } from "../../lineage/event-bodies.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import type { LookedPlace } from "../../session/use-place.ts";
import { useKeys } from "../../shell/keys.ts";
import { marked, markHere } from "../../shell/marked.ts";
import { say } from "../../shell/toasts.tsx";
import { type Item, itemAt } from "./conversation.ts";
import { ConversationItem } from "./conversation-item.tsx";
import { copyPlace } from "./copy-place.ts";
import { BeingWritten } from "./reply-item.tsx";
import classes from "./transcript.module.css";
import { useWritten, type Written } from "./use-written.ts";

interface Props {
  readonly items: readonly Item[];
  readonly place: LookedPlace;
  readonly opened: ReadonlySet<number>;
  readonly toggle: (fork: number) => void;
}

const heights: Readonly<Record<Item["type"], number>> = {
  ...{ message: 96, reply: 110, effect: 84, compression: 40, divider: 34, nested: 40, note: 30 },
};
/** So near to the end it counts as the end, in pixels. */
const nearEnd = 40;

export function Conversation({ items, place, opened, toggle }: Props) {
  const { lineage, live } = useLineage();
  const scroller = useRef<HTMLDivElement>(null);
  const chosen = useMemo(() => (place.chosen === undefined ? -1 : itemAt(items, place.chosen)), [items, place.chosen]);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => heights[items[index]?.type ?? "note"],
    getItemKey: (index) => items[index]?.row ?? index,
    overscan: 4,
    paddingStart: 8,
    paddingEnd: 24,
  });
  const shown = virtual.getVirtualItems();
  const ids = useMemo(() => shown.flatMap(({ index }) => idsOf(items[index])).map((row) => lineage.id(row)), [shown, items, lineage]);
  const bodies = useEventBodies(ids);
  const written = useWritten(live);
  const isAtEnd = useScrolled({ scroller, virtual, items, named: place.chosen, chosen, version: written.version });
  const choose = (index: number): void => {
    const item = items[index];
    if (item === undefined) return;
    isAtEnd.current = index === items.length - 1;
    place.change({ at: lineage.id(item.row) });
  };
  useConversationKeys({ items, chosen, choose, place });
  return (
    <div
      ref={scroller}
      className={classes["scroller"]}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < nearEnd;
      }}
    >
      <ol className={classes["list"]} style={{ height: virtual.getTotalSize() }} aria-label="Conversation">
        {shown.map(({ index, key, start }) => {
          const item = items[index];
          if (item === undefined) return null;
          return (
            <li
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              data-origin={item.origin}
              aria-current={index === chosen ? "true" : undefined}
              aria-setsize={items.length}
              aria-posinset={index + 1}
              className={classes["item"]}
              style={{ transform: `translateY(${start}px)`, paddingInlineStart: `${item.depth * 1.25}rem` }}
            >
              <ConversationItem
                item={item}
                bodies={bodies}
                written={written.textOf(lineage.branch(item.row))}
                isOpen={opened.has(item.row)}
                toggle={() => toggle(item.row)}
                choose={() => choose(index)}
              />
            </li>
          );
        })}
      </ol>
      <Unrecorded items={items} written={written} branch={place.branch} />
    </div>
  );
}

function idsOf(item: Item | undefined): readonly number[] {
  if (item === undefined) return [];
  return item.result === undefined ? [item.row] : [item.row, item.result];
}

interface ScrolledOf {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly virtual: Virtualizer<HTMLDivElement, Element>;
  readonly items: readonly Item[];
  /** The row that the address names, and its item. */
  readonly named: number | undefined;
  readonly chosen: number;
  /** Of what is being written. */
  readonly version: number;
}

/** What is looked at as the conversation begins, grows and is led elsewhere. Gives whether that is the end. */
function useScrolled({ scroller, virtual, items, named, chosen, version }: ScrolledOf): RefObject<boolean> {
  const isAtEnd = useRef(named === undefined);
  // Where it begins. Heights are known only when something was drawn: the first places are looked for again.
  const began = useRef(0);
  useLayoutEffect(() => {
    if (began.current >= 3) return;
    began.current++;
    if (chosen >= 0) virtual.scrollToIndex(chosen, { align: "start" });
    else virtual.scrollToIndex(items.length - 1, { align: "end" });
  });
  // The address names another event: a link, a step back, a key.
  const first = useRef(named);
  useEffect(() => {
    if (named === first.current) return;
    first.current = named;
    if (chosen >= 0) virtual.scrollToIndex(chosen, { align: "auto" });
  }, [named, chosen, virtual]);
  // Whoever is at the end stays there; whoever reads something else is not moved.
  const height = virtual.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows what grew
  useEffect(() => {
    const element = scroller.current;
    if (isAtEnd.current && element !== null) element.scrollTop = element.scrollHeight;
  }, [height, items.length, version]);
  return isAtEnd;
}

interface KeysOf {
  readonly items: readonly Item[];
  readonly chosen: number;
  readonly choose: (index: number) => void;
  readonly place: LookedPlace;
}

function useConversationKeys({ items, chosen, choose, place }: KeysOf): void {
  const { lineage } = useLineage();
  const navigate = useNavigate();
  const act = useAct();
  const mayWrite = useMay("sessions:write");
  const mayRun = useMay("runs:write");
  const item = items[chosen] ?? items.at(-1);
  const row = item === undefined ? undefined : (item.result ?? item.row);
  const here = row === undefined ? undefined : { session: lineage.branch(row), event: lineage.id(row) };
  const within = (index: number): number => Math.min(items.length - 1, Math.max(0, index));
  const when = (may: boolean, verb: "fork" | "rerun", keys: string, does: string) =>
    may && here !== undefined ? [{ keys, does, act: () => act({ verb, place: here }) }] : [];
  useKeys([
    { keys: "j", does: "next message", act: () => choose(within(chosen < 0 ? items.length - 1 : chosen + 1)) },
    { keys: "k", does: "message before", act: () => choose(within(chosen < 0 ? items.length - 1 : chosen - 1)) },
    ...when(mayWrite, "fork", "f", "fork here"),
    ...when(mayRun, "rerun", "r", "rerun from here with something changed"),
    ...(here === undefined
      ? []
      : [
          {
            keys: "m",
            does: "mark to compare",
            act: () => markHere(`${here.session}@${here.event}`),
          },
          { keys: "l", does: "copy the link to this message", act: () => copyPlace(here.event, place.branch) },
          {
            keys: "c",
            does: "compare with what was marked",
            act: () => {
              const a = marked();
              if (a === undefined) say("Mark a place first: press m");
              else void navigate({ to: "/diff", search: { a, b: `${here.session}@${here.event}` } });
            },
          },
        ]),
  ]);
}

interface UnrecordedProps {
  readonly items: readonly Item[];
  readonly written: Written;
  readonly branch: string;
}

/** A call may come on record only with its reply: what is written meanwhile stands at the end. */
function Unrecorded({ items, written, branch }: UnrecordedProps) {
  const asked = useMemo(() => items.findLast(({ type, depth }) => type === "reply" && depth === 0), [items]);
  const unshown = asked === undefined || asked.result !== undefined ? written.textOf(branch) : undefined;
  if (unshown === undefined) return null;
  return (
    <div className={classes["tail"]}>
      <BeingWritten written={unshown} />
    </div>
  );
}
