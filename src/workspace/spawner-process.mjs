// @ts-check
/**
 * The process that spawner.ts starts processes from. Plain JavaScript, since it runs on a bare Node. Its life hangs on the channel to
 * the process that started it: when that is gone it ends everything it started, and itself.
 */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";

/**
 * @typedef {{ do: "spawn", id: number, argv: string[], cwd?: string, env?: Record<string, string>, stdin?: Uint8Array | "open", extra?: Uint8Array }} Start
 * @typedef {Start | { do: "kill", id: number, signal: NodeJS.Signals } | { do: "taken", id: number, bytes: number }} Order
 * @typedef {{ is: "started", id: number, pid: number }
 *   | { is: "failed", id: number, reason: string, code: string | undefined }
 *   | { is: "output", id: number, from: "stdout" | "stderr", bytes: Uint8Array }
 *   | { is: "exited", id: number, code: number | undefined, signal: string | undefined }} Report
 * @typedef {{ pid: number, untaken: number, sources: Set<import("node:stream").Readable>, exited: boolean, late: number, ended: () => void }} Running
 */

/** Output that may be under way to whoever reads it. More than this waits in the pipe, and its writer with it. */
const credit = 1 << 20;
/** What a pipe can hold at most: all that was written before the end of a process is within it. */
const pipeSize = 1 << 20;
/** How long the output of a process that has ended may stay silent before it is given up: someone else holds its pipe. */
const patience = 200;

const temporary = process.argv[2] ?? "/tmp";
/** @type {Map<number, Running>} */
const running = new Map();

closeInherited();
// A terminal's or a supervisor's signal is for the process that started this one; that one decides what ends.
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) process.on(signal, () => {});
process.on("disconnect", () => {
  // What has ended was killed with its group then; its number may be another process's by now.
  for (const { pid, exited } of running.values()) if (!exited) killTree(pid);
  process.exit(0);
});
process.on("message", (message) => {
  const order = /** @type {Order} */ (message);
  if (order.do === "spawn") start(order);
  else if (order.do === "kill") {
    const known = running.get(order.id);
    if (known !== undefined) killGroup(known.pid, order.signal);
  } else {
    const known = running.get(order.id);
    if (known === undefined) return;
    known.untaken -= order.bytes;
    if (known.untaken < credit) for (const source of known.sources) source.resume();
  }
});

/** @param {Start} order */
function start(order) {
  /** Descriptors that are the child's alone once it runs. @type {number[]} */
  const given = [];
  /** Held until it ends, so that its input stays open. @type {number[]} */
  const held = [];
  /** @type {import("node:stream").Readable[]} */
  const sources = [];
  try {
    const stdin = input(order.stdin, given, held);
    const stdout = output(given, sources);
    const stderr = output(given, sources);
    const child = spawn(/** @type {string} */ (order.argv[0]), order.argv.slice(1), {
      ...(order.cwd === undefined ? {} : { cwd: order.cwd }),
      env: order.env ?? {},
      detached: true,
      stdio: [stdin, stdout, stderr, ...(order.extra === undefined ? [] : [file(order.extra, given)])],
    });
    const { pid } = child;
    if (pid === undefined) {
      child.once("error", (error) => fail(order.id, error));
      for (const source of sources) source.destroy();
      for (const fd of held) closeSync(fd);
      return;
    }
    child.on("error", () => {});
    /** @type {Running} */
    const known = { pid, untaken: 0, sources: new Set(), exited: false, late: 0, ended: () => {} };
    running.set(order.id, known);
    tell({ is: "started", id: order.id, pid });
    listen(order.id, known, "stdout", /** @type {import("node:stream").Readable} */ (child.stdout ?? sources[0]));
    listen(order.id, known, "stderr", /** @type {import("node:stream").Readable} */ (child.stderr ?? sources[1]));
    child.once("exit", (code, signal) => {
      // Whoever is left of its group ends with it: nothing writes after a command is over.
      killGroup(pid, "SIGKILL");
      for (const fd of held) closeSync(fd);
      known.exited = true;
      known.ended = () => {
        running.delete(order.id);
        tell({ is: "exited", id: order.id, code: code ?? undefined, signal: signal ?? undefined });
      };
      if (known.sources.size === 0) known.ended();
      else for (const source of known.sources) giveUpWhenSilent(known, source);
    });
  } catch (error) {
    for (const source of sources) source.destroy();
    for (const fd of held) closeSync(fd);
    fail(order.id, error);
  } finally {
    for (const fd of given) closeSync(fd);
  }
}

/**
 * @param {number} id
 * @param {Running} known
 * @param {"stdout" | "stderr"} from
 * @param {import("node:stream").Readable} source
 */
function listen(id, known, from, source) {
  known.sources.add(source);
  source.on("data", (/** @type {Buffer} */ bytes) => {
    known.untaken += bytes.length;
    tell({ is: "output", id, from, bytes });
    if (known.exited) {
      known.late += bytes.length;
      if (known.late > 2 * pipeSize) source.destroy();
    }
    if (known.untaken >= credit) for (const each of known.sources) each.pause();
  });
  source.on("error", () => source.destroy());
  source.once("close", () => {
    known.sources.delete(source);
    if (known.exited && known.sources.size === 0) known.ended();
  });
}

