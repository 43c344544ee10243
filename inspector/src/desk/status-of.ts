/** What is said of a session: as its runs stand, which are read again while they go on; else as it was listed. */
import { standingOf } from "../../../src/wire/standing.ts";
import type { Standing } from "./use-standing.ts";

interface Listed<Status extends string> {
  readonly id: string;
  readonly status?: Status | undefined;
  /** As its runs stood when it was listed. */
  readonly standing?: Status | "running" | "waiting" | "queued" | undefined;
}

export function statusOf<Status extends string>(
  { id, status, standing }: Listed<Status>,
  { open, isWhole }: Pick<Standing, "open" | "isWhole">,
): Status | "running" | "waiting" | "queued" | undefined {
  const runs = open.get(id) ?? [];
  return runs.length === 0 && !isWhole ? (standing ?? status) : standingOf(status, runs);
}
