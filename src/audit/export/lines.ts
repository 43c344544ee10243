/** Lines in and out of files, a piece at a time. */
import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { RathError } from "../../session/errors.ts";

/** No line is longer: a line is held in memory as one string. */
export const longestLine = 256 * 1024 * 1024;
const chunkLength = 64 * 1024;

/** One line of a file, without its line feed. */
export interface Line {
  /** Counted from 1. */
  readonly number: number;
  readonly bytes: Buffer;
}

/** Splits bytes at line feeds. A last line without one counts too. */
export async function* readLines(source: AsyncIterable<Uint8Array>, longest = longestLine): AsyncGenerator<Line, void> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 1;
  const add = (part: Buffer): void => {
    length += part.length;
    if (length > longest)
      throw new RathError(
        "bundle.invalid",
        `Line ${number} is longer than ${longest} bytes: this is not a bundle, or its blobs are too large for one file; export it as a folder.`,
        { details: { line: number } },
      );
    if (part.length > 0) parts.push(part);
  };
  const take = (): Line => {
    const line = { number: number++, bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts) };
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of source) {
    if (!(chunk instanceof Uint8Array))
      throw new RathError(
        "bundle.invalid",
        `A bundle is read as bytes, but the source gave a ${typeof chunk}: give chunks of Uint8Array.`,
        { details: { line: number } },
      );
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      add(bytes.subarray(start, end));
      yield take();
      start = end + 1;
    }
    add(bytes.subarray(start));
  }
  if (length > 0) yield take();
}

/** Writes lines to a file that appears under its name only when all of it is there. */
export async function writeLines(file: string, lines: AsyncIterable<string>): Promise<void> {
  const path = resolve(file);
  await mkdir(dirname(path), { recursive: true });
  const partial = `${path}.${randomUUID()}.partial`;
  try {
    await writeFile(partial, chunks(lines), { flag: "wx" });
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

async function* chunks(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let waiting = "";
  for await (const line of lines) {
    waiting += `${line}\n`;
    if (waiting.length < chunkLength) continue;
    yield waiting;
    waiting = "";
  }
  if (waiting !== "") yield waiting;
}
