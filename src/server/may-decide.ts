/** Who may decide what. A question says whom it asks, and nobody else answers it: not even somebody who may approve everything else. */
import { RathError } from "../session/errors.ts";
import type { Pending } from "../session/session.ts";
import type { Caller } from "./caller.ts";

/** "role:approver" is whoever has that role, anything else an identity. Who acts for people may answer for everybody, under their own name. */
export function isAsked({ identity, roles, permissions }: Caller, pending: Pending): boolean {
  if (pending.kind !== "question" || pending.to === undefined || permissions.has("people:act")) return true;
  // A key that was narrowed is not an admin's any more.
  const [, role] = /^role:(.+)$/s.exec(pending.to) ?? [];
  return role === undefined ? pending.to === identity : role !== "admin" && (roles as readonly string[]).includes(role);
}

export function notAsked(pending: Pending): RathError {
  const to = pending.kind === "question" ? pending.to : undefined;
  return new RathError("access.forbidden", `This question is for ${to}: nobody else answers it, but an admin.`, {
    details: { pending: pending.id, to },
  });
}

/** Whether a person can decide it at all, and this one may. */
export function mayDecide(caller: Caller, pending: Pending): boolean {
  const isForPeople = pending.kind === "question" || pending.kind === "approval" || pending.kind === "unknown";
  return isForPeople && caller.permissions.has("pending:decide") && isAsked(caller, pending);
}
