/**
 * Runs one command to its end: within its time, its output and its share of the disk, and until it is cancelled. What a limit ends is
 * a result that says so. Text is handed on as it comes and never in the middle of a character.
 */
import { setMaxListeners } from "node:events";
import { timerMs } from "../session/duration.ts";
import type { CommandResult, ExecOptions } from "../session/session.ts";
import type { DiskLook } from "../workspace/disk-use.ts";
import type { Exit, Spawned, Spawner, SpawnRequest } from "../workspace/spawner.ts";

export interface CommandRun extends Pick<SpawnRequest, "argv" | "cwd" | "env" | "stdin" | "extra"> {
  readonly timeMs: number;
  /** Bytes, of each stream. */
  readonly output: number;
  readonly disk?: { readonly most: number; readonly written: (when: DiskLook) => Promise<number> } | undefined;
  /** Any of them ends it. */
  readonly signals?: readonly (AbortSignal | undefined)[] | undefined;
  readonly onOutput?: ExecOptions["onOutput"];
  /** Called with the first byte of its output, which is not its own but says that it began. Default: all of it is its own. */
  readonly onBegin?: (() => void) | undefined;
  /** Ends it and all it started. */
  readonly kill: (process: Spawned) => void;
}

/** A result whose output is bytes yet. */
export interface Ran extends Omit<CommandResult, "stdout" | "stderr"> {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** How often the disk is looked at while a command runs. */
const diskEveryMs = 250;

export async function runCommand(spawner: Spawner, run: CommandRun): Promise<Ran> {
  const begun = performance.now();
  const output = new Output(run.output, run.onOutput);
  const signals = (run.signals ?? []).filter((signal) => signal !== undefined);
  if (signals.some((signal) => signal.aborted)) return ended(output, killed, begun, "cancelled");
  let stopped: CommandResult["stopped"];
  let process: Spawned | undefined;
  const stop = (why: CommandResult["stopped"]) => {
    if (stopped !== undefined) return;
    stopped = why;
    if (process !== undefined) run.kill(process);
  };
  const cancel = () => stop("cancelled");
  for (const signal of signals) {
    setMaxListeners(0, signal); // any number of commands may run under it
    signal.addEventListener("abort", cancel, { once: true });
  }
  const timer = setTimeout(() => stop("time"), timerMs(run.timeMs));
  let disk: { end(): void } | undefined;
  let exit: Exit;
  try {
    const { argv, cwd, env, stdin, extra } = run;
    await run.disk?.written("begin").catch(() => {}); // one that cannot be asked is full at the next look
    const own = withoutHerald(run.onBegin);
    const onOutput: SpawnRequest["onOutput"] = (from, bytes) => output.take(from, own(from, bytes)) || stop("output");
    process = await spawner.spawn({ argv, cwd, env, stdin, extra, onOutput });
    // It may have been cancelled while it was being started.
    if (stopped !== undefined) run.kill(process);
    disk = run.disk && watchDisk(run.disk, () => stop("disk"));
    exit = await process.exited;
  } finally {
    clearTimeout(timer);
    disk?.end();
    for (const signal of signals) signal.removeEventListener("abort", cancel);
  }
  if (stopped !== undefined) return ended(output, killed, begun, stopped);
  // Much can be written between two looks. It ended by itself all the same.
  const isOver = run.disk !== undefined && (await isFull(run.disk, "end"));
  return ended(output, exit, begun, isOver ? "disk" : undefined);
}

const killed: Exit = { code: undefined, signal: "SIGKILL" };

/** What of the output is the command's own. */
function withoutHerald(onBegin: CommandRun["onBegin"]): (from: "stdout" | "stderr", bytes: Uint8Array) => Uint8Array {
  let begun = onBegin === undefined;
  return (from, bytes) => {
    if (begun || from === "stderr") return bytes;
    begun = true;
    onBegin?.();
    return bytes.subarray(1);
  };
}

/** The result as text. Bytes that are no UTF-8 are shown as U+FFFD. */
export function asText(ran: Ran): CommandResult {
  return { ...ran, stdout: decoder().decode(ran.stdout), stderr: decoder().decode(ran.stderr) };
}

function ended(output: Output, exit: Exit, begun: number, stopped: CommandResult["stopped"]): Ran {
  output.finish();
  const { exitCode, signal } = codeOf(exit);
  return {
    exitCode,
    stdout: output.bytes("stdout"),
    stderr: output.bytes("stderr"),
    durationMs: Math.round(performance.now() - begun),
    ...(signal !== undefined && { signal }),
    ...(stopped !== undefined && { stopped }),
  };
}

/** Of an end, the code as shells say it: 128 and the number of the signal. */
export function codeOf(exit: Exit): { readonly exitCode: number; readonly signal: string | undefined } {
  const signal = exit.signal ?? signalOf(exit.code);
  return { exitCode: signal === undefined ? (exit.code ?? 1) : 128 + (signalNumbers[signal] ?? 0), signal };
}

/** Signals that end programs. Others are not read out of an exit code: 255 is an ordinary failure. */
const signalNumbers: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGSYS: 31,
};

