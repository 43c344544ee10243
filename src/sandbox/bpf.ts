/** A small assembler of classic BPF, the language of seccomp filters. It only knows what such a filter needs. */

export type Line =
  /** A place that jumps name. */
  | { readonly label: string }
  /** Loads 32 bits of `struct seccomp_data`. */
  | { readonly load: number }
  | { readonly and: number }
  | { readonly jump: "=" | ">="; readonly value: number; readonly yes?: string; readonly no?: string }
  | { readonly goto: string }
  | { readonly give: number };

/** The bytes of `struct sock_filter[]`, little-endian. Jumps go forward only, as the kernel demands. */
export function assemble(lines: readonly Line[]): Uint8Array {
  const places = new Map<string, number>();
  const code = lines.filter((line): line is Exclude<Line, { readonly label: string }> => !("label" in line));
  let at = 0;
  for (const line of lines) {
    if ("label" in line) places.set(line.label, at);
    else at++;
  }
  const bytes = Buffer.alloc(code.length * 8);
  for (const [index, line] of code.entries()) {
    const distance = (label: string | undefined, most: number) => {
      if (label === undefined) return 0;
      const far = (places.get(label) ?? -1) - index - 1;
      if (far < 0 || far > most) throw new RangeError(`No jump reaches ${label} from instruction ${index}.`);
      return far;
    };
    const [operation, yes, no, value] = encode(line, distance);
    bytes.writeUInt16LE(operation, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return bytes;
}

type Distance = (label: string | undefined, most: number) => number;

function encode(line: Exclude<Line, { readonly label: string }>, distance: Distance): readonly [number, number, number, number] {
  if ("load" in line) return [0x20, 0, 0, line.load];
  if ("and" in line) return [0x54, 0, 0, line.and];
  if ("give" in line) return [0x06, 0, 0, line.give];
  if ("goto" in line) return [0x05, 0, 0, distance(line.goto, 0xffff)];
  return [line.jump === "=" ? 0x15 : 0x35, distance(line.yes, 255), distance(line.no, 255), line.value];
}
