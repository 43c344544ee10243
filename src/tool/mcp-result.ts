/** What a server sends back, as values that the log can keep: text, structured content, or parts where there are files. */
import type { WireBlock, WireResource, WireResult } from "./mcp-sdk.ts";

/** A piece of what a server sent. Images, sounds and binary resources are files; `value` is structured content beside them. */
export type McpPart =
  | { readonly type: "text"; readonly text: string; readonly uri?: string }
  | { readonly type: "file"; readonly mediaType: string; readonly data: Uint8Array; readonly uri?: string }
  | { readonly type: "link"; readonly uri: string; readonly name?: string; readonly mediaType?: string }
  | { readonly type: "value"; readonly value: unknown };

/** The structured content when there is some, else the text; parts where neither says everything. Throws what the tool calls an error. */
export function outputOf(result: WireResult, tool: string): unknown {
  const parts = (result.content ?? []).map(partOf);
  if (result.isError === true) throw new Error(textOf(parts) || `The tool ${tool} failed and did not say why.`);
  const text = parts.every((part) => part.type === "text" && part.uri === undefined);
  // With structured content the text is the same thing written out, by the specification.
  if (result.structuredContent !== undefined)
    return text
      ? result.structuredContent
      : [{ type: "value", value: result.structuredContent }, ...parts.filter((part) => part.type !== "text" || part.uri !== undefined)];
  return text ? textOf(parts) : parts;
}

/** A block of content as a part. A kind that we do not know is kept as a value. */
export function partOf(block: WireBlock): McpPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text ?? "" };
    case "image":
    case "audio":
      return { type: "file", mediaType: block.mimeType ?? "application/octet-stream", data: bytes(block.data ?? "") };
    case "resource":
      return block.resource === undefined ? { type: "value", value: block } : resourcePart(block.resource);
    case "resource_link":
      return {
        type: "link",
        uri: block.uri ?? "",
        ...(block.name !== undefined && { name: block.name }),
        ...(block.mimeType !== undefined && { mediaType: block.mimeType }),
      };
    default:
      return { type: "value", value: block };
  }
}

/** A resource as a part. */
export function resourcePart(resource: WireResource): McpPart {
  const { uri, mimeType, text, blob } = resource;
  return blob === undefined
    ? { type: "text", text: text ?? "", uri }
    : { type: "file", mediaType: mimeType ?? "application/octet-stream", data: bytes(blob), uri };
}

function textOf(parts: readonly McpPart[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function bytes(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}