/**
 * @param {Running} known
 * @param {import("node:stream").Readable} source
 */
function giveUpWhenSilent(known, source) {
  let seen = -1;
  const timer = setInterval(() => {
    if (known.untaken >= credit) return;
    if (seen === known.late) source.destroy();
    seen = known.late;
  }, patience);
  source.once("close", () => clearInterval(timer));
}

/**
 * @param {Uint8Array | "open" | undefined} stdin
 * @param {number[]} given
 * @param {number[]} held
 * @returns {number | "ignore" | "pipe"}
 */
function input(stdin, given, held) {
  if (stdin === undefined) return "ignore";
  if (stdin !== "open") return file(stdin, given);
  const ends = pipe();
  if (ends === undefined) return "pipe";
  given.push(ends.reader);
  held.push(ends.writer);
  return ends.reader;
}

/**
 * @param {number[]} given
 * @param {import("node:stream").Readable[]} sources
 * @returns {number | "pipe"}
 */
function output(given, sources) {
  const ends = pipe();
  if (ends === undefined) return "pipe";
  given.push(ends.writer);
  sources.push(new Socket({ fd: ends.reader, readable: true, writable: false }));
  return ends.writer;
}

/** @type {number[] | undefined} */
let stock = [];

/**
 * A real pipe: what Node calls one is a pair of sockets, on which `echo x > /dev/stderr` fails. Its name is gone before anyone uses
 * it, and none is used twice. Undefined where there is no mkfifo.
 *
 * @returns {{ reader: number, writer: number } | undefined}
 */
function pipe() {
  if (stock?.length === 0) stock = makeFifos(48);
  const fifo = stock?.pop();
  if (fifo === undefined) return undefined;
  try {
    const reader = openSync(`/proc/self/fd/${fifo}`, constants.O_RDONLY | constants.O_NONBLOCK);
    return { reader, writer: openSync(`/proc/self/fd/${fifo}`, constants.O_WRONLY) };
  } finally {
    closeSync(fifo);
  }
}

/**
 * @param {number} count
 * @returns {number[] | undefined}
 */
function makeFifos(count) {
  const folder = mkdtempSync(join(temporary, "openrath-pipes-"));
  try {
    const names = Array.from({ length: count }, (_, index) => join(folder, String(index)));
    if (spawnSync("mkfifo", ["-m", "600", ...names]).status !== 0) return undefined;
    const fifos = names.map((name) => openSync(name, constants.O_RDWR | constants.O_NONBLOCK));
    // Fails here, not at first use, where /proc gives no second descriptor.
    closeSync(openSync(`/proc/self/fd/${fifos[0]}`, constants.O_RDONLY | constants.O_NONBLOCK));
    return fifos;
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Bytes as a file without a name, so that they can be of any size and `/dev/stdin` can be opened again.
 *
 * @param {Uint8Array} bytes
 * @param {number[]} given
 */
function file(bytes, given) {
  const folder = mkdtempSync(join(temporary, "openrath-input-"));
  try {
    const path = join(folder, "bytes");
    writeFileSync(path, bytes, { mode: 0o400 });
    const fd = openSync(path, constants.O_RDONLY);
    given.push(fd);
    return fd;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What was left open by whoever started the process above must not reach a command. */
function closeInherited() {
  const own = /** @type {{ fd?: number } | undefined} */ (/** @type {unknown} */ (process.channel))?.fd;
  for (const fd of openDescriptors()) {
    if (fd <= 2 || fd === own) continue;
    try {
      const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & 0o2000000) === 0) closeSync(fd);
    } catch {
      // The descriptor of the listing itself is gone by now.
    }
  }
}

/** @returns {number[]} */
function openDescriptors() {
  try {
    return readdirSync("/proc/self/fd").map(Number);
  } catch {
    return [];
  }
}

/**
 * Its children first, while they can still be found: what confines a command has left its group before the kernel is asked to end it
 * with its parent, and in between it would live on.
 *
 * @param {number} pid
 */
function killTree(pid) {
  for (const child of childrenOf(pid)) killOne(child, "SIGKILL");
  killGroup(pid, "SIGKILL");
}

/**
 * @param {number} pid
 * @returns {number[]}
 */
function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
function killGroup(pid, signal) {
  killOne(-pid, signal);
}

/**
 * @param {number} pid of a process; below zero, of a group
 * @param {NodeJS.Signals} signal
 */
function killOne(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // Nobody is there any more.
  }
}

/**
 * @param {number} id
 * @param {unknown} error
 */
function fail(id, error) {
  const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
  tell({ is: "failed", id, reason: message, code });
}

/** @param {Report} report */
function tell(report) {
  if (process.connected) process.send?.(report, undefined, undefined, () => {});
}
