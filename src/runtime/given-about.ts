/** What is said of a new session: checked before anything is made of it. */
import type { DataOf } from "../session/event.ts";
import { givenName, givenText, shown, unsupported } from "../session/given.ts";

/** A text is a list of letters to whoever copies it. */
export function givenTags(tags: unknown): string[] {
  if (!Array.isArray(tags)) throw unsupported("tags", `is ${shown(tags)}`, "give a list of strings");
  return [...tags];
}

/** Refuses names that cannot be kept, and gives whom the session belongs to. */
export function givenPrincipal({ title, tags, principal }: DataOf<"session.created">, clean: (text: string) => string): string | undefined {
  if (title !== undefined) givenName(title, "title");
  for (const tag of tags ?? []) givenName(tag, "tag");
  return principal === undefined ? undefined : givenName(clean(givenText(principal, "principal")), "principal");
}
