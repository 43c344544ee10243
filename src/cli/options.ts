/** Values of options, checked where they enter. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { durationMs } from "../session/duration.ts";
import type { Duration } from "../session/session.ts";
import { refusalOf } from "../session/thrown.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";

/** A number that is not negative. */
export function numberOf(option: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw new InvalidArgumentError(`${option} takes a number, 0 or more.`);
    return value;
  };
}

/** A whole number that is not negative. */
export function wholeOf(option: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isSafeInteger(value) || value < 0)
      throw new InvalidArgumentError(`${option} takes a whole number, 0 or more.`);
    return value;
  };
}

/** The number of a port; 0 is a free one. */
export function portOf(option: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isInteger(value) || value < 0 || value > 65_535)
      throw new InvalidArgumentError(`${option} takes a whole number from 0 to 65535.`);
    return value;
  };
}

/** A number, negative ones too. */
export function anyNumberOf(option: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError(`${option} takes a number.`);
    return value;
  };
}

/** A time like 30s, 5m or 2h, in milliseconds. */
export function durationOf(text: string, option: string): number {
  if (!/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/.test(text)) throw new Fault(exits.usage, `${option} takes a time like 30s, 5m or 2h, not ${text}.`);
  return durationMs(text as Duration);
}

/** Options that may be given more than once. */
export function collected(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** JSON given on the command line. */
export function parsedJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new Fault(exits.invalid, `${what} takes JSON, not ${text}. Text is written with quotes: '"text"'.`, { cause });
  }
}

/** Text as it stands, `@FILE` for what a file holds, `-` for what is piped in. */
export async function textOf(cli: Cli, given: string): Promise<string> {
  if (given === "-") return (await cli.host.input.text()).trimEnd();
  if (!given.startsWith("@")) return given;
  const file = resolve(cli.host.cwd, given.slice(1));
  try {
    return (await readFile(file, "utf8")).trimEnd();
  } catch (cause) {
    throw new Fault(exits.notFound, `${given} names a file that cannot be read: ${refusalOf(cause)}.`, { cause });
  }
}
