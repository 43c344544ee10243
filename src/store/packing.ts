/** Numbers, times and bytes as frames pack them. */

/** What every Node Buffer has and its types leave out: the same as toString and write, without looking up the encoding. */
interface FastBuffer extends Buffer {
  latin1Slice(start: number, end: number): string;
  hexSlice(start: number, end: number): string;
  latin1Write(text: string, at: number, length: number): number;
  hexWrite(text: string, at: number, length: number): number;
}

/** The same bytes as a Buffer; nothing is copied. */
export function asBuffer(bytes: Uint8Array): FastBuffer {
  return (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) as FastBuffer;
}

/** Numbers below 2^53 in base 128, lowest digit first; the high bit says that more follows. */
export class VarintWriter {
  readonly #bytes: Buffer;
  length = 0;

  constructor(room: number) {
    this.#bytes = Buffer.allocUnsafe(room);
  }

  number(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.#bytes[this.length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.length++] = rest;
  }

  signed(value: number): void {
    this.number(value < 0 ? -2 * value - 1 : 2 * value);
  }

  copy(target: Buffer, at: number, from: number, to: number): number {
    return this.#bytes.copy(target, at, from, to);
  }
}

export class VarintReader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  number(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 56; scale *= 128) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) break;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new Error("one of its numbers does not end");
  }

  signed(): number {
    const value = this.number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}

/** The text of the second worked on last. Making it takes Date, which costs more than the rest of an event, and frames made together share it. */
const memo = { second: 0, text: "1970-01-01T00:00:00." };

/** An ISO time in milliseconds. NaN unless the text is exactly what `toISOString` gives, in years that keep differences small. */
export function parseTime(text: string): number {
  if (text.length !== 24) return Number.NaN;
  if (text.startsWith(memo.text)) {
    const [a, b, c] = [text.charCodeAt(20) - 48, text.charCodeAt(21) - 48, text.charCodeAt(22) - 48];
    const digits = a >= 0 && a <= 9 && b >= 0 && b <= 9 && c >= 0 && c <= 9 && text.endsWith("Z");
    return digits ? memo.second * 1000 + a * 100 + b * 10 + c : Number.NaN;
  }
  const time = Date.parse(text);
  return Math.abs(time) < 2 ** 48 && formatTime(time) === text ? time : Number.NaN;
}

export function formatTime(time: number): string {
  const second = Math.floor(time / 1000);
  if (second !== memo.second) {
    memo.text = new Date(second * 1000).toISOString().slice(0, 20);
    memo.second = second;
  }
  return withinSecond(time - second * 1000);
}

function withinSecond(milliseconds: number): string {
  return `${memo.text}${milliseconds < 10 ? "00" : milliseconds < 100 ? "0" : ""}${milliseconds}Z`;
}
