/** The content of a file as it can be shown: text, a small picture, or neither. */

export type Content =
  | { readonly type: "text"; readonly text: string; readonly isCut: boolean }
  | { readonly type: "picture"; readonly bytes: Uint8Array<ArrayBuffer>; readonly media: "image/png" | "image/jpeg" }
  | { readonly type: "bytes" };

const mostRead = 2 * 1024 * 1024;

/** No more is read than can be shown. */
export async function readContent(response: Response): Promise<Content> {
  const { bytes, isCut } = await firstBytes(response);
  const media = pictureOf(bytes);
  if (media !== undefined) return isCut ? { type: "bytes" } : { type: "picture", bytes, media };
  return textOf(bytes, isCut);
}

async function firstBytes(response: Response): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly isCut: boolean }> {
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const part = await reader?.read();
    if (part?.value === undefined) break;
    parts.push(part.value);
    length += part.value.length;
    if (length <= mostRead) continue;
    await reader?.cancel();
    break;
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return { bytes: all.subarray(0, mostRead), isCut: length > mostRead };
}

/** By what it begins with: names and headers say what they like. */
function pictureOf(bytes: Uint8Array): "image/png" | "image/jpeg" | undefined {
  const begins = (...expected: readonly number[]): boolean => expected.every((byte, index) => bytes[index] === byte);
  if (begins(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return "image/png";
  return begins(0xff, 0xd8, 0xff) ? "image/jpeg" : undefined;
}

function textOf(bytes: Uint8Array<ArrayBuffer>, isCut: boolean): Content {
  if (bytes.subarray(0, 8000).includes(0)) return { type: "bytes" };
  const text = new TextDecoder().decode(bytes);
  // Bytes that are no characters become signs of it: a few are broken text, many are no text.
  let broken = 0;
  for (let at = text.indexOf("\ufffd"); at >= 0 && broken <= text.length / 10; at = text.indexOf("\ufffd", at + 1)) broken++;
  return broken > text.length / 10 ? { type: "bytes" } : { type: "text", text, isCut };
}
