/** What a person, or the program, said to the models. */
import { Badge } from "../../parts/badge.tsx";
import { ItemCard, NotYet } from "./item-card.tsx";
import type { ItemProps } from "./item-props.ts";
import { type GivenPart, Parts } from "./parts.tsx";

interface Said {
  readonly role: "user" | "system";
  readonly parts: readonly GivenPart[];
  readonly alone?: true;
  readonly outside?: true;
}

export function MessageItem({ item, event, missing, choose }: ItemProps) {
  const said = event?.data as Said | undefined;
  const role = said?.role ?? "user";
  const aside = (
    <>
      {said?.alone === true && <Badge>read alone</Badge>}
      {said?.outside === true && <Badge tone="warn">from outside</Badge>}
    </>
  );
  return (
    <ItemCard item={item} look={role} title={role === "user" ? "User" : "System"} aside={aside} choose={choose}>
      {said === undefined ? <NotYet missing={missing} erased={event !== undefined} /> : <Parts parts={said.parts} />}
    </ItemCard>
  );
}
