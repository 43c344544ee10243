/**
 * File names are bytes. Here a name is a string: its UTF-8 text, in which each byte that is no UTF-8 is a lone surrogate U+DC80 to
 * U+DCFF. So every name has one string, and every such string gives its bytes back.
 */

/** Of raw bytes, the string. */
export function nameOf(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  if (!text.includes("\ufffd") || Buffer.from(text).equals(buffer)) return text;
  let name = "";
  for (let at = 0; at < buffer.length; ) {
    const length = lengthAt(buffer, at);
    const piece = buffer.subarray(at, at + Math.max(1, length));
    name += length === 0 ? String.fromCharCode(0xdc00 + (buffer[at] as number)) : piece.toString("utf8");
    at += piece.length;
  }
  return name;
}

/** Of a name or a path, the bytes. */
export function bytesOf(name: string): Buffer {
  if ((name as string & { isWellFormed(): boolean }).isWellFormed()) return Buffer.from(name);
  const pieces: Buffer[] = [];
  for (const unit of name) {
    const code = unit.charCodeAt(0);
    pieces.push(unit.length === 1 && code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(unit));
  }
  return Buffer.concat(pieces);
}

/** The order of names: of their bytes. */
export function compareNames(a: string, b: string): number {
  return Buffer.compare(bytesOf(a), bytesOf(b));
}

/** How many bytes of well-formed UTF-8 are here, 0 when there are none. */
function lengthAt(bytes: Buffer, at: number): number {
  const first = bytes[at] as number;
  const length =
    first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (length < 2) return length;
  const piece = bytes.subarray(at, at + length);
  return piece.length === length && Buffer.from(piece.toString("utf8")).equals(piece) ? length : 0;
}
