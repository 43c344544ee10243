import { RathError } from "./errors.ts";

const units = { b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 } as const;

/** Bytes of a size like "512mb", "2gb" or "2g". Units are powers of 1024, as for files and memory. */
export function sizeBytes(size: string): number {
  const match = /^(\d+(?:\.\d+)?)(?:(b)|([kmgt])b?)$/i.exec(size);
  const bytes =
    match === null ? Number.NaN : Math.floor(Number(match[1]) * units[(match[2] ?? match[3])?.toLowerCase() as keyof typeof units]);
  if (!Number.isSafeInteger(bytes) || bytes <= 0)
    throw new RathError("value.unsupported", `"${size}" is not a size: write a number and one of b, kb, mb, gb, tb, like "512mb".`);
  return bytes;
}
