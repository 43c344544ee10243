/** A tool's result as providers take it: text, JSON, an error, or parts with images and files. */
import { counted } from "../session/counted.ts";
import type { Part, RequestResult } from "../session/message.ts";
import type { Dialect } from "./ai-sdk-dialect.ts";

export type Output = Readonly<Record<string, unknown>> & { readonly type: string };

/** The output of one call. V2 has no word for a refusal, so there it is an error like the others. */
export async function toolOutput(result: RequestResult, dialect: Dialect): Promise<Output> {
  const { outcome, value } = result;
  if (outcome === "denied" && dialect.version !== "v2") return { type: "execution-denied", reason: textOf(value) };
  if (outcome !== "ok") return { type: "error-text", value: textOf(value) };
  if (typeof value === "string") return { type: "text", value };
  if (isContent(value)) return { type: "content", value: await Promise.all(value.map((part) => contentPart(part, dialect))) };
  return { type: "json", value: plain(value) };
}

/** Base 64 of bytes. */
function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(binary);
}

/** The bytes of a part that is not a link. */
export async function bytesOf(data: Uint8Array | Blob): Promise<Uint8Array> {
  return data instanceof Uint8Array ? data : new Uint8Array(await data.arrayBuffer());
}

type ContentPart = Exclude<Part, { readonly type: "reasoning" }>;

/** Parts with at least one file among them; a list of texts is data like any other list. */
function isContent(value: unknown): value is readonly ContentPart[] {
  return Array.isArray(value) && value.every(isContentPart) && value.some((part) => part.type === "file");
}

function isContentPart(part: unknown): part is ContentPart {
  if (typeof part !== "object" || part === null || !("type" in part)) return false;
  if (part.type === "text") return "text" in part && typeof part.text === "string";
  if (part.type !== "file" || !("mediaType" in part) || typeof part.mediaType !== "string" || !("data" in part)) return false;
  return part.data instanceof Uint8Array || part.data instanceof Blob || part.data instanceof URL;
}

async function contentPart(part: ContentPart, { version }: Dialect): Promise<Output> {
  if (part.type === "text") return { type: "text", text: part.text };
  const { mediaType, data } = part;
  const image = mediaType.startsWith("image/");
  if (data instanceof URL) {
    if (version === "v4") return { type: "file", mediaType, data: { type: "url", url: data } };
    if (version === "v3") return image ? { type: "image-url", url: data.href } : { type: "file-url", url: data.href, mediaType };
    return { type: "text", text: data.href };
  }
  const bytes = await bytesOf(data);
  if (version === "v4") return { type: "file", mediaType, data: { type: "data", data: bytes } };
  return { type: version === "v2" ? "media" : image ? "image-data" : "file-data", data: base64(bytes), mediaType };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(plain(value));
}

/** The value as JSON has it. What JSON cannot say is named instead of being sent as an odd object. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key: string, kept: unknown) {
    const raw = this[key];
    if (ArrayBuffer.isView(raw)) return `(${counted(raw.byteLength, "byte")})`;
    return typeof raw === "bigint" || (typeof raw === "number" && !Number.isFinite(raw)) ? String(raw) : kept;
  });
  return text === undefined ? null : JSON.parse(text);
}
