/** Numbers, texts and digests as bytes, one after the other. A reader throws when the bytes end early. */
import { bytesOf, nameOf } from "./name.ts";

export class ByteWriter {
  #buffer = Buffer.allocUnsafe(1 << 16);
  #length = 0;

  /** A whole number from 0 to 2^48. */
  number(value: number): void {
    this.#room(6);
    this.#length = this.#buffer.writeUIntLE(value, this.#length, 6);
  }
  big(value: bigint): void {
    this.#room(8);
    this.#length = this.#buffer.writeBigInt64LE(BigInt.asIntN(64, value), this.#length);
  }
  /** Text as names are: bytes that are no UTF-8 come back. */
  text(value: string): void {
    const bytes = bytesOf(value);
    this.number(bytes.length);
    this.#room(bytes.length);
    this.#length += bytes.copy(this.#buffer, this.#length);
  }
  /** A SHA-256. */
  hex(value: string): void {
    this.#room(32);
    this.#length += this.#buffer.write(value, this.#length, 32, "hex");
  }
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #room(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + more));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

export class ByteReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  number(): number {
    return this.#take(6).readUIntLE(0, 6);
  }
  big(): bigint {
    return this.#take(8).readBigInt64LE(0);
  }
  text(): string {
    return nameOf(this.#take(this.number()));
  }
  hex(): string {
    return this.#take(32).toString("hex");
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#buffer.length) throw new RangeError("The bytes end early.");
    const bytes = this.#buffer.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }
}
