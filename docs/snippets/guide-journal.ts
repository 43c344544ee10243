/** Commands in order, one file each, in a directory that several processes may share. */
import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
// Bytes, vectors and undefined, which JSON does not have
import { deserialize, serialize } from "node:v8";
import { RathError } from "openrath";

/** Disposing of it waits for what is under way; whatever is asked afterwards is refused. */
export interface Journal<Command> extends AsyncDisposable {
  /** Applies what others have written since. */
  catchUp(): Promise<void>;
  /** Makes a command the next one, durably, and gives what came of applying it. */
  add<Result>(command: Command): Promise<Result>;
}

/** `apply` must depend on the commands alone: the same ones, in the same order, lead to the same state in every process. */
export function journal<Command>(folder: string, apply: (command: Command) => Promise<unknown>): Journal<Command> {
  let next = 1;
  let turn: Promise<unknown> = Promise.resolve();
  let closed = false;
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) throw new RathError("store.closed", `The journal of ${folder} is closed: open it again.`);
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
  };
  const file = (no: number): string => join(folder, `${String(no).padStart(9, "0")}.command`);
  const catchUp = async (): Promise<void> => {
    for (;;) {
      const bytes = await readFile(file(next)).catch(orIf("ENOENT"));
      if (bytes === undefined) return;
      next++;
      // What was refused when it was written is refused again.
      await apply(deserialize(bytes) as Command).catch(() => {});
    }
  };
  return {
    catchUp: () => inTurn(catchUp),
    add: <Result>(command: Command) => {
      const bytes = serialize(command); // now: the caller may change what it gave
      return inTurn(async () => {
        const written = await durable(folder, bytes);
        // Linking is the compare-and-set: of several who want the next number, one
        // gets it, and the others read it first.
        do await catchUp();
        while ((await link(written, file(next)).then(() => true, orIf("EEXIST"))) === undefined);
        next++;
        await rm(written);
        await syncFolder(folder);
        return (await apply(deserialize(bytes) as Command)) as Result;
      });
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await turn;
    },
  };
}

/** A file of its own that is on disk with all its bytes before it has a number. */
async function durable(folder: string, bytes: Uint8Array): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${randomUUID()}.new`);
  await using file = await open(path, "wx");
  await file.writeFile(bytes);
  await file.sync();
  return path;
}

async function syncFolder(folder: string): Promise<void> {
  await using directory = await open(folder);
  await directory.sync();
}

function orIf(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
