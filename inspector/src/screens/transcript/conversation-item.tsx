/** One item of a conversation: who, when, what, and what can be done from there. */
import type { Bodies } from "../../lineage/event-bodies.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { CompressionItem } from "./compression-item.tsx";
import type { Item } from "./conversation.ts";
import { DividerItem } from "./divider-item.tsx";
import { EffectItem } from "./effect-item.tsx";
import type { ItemProps } from "./item-props.ts";
import { MessageItem } from "./message-item.tsx";
import { NestedItem } from "./nested-item.tsx";
import { NoteItem } from "./note-item.tsx";
import { OriginLabel } from "./origin-label.tsx";
import { ReplyItem } from "./reply-item.tsx";
import type { Writing } from "./use-written.ts";

interface Props {
  readonly item: Item;
  readonly bodies: Bodies;
  readonly written: Writing | undefined;
  readonly isOpen: boolean;
  readonly toggle: () => void;
  readonly choose: () => void;
}

export function ConversationItem({ item, bodies, written, isOpen, toggle, choose }: Props) {
  const { lineage } = useLineage();
  const id = lineage.id(item.row);
  const result = item.result === undefined ? undefined : bodies.get(lineage.id(item.result));
  const shown: ItemProps = { item, event: bodies.get(id), result, missing: bodies.isMissing(id), choose };
  return (
    <>
      {item.enters && <OriginLabel item={item} />}
      <Body shown={shown} written={written} isOpen={isOpen} toggle={toggle} />
    </>
  );
}

interface BodyProps {
  readonly shown: ItemProps;
  readonly written: Writing | undefined;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}

function Body({ shown, written, isOpen, toggle }: BodyProps) {
  const { type } = shown.item;
  switch (type) {
    case "message":
      return <MessageItem {...shown} />;
    case "reply":
      return <ReplyItem {...shown} written={written} />;
    case "effect":
      return <EffectItem {...shown} />;
    case "compression":
      return <CompressionItem {...shown} />;
    case "divider":
      return <DividerItem {...shown} />;
    case "nested":
      return <NestedItem item={shown.item} isOpen={isOpen} toggle={toggle} />;
    case "note":
      return <NoteItem {...shown} />;
    default:
      return type satisfies never;
  }
}
