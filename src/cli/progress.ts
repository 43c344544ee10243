/** Progress on stderr, on a terminal only, once something takes longer than a second: what, how many, how fast. */

import { count, seconds } from "../wire/format.ts";
import type { Cli } from "./cli.ts";

const patienceMs = 1000;
const everyMs = 200;

export interface Progress {
  /** So many more are done. */
  add(number?: number): void;
}

function rateText(rate: number): string {
  return rate < 10 ? rate.toFixed(1) : count(rate);
}

/** Shows progress while `work` goes on. */
export async function progressing<T>(cli: Cli, doing: string, noun: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  let done = 0;
  if (!cli.host.err.isTTY || cli.settings.quiet === true) return work({ add: () => {} });
  const start = cli.host.now().getTime();
  let drawn: { clear(): void } | undefined;
  const clear = (): void => {
    cli.host.err.write("\r\u001b[K");
    drawn = undefined;
    cli.draws(undefined);
  };
  const draw = (): void => {
    const ms = cli.host.now().getTime() - start;
    if (ms < patienceMs || cli.midLine) return;
    const rate = done === 0 ? "" : ` ${count(done)} ${noun}, ${rateText((done * 1000) / ms)}/s,`;
    cli.host.err.write(`\r${doing}:${rate} ${seconds(ms)}\u001b[K`);
    drawn = { clear };
    cli.draws(drawn);
  };
  const timer = setInterval(draw, everyMs);
  try {
    return await work({
      add: (number = 1) => {
        done += number;
      },
    });
  } finally {
    clearInterval(timer);
    drawn?.clear();
    cli.draws(undefined);
  }
}
