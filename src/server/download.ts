/** Answers that are no JSON. What sessions hold was written by models and strangers: no browser may run it. */
import { isUtf8 } from "node:buffer";

const harmless = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
};

/** Text that we made. HTML and SVG of ours run nothing and load nothing; the policy holds them to it. */
export function textResponse(text: string, type: "text/plain" | "text/html" | "image/svg+xml"): Response {
  return new Response(text, { headers: { ...harmless, "content-type": `${type}; charset=utf-8` } });
}

/** Somebody's bytes: to be saved, never shown as what they claim to be. */
export function download(bytes: Uint8Array, name: string): Response {
  const text = isUtf8(bytes) && !bytes.includes(0);
  const headers = {
    ...harmless,
    "content-type": text ? "text/plain; charset=utf-8" : "application/octet-stream",
    "content-disposition": `attachment; filename*=UTF-8''${encoded(name)}`,
    "content-length": String(bytes.length),
  };
  return new Response(bytes as Uint8Array<ArrayBuffer>, { headers });
}

/** A file that we made, as it is read. */
export function downloadFile(
  body: ReadableStream<Uint8Array>,
  { name, type, bytes }: { name: string; type: string; bytes: number },
): Response {
  const headers = {
    ...harmless,
    "content-type": type,
    "content-disposition": `attachment; filename*=UTF-8''${encoded(name)}`,
    "content-length": String(bytes),
  };
  return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { headers });
}

/** The last part of a path, as RFC 8187 writes it. Half characters have no such form. */
function encoded(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1) as string & { toWellFormed(): string };
  return encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
}
