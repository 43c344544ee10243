/** The key that records are signed with, in a file: made at first use, readable by its owner alone. */
import { randomUUID } from "node:crypto";
import { constants, copyFile, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RathError } from "../session/errors.ts";
import { Key } from "./key.ts";

export async function signingKeyIn(folder: string): Promise<Key> {
  const file = join(folder, "signing-key.pem");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const known = await readFile(file, "utf8").catch(ignoreMissing);
  if (known !== undefined) return keyIn(file, known);
  // Of several processes that begin at once one makes it, and nobody ever sees half of it, also when that one dies.
  const made = `${file}.${process.pid}.${randomUUID()}`;
  try {
    await writeFile(made, new Key(undefined).pem, { flag: "wx", mode: 0o600 });
    // Where there are no links it is copied.
    await link(made, file)
      .catch((error: NodeJS.ErrnoException) => (error.code === "EEXIST" ? undefined : copyFile(made, file, constants.COPYFILE_EXCL)))
      .catch(ignoreExisting);
  } finally {
    await rm(made, { force: true });
  }
  return keyIn(file, await readFile(file, "utf8"));
}

function keyIn(file: string, pem: string): Key {
  try {
    return new Key(pem);
  } catch (cause) {
    throw new RathError(
      "value.unsupported",
      `${file} is no ed25519 key in PEM: put its copy back, or remove it, and the next run makes another. Nothing was signed.`,
      { cause, details: { field: "signing key" } },
    );
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
