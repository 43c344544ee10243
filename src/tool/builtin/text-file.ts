/** Text files as tools see them: text or not, and by line. */
import { RathError } from "../../session/errors.ts";
import type { Sandbox } from "../../session/session.ts";
import { workspacePath } from "../workspace-path.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text, exactly; undefined when the bytes are no UTF-8 text. */
export function decoded(bytes: Uint8Array): string | undefined {
  if (bytes.subarray(0, 8_192).includes(0)) return undefined;
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Lines without their ends. What follows the last end is a line when it is not empty. */
export function linesOf(text: string): readonly string[] {
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** A file's bytes, or an error that names what is there instead. */
export async function readBytes(sandbox: Sandbox, path: string): Promise<Uint8Array> {
  try {
    return await sandbox.read(path);
  } catch (error) {
    // It is there, and its content was not kept: the error says why.
    if (RathError.is(error) && error.details["why"] !== undefined) throw error;
    const beside = await namesBeside(sandbox, path);
    if (beside === undefined || beside.includes(workspacePath(path) ?? path)) throw error;
    const shown = beside.slice(0, 20).join(", ");
    const rest = beside.length > 20 ? ` and ${beside.length - 20} more` : "";
    throw new Error(
      `There is no file ${JSON.stringify(path)}. ${beside.length === 0 ? "Its directory is empty." : `Its directory has: ${shown}${rest}.`}`,
      { cause: error },
    );
  }
}

/** Whether something is at a path. */
export async function isThere(sandbox: Sandbox, path: string): Promise<boolean> {
  return (await namesBeside(sandbox, path))?.includes(workspacePath(path) ?? path) === true;
}

async function namesBeside(sandbox: Sandbox, path: string): Promise<readonly string[] | undefined> {
  const inside = workspacePath(path);
  if (inside === undefined) return undefined;
  const names: string[] = [];
  try {
    for await (const entry of sandbox.list(inside.includes("/") ? inside.slice(0, inside.lastIndexOf("/")) : ".")) names.push(entry.path);
  } catch {
    return undefined; // there is no such directory: the first error says enough
  }
  return names;
}
