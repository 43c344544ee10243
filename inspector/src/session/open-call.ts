/** What is said of a call without a result: one answer for all screens. */
import type { Tone } from "../parts/badge.tsx";

export type OpenCall = "waiting" | "under way" | "no result";

/** It is under way only while somebody executes it: a record alone may have been left in the middle of it. */
export function openCall(isWaiting: boolean, isAtWork: boolean): OpenCall {
  return isWaiting ? "waiting" : isAtWork ? "under way" : "no result";
}

export const openTones: Readonly<Record<OpenCall, Tone>> = { waiting: "warn", "under way": "accent", "no result": "quiet" };
