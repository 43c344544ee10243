/** Contents that are no text, as `git diff --binary` writes them: each whole, compressed, in git's own base 85. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { deflate } from "node:zlib";

/** What leads from one content to another and back. Undefined: there is no file on that side. */
export async function binaryPatch(before: Uint8Array | undefined, after: Uint8Array | undefined): Promise<string> {
  const index = `index ${blobId(before)}..${blobId(after)}\n`;
  return `${index}GIT binary patch\n${await literal(after)}\n${await literal(before)}\n`;
}

/** How git names a content; `git apply` refuses a binary patch that does not name both in full. */
function blobId(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return "0".repeat(40);
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

const compressed = promisify(deflate);

async function literal(bytes: Uint8Array = new Uint8Array()): Promise<string> {
  const packed: Buffer = await compressed(bytes);
  const lines = [`literal ${bytes.length}\n`];
  for (let at = 0; at < packed.length; at += lineBytes) {
    const line = packed.subarray(at, at + lineBytes);
    lines.push(`${lengths[line.length - 1]}${base85(line)}\n`);
  }
  return lines.join("");
}

const lineBytes = 52;
const lengths = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/** Four bytes are five digits, the highest first; what is missing of the last four is zero. */
function base85(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    let number = 0;
    for (let i = at; i < at + 4; i++) number = number * 256 + (bytes[i] ?? 0);
    let group = "";
    for (let i = 0; i < 5; i++, number = Math.floor(number / 85)) group = `${digits[number % 85]}${group}`;
    text += group;
  }
  return text;
}
