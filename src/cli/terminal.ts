/** Where a command reads and writes. Tests give their own, so that what a terminal shows can be compared. */
import { createInterface } from "node:readline";

/** What is written to: a terminal when `isTTY`, else a file or another program. */
export interface Terminal {
  readonly columns: number;
  readonly isTTY: boolean;
  write(text: string): void;
}

/** What is read from. */
export interface Input {
  readonly isTTY: boolean;
  /** All of it. */
  text(): Promise<string>;
  lines(): AsyncIterable<string>;
}

/** The world around one call of the command line. */
export interface Host {
  /** Data goes here, and nothing else. */
  readonly out: Terminal;
  readonly err: Terminal;
  readonly input: Input;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborts at the first Ctrl+C. */
  readonly signal: AbortSignal;
  /** Aborts when nobody reads `out` any more. Work goes on; what only shows something ends. */
  readonly unread?: AbortSignal;
  /** From now on SIGTERM is heeded as Ctrl+C is: the first aborts the signal, the second ends the process. */
  heedTermination?(): void;
  now(): Date;
}

export function processHost(signal: AbortSignal, heedTermination: () => void): Host {
  const unread = new AbortController();
  return {
    out: streamTerminal(process.stdout, () => unread.abort()),
    err: streamTerminal(process.stderr),
    input: {
      isTTY: process.stdin.isTTY === true,
      text: async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
        return Buffer.concat(chunks).toString("utf8");
      },
      lines: () => createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY }),
    },
    env: process.env,
    cwd: process.cwd(),
    signal,
    unread: unread.signal,
    heedTermination,
    now: () => new Date(),
  };
}

function streamTerminal(stream: NodeJS.WriteStream, onUnread: () => void = () => {}): Terminal {
  // A reader that has seen enough (`openrath log … | head`) is no error; the work goes on.
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    onUnread();
  });
  return {
    get columns() {
      return stream.columns || 80; // 0 on a terminal that does not say
    },
    isTTY: stream.isTTY === true,
    write: (text) => void stream.write(text),
  };
}
