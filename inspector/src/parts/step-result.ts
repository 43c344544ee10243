/** What became of a step of a replay, in words. */
import type { ReplayResource } from "../../../src/client/client.ts";
import type { Tone } from "./badge.tsx";

type Result = ReplayResource["steps"][number]["result"];

export const stepWords: Readonly<Record<Result, string>> = {
  same: "identical",
  nested: "identical, nested",
  erased: "not comparable: erased",
  differs: "diverged",
  "not-reached": "not reached",
};

export const stepTones: Readonly<Record<Result, Tone>> = {
  same: "ok",
  nested: "ok",
  erased: "quiet",
  differs: "bad",
  "not-reached": "warn",
};
