/** A file as data, line by line: all of it may be longer than a text can be. */
import { createReadStream } from "node:fs";
import { readLines } from "../audit/export/lines.ts";
import type { Cli } from "./cli.ts";
import { jsonText, Shown } from "./shown.ts";

/** To a file or another program byte for byte, since hashes are over bytes; to a terminal the same values, harmless. */
export async function printFile(cli: Cli, file: string): Promise<void> {
  for await (const { bytes } of readLines(createReadStream(file, { highWaterMark: 1_048_576 }), Number.POSITIVE_INFINITY)) {
    const line = bytes.toString("utf8");
    cli.print(cli.host.out.isTTY ? jsonText(line) : new Shown(line, 0));
  }
}
