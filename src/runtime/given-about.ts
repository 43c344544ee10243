/** What is said of a new session: checked before anything is made of it. */
import type { DataOf } from "../session/event.ts";
import { givenName, givenText } from "../session/given.ts";

/** Refuses names that cannot be kept, and gives whom the session belongs to. */
export function givenPrincipal({ title, tags, principal }: DataOf<"session.created">, clean: (text: string) => string): string | undefined {
  if (title !== undefined) givenName(title, "title");
  for (const tag of tags ?? []) givenName(tag, "tag");
  return principal === undefined ? undefined : givenName(clean(givenText(principal, "principal")), "principal");
}
