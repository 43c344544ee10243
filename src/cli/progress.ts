/** Progress on stderr, on a terminal only, once something takes longer than a second: what, how many, how fast. */
import type { Cli } from "./cli.ts";
import { count, seconds } from "./format.ts";

const patienceMs = 1000;
const everyMs = 200;

export interface Progress {
  /** So many more are done. */
  add(number?: number): void;
}

/** Shows progress while `work` goes on. */
export async function progressing<T>(cli: Cli, doing: string, noun: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  let done = 0;
  if (!cli.host.err.isTTY || cli.settings.quiet === true) return work({ add: () => {} });
  const start = performance.now();
  const clear = (): void => cli.host.err.write("\r\u001b[K");
  const draw = (): void => {
    const ms = performance.now() - start;
    if (ms < patienceMs) return;
    const rate = done === 0 ? "" : ` ${count(done)} ${noun}, ${count((done * 1000) / ms)}/s,`;
    cli.draws(undefined);
    cli.host.err.write(`\r${doing}:${rate} ${seconds(ms)}\u001b[K`);
    cli.draws({ clear });
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
    if (performance.now() - start >= patienceMs) clear();
    cli.draws(undefined);
  }
}
