/** The words about an implicit fork: who had continued the session, and where the program goes on from the same place again. */
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import { callSite } from "./call-site.ts";

interface Said {
  readonly message: string;
  readonly code: "OPENRATH_IMPLICIT_FORK" | "OPENRATH_CONTINUED_ELSEWHERE";
}

/** `returnedBy` names the workflow whose result it is: then no line of the program is on the stack any more. */
export function sayImplicit(head: Node, platform: Platform, returnedBy: string | undefined): Said {
  const { id } = head.log;
  const at = `session ${id} at step ${head.step}`;
  const next = nextOf(head);
  if (returnedBy !== undefined) {
    const by = next === undefined ? "was continued already" : `${nameOf(next, platform)} had continued already`;
    const message = `Workflow "${returnedBy}" returned ${at}, which ${by}, perhaps without await: the result is an implicit fork without it. Return the value that the call gives.`;
    return { message, code: "OPENRATH_IMPLICIT_FORK" };
  }
  const place = callSite();
  // What was read from the store was made by somebody else, or before this process began.
  if (next?.bytes !== undefined) {
    const message = `Another process, or an earlier one, continued ${at}: going on from there makes an implicit fork${place}. Go on from what rath.open("${id}") gives, or say fork("label").`;
    return { message, code: "OPENRATH_CONTINUED_ELSEWHERE" };
  }
  if (next === undefined && head.log.owner === undefined && head.bytes !== undefined) {
    const message = `What another process began on ${at} has no result yet: going on from there makes an implicit fork${place}. Open it again when it has one, or say fork("label").`;
    return { message, code: "OPENRATH_CONTINUED_ELSEWHERE" };
  }
  const message = `Session ${id} was already continued at step ${head.step}: using the same value again makes an implicit fork${place}. Use the value that the first call returned, or say fork("label").`;
  return { message, code: "OPENRATH_IMPLICIT_FORK" };
}

/** What follows it in its own log. */
function nextOf(head: Node): Node | undefined {
  let next = head.log.tip;
  while (next !== undefined && next.prior !== head) next = next.prior;
  return next;
}

/** Like do "mail". */
function nameOf(node: Node, platform: Platform): string {
  const { name } = (node.data(platform) ?? {}) as { readonly name?: unknown };
  const kind = node.kind.slice(0, node.kind.indexOf("."));
  return typeof name === "string" ? `${kind} ${JSON.stringify(name)}` : kind;
}
