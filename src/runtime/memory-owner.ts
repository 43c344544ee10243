/** Whose memory a session reads and writes: scopes become the beginnings of names. */
import { RathError } from "../session/errors.ts";
import type { Place } from "../session/host.ts";
import { type Node, principalOf } from "../session/log.ts";
import { memoryPrefix } from "../session/memory-uri.ts";
import type { MemoryScope } from "../session/session.ts";

const everything: readonly MemoryScope[] = ["session", "agent", "workflow", "user", "project"];

/** Why a scope may not be used at a place: whoever chose the work there named another. */
export function fencedAt({ context }: Place, scopes: readonly MemoryScope[]): string | undefined {
  const other = context.memory === undefined ? undefined : scopes.find((scope) => scope !== context.memory);
  return other === undefined ? undefined : `the route to this work allows memory of scope "${context.memory}" only, not "${other}"`;
}

/** What may be seen at a place. */
export function prefixesAt(place: Place, scopes: readonly MemoryScope[] | undefined): readonly string[] {
  const asked = scopes ?? (place.context.memory === undefined ? undefined : [place.context.memory]);
  const seen = asked ?? everything.filter((scope) => place.context.workflow !== undefined || (scope !== "agent" && scope !== "workflow"));
  return seen.map((scope) => memoryPrefix(scope, ownerAt(place, scope)));
}

/** Whom a scope means at a place; nobody for the project, which the store is opened for. */
export function ownerAt({ node, context }: Place, scope: MemoryScope): string | undefined {
  const path = context.by.split("/");
  switch (scope) {
    case "project":
      return undefined;
    case "user":
      return principalOf(node) ?? "user";
    case "session":
      return rootOf(node).log.id;
    case "agent":
    case "workflow":
      if (context.workflow === undefined)
        throw new RathError(
          "value.unsupported",
          `scope "${scope}" means nothing here: this session is in no ${scope}. Use it inside one, or name another scope.`,
          {
            details: { field: "scope" },
          },
        );
      return scope === "agent" ? path.at(-1) : path[0];
  }
}

/** Where the line of a session began: all its branches have the same. */
function rootOf(node: Node): Node {
  let at = node;
  for (let before = at.log.first?.parent; before !== undefined; before = at.log.first?.parent) at = before;
  return at;
}
