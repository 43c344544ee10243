/** What every item of a conversation is given. */
import type { EventResource } from "../../../../src/client/client.ts";
import type { Item } from "./conversation.ts";

export interface ItemProps {
  readonly item: Item;
  /** The event it begins with, and its result; undefined until they were read. */
  readonly event: EventResource | undefined;
  readonly result: EventResource | undefined;
  /** It could not be read. */
  readonly missing: boolean;
  readonly choose: () => void;
}