/** Shells say 128 and the number for a command that a signal ended. */
function signalOf(code: number | undefined): string | undefined {
  return Object.keys(signalNumbers).find((name) => code === 128 + (signalNumbers[name] as number));
}

function watchDisk(disk: NonNullable<CommandRun["disk"]>, full: () => void): { end(): void } {
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  const look = async () => {
    const isOver = await isFull(disk, "during");
    if (over) return;
    if (isOver) full();
    else timer = setTimeout(next, diskEveryMs);
  };
  const next = () => void look();
  timer = setTimeout(next, diskEveryMs);
  return {
    end() {
      over = true;
      clearTimeout(timer);
    },
  };
}

/** One that cannot be asked is full: a limit that is not kept is no limit. */
async function isFull({ most, written }: NonNullable<CommandRun["disk"]>, when: DiskLook): Promise<boolean> {
  return (await written(when).catch(() => Number.POSITIVE_INFINITY)) > most;
}

/** What was written, up to the limit, and what of it was handed on. */
class Output {
  full = false;
  #thrown: { readonly error: unknown } | undefined;
  readonly #most: number;
  readonly #tell: ExecOptions["onOutput"];
  readonly #streams = {
    stdout: { pieces: [] as Uint8Array[], size: 0, decoder: decoder() },
    stderr: { pieces: [] as Uint8Array[], size: 0, decoder: decoder() },
  };

  constructor(most: number, tell: ExecOptions["onOutput"]) {
    this.#most = most;
    this.#tell = tell;
  }

  /** False once there is too much of it, or nobody wants it. */
  take(from: "stdout" | "stderr", bytes: Uint8Array): boolean {
    const stream = this.#streams[from];
    const piece = bytes.subarray(0, this.#most - stream.size);
    if (piece.length > 0 && this.#thrown === undefined) {
      stream.pieces.push(piece);
      stream.size += piece.length;
      this.#hand(from, stream.decoder.decode(piece, { stream: true }));
    }
    if (piece.length < bytes.length) this.full = true;
    return !this.full;
  }

  /** Hands on what was left of a character. Throws what the listener threw: it was kept until the command was over. */
  finish(): void {
    this.#hand("stdout", this.#streams.stdout.decoder.decode());
    this.#hand("stderr", this.#streams.stderr.decoder.decode());
    if (this.#thrown !== undefined) throw this.#thrown.error;
  }

  bytes(from: "stdout" | "stderr"): Uint8Array {
    return Buffer.concat(this.#streams[from].pieces);
  }

  #hand(from: "stdout" | "stderr", text: string): void {
    if (text === "" || this.#thrown !== undefined) return;
    try {
      this.#tell?.(from, text);
    } catch (error) {
      this.#thrown = { error };
      this.full = true;
    }
  }
}

function decoder(): InstanceType<typeof TextDecoder> {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}
