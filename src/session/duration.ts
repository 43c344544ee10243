import { RathError } from "./errors.ts";
import type { Duration } from "./span.ts";

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of a duration like "250ms", "5s" or "2d". */
export function durationMs(duration: Duration): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration);
  if (match === null)
    throw new RathError("value.unsupported", `"${duration}" is not a duration: write a number and one of ms, s, m, h, d, like "30s".`);
  return Number(match[1]) * units[match[2] as keyof typeof units];
}

/** The shortest of those that are given. */
export function shortest(durations: readonly (Duration | undefined)[]): Duration | undefined {
  const given = durations.filter((duration) => duration !== undefined);
  return given.reduce<Duration | undefined>((a, b) => (a !== undefined && durationMs(a) <= durationMs(b) ? a : b), undefined);
}

/** Node fires a timer at once that is set for longer. */
const longestTimer = 2 ** 31 - 1;

/** As long as a timer can be set for. */
export function timerMs(ms: number): number {
  return Math.min(Math.max(ms, 0), longestTimer);
}
