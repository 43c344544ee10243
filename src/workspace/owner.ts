/**
 * Who has a checkout open. Each has a file that names its process; a checkout whose process is gone is an orphan. Nothing in it is
 * trusted: it is thrown away, and made again from the recorded tree when somebody asks.
 */
import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RathError } from "../session/errors.ts";
import type { CheckoutKind } from "./checkout.ts";
import { bootId, isRunning, machine, startOfThis } from "./machine.ts";
import { spawner } from "./spawner.ts";

export interface Owner {
  readonly pid: number;
  /** See `machine()`. */
  readonly host: string;
  /** Which start of the machine, and when in it the process began: a number alone is given to another process one day. */
  readonly boot: string;
  readonly started: string;
  readonly kind: CheckoutKind;
  /** The tree of the base it lies on, which has to stay as long as it does. */
  readonly base?: string | undefined;
  /** Whose files it holds. */
  readonly session?: string | undefined;
  readonly opened: string;
}

export interface Orphan {
  readonly id: string;
  readonly directory: string;
  /** Undefined when its process died before it could say who it was. */
  readonly owner: Owner | undefined;
}

const sandboxesOf = (home: string): string => join(home, "sandboxes");
const trashOf = (home: string): string => join(home, "trash");

/** Checkouts whose process is gone. Those of other machines are left alone: nobody here can know. */
export async function orphans(home: string): Promise<readonly Orphan[]> {
  const found: Orphan[] = [];
  for (const { id, directory, owner } of await openCheckouts(home)) {
    const dead = owner === undefined ? await isOlder(directory, Date.now() - moment) : owner.host === machine() && !isAlive(owner);
    if (dead) found.push({ id, directory, owner });
  }
  return found;
}

/**
 * Throws the files of an orphan away. Refuses when somebody has opened it by now; of another machine only those are removed whose
 * process is known to be gone by whoever asks.
 */
export async function removeOrphan(home: string, { id, directory }: Orphan, gone = false): Promise<void> {
  const owner = await readOwner(directory);
  if (owner !== undefined && (owner.host === machine() ? isAlive(owner) : !gone)) throw inUse(id);
  await emptyTrash(await toTrash(home, directory));
}

export async function openCheckouts(home: string): Promise<readonly Orphan[]> {
  const ids = await readdir(sandboxesOf(home)).catch(() => []);
  return Promise.all(
    ids.map(async (id) => {
      const directory = join(sandboxesOf(home), id);
      return { id, directory, owner: await readOwner(directory) };
    }),
  );
}

/** Makes the directory of a checkout, with the name of this process in it. What a dead one left under that id is thrown away. */
export async function claim(home: string, id: string, { kind, base, session }: Pick<Owner, "kind" | "base" | "session">): Promise<string> {
  if (!/^[\w.-]{1,200}$/.test(id) || id.startsWith(".")) {
    throw new RathError("workspace.invalid", `${JSON.stringify(id)} cannot be the id of a checkout.`, { details: { id } });
  }
  const directory = join(sandboxesOf(home), id);
  await mkdir(sandboxesOf(home), { recursive: true, mode: 0o700 });
  for (const last of [false, true]) {
    try {
      await mkdir(directory, { mode: 0o700 });
      break;
    } catch (error) {
      const orphan = (await orphans(home)).find((each) => each.id === id);
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (last || orphan === undefined) throw inUse(id);
      await toTrash(home, directory).then(emptyTrash);
    }
  }
  const owner: Owner = { ...thisProcess(), kind, base, session, opened: new Date().toISOString() };
  await writeFile(join(directory, "owner.json"), `${JSON.stringify(owner)}\n`, { flag: "wx", mode: 0o600 });
  return directory;
}

/** A new name that says which process of which machine it is of. */
export function ownName(): string {
  return `${process.pid}.${startOfThis()}.${Math.random().toString(36).slice(2)}@${encodeURIComponent(machine())}`;
}

/** Those of a directory whose process is gone. Of another machine nobody here can know: what it did not touch for a day is left too. */
export async function leftBy(directory: string, names: readonly string[], now = Date.now()): Promise<readonly string[]> {
  const left: string[] = [];
  for (const name of names) {
    const [, pid, started, host] = /(\d+)\.(\d*)\.\w+@(.+)$/.exec(name) ?? [];
    const isOurs = host === encodeURIComponent(machine());
    if (isOurs ? !isRunning(Number(pid), started) : await isOlder(join(directory, name), now - day)) left.push(name);
  }
  return left;
}

/** A new name among what is to be removed, of this process. */
export function trashPlace(home: string): string {
  return join(trashOf(home), ownName());
}

/** What processes that are gone had not yet removed. */
export async function leftTrash(home: string, now = Date.now()): Promise<readonly string[]> {
  const trash = trashOf(home);
  const left = await leftBy(trash, await readdir(trash).catch(() => []), now);
  return left.map((name) => join(trash, name));
}

/** Takes a directory out of the way at once; removing what is in it may take long. Gives its new place. */
export async function toTrash(home: string, directory: string): Promise<string> {
  await mkdir(trashOf(home), { recursive: true, mode: 0o700 });
  const place = trashPlace(home);
  await rename(directory, place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  return place;
}

/** Removes what was put away, by another process so that nobody waits for a hundred thousand files. What fails is left for later. */
export async function emptyTrash(place: string): Promise<void> {
  const script = 'rm -rf -- "$1" 2>/dev/null || { chmod -R u+rwx -- "$1"; rm -rf -- "$1"; }';
  const removal = await spawner().spawn({ argv: ["/bin/sh", "-c", script, "sh", place], env: { PATH: "/usr/bin:/bin" } });
  await removal.exited.catch(() => undefined);
}

async function readOwner(directory: string): Promise<Owner | undefined> {
  try {
    const owner = JSON.parse(await readFile(join(directory, "owner.json"), "utf8")) as Owner;
    return Number.isInteger(owner.pid) ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** Long enough for its process to have written who it is. */
const moment = 10_000;
const day = 24 * 3_600_000;

/** Whether something was changed last before a time, in milliseconds since 1970. */
async function isOlder(path: string, time: number): Promise<boolean> {
  try {
    return (await stat(path)).ctimeMs < time;
  } catch {
    return false;
  }
}

function isAlive({ pid, boot, started }: Owner): boolean {
  return boot === bootId() && isRunning(pid, started);
}

function thisProcess(): Pick<Owner, "pid" | "host" | "boot" | "started"> {
  return { pid: process.pid, host: machine(), boot: bootId(), started: startOfThis() };
}

function inUse(id: string): RathError {
  return new RathError("sandbox.failed", `The checkout ${id} is open already, here or in another process.`, { details: { id } });
}
