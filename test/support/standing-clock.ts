/** A clock that stands still until it is let go: what has to happen within a time does, however slow the machine is. */
import { nodePlatform } from "../../src/runtime/platform.ts";
import type { Platform } from "../../src/session/platform.ts";

export interface StandingClock {
  readonly platform: Platform;
  /** From then on it says what time it is. */
  go(): void;
}

export function standingClock(): StandingClock {
  let stands: string | undefined = nodePlatform.time();
  return {
    platform: { ...nodePlatform, time: () => stands ?? nodePlatform.time() },
    go: () => {
      stands = undefined;
    },
  };
}
