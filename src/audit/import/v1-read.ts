/**
 * Reads a session file of OpenRath 1: a header, one line for each piece of the conversation, and a trailer. What is wrong is said
 * with its line and field. A last line without its line feed was cut off and is left out; without a trailer the writer was stopped.
 */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { z } from "zod";
import { counted } from "../../session/counted.ts";
import { RathError } from "../../session/errors.ts";
import { readLines } from "../export/lines.ts";
import { strictJson } from "./strict-json.ts";

/** What `session.imported` calls this format. */
export const v1 = "openrath-v1";

/** No line of such a file holds more. */
const longest = 64 * 1024 * 1024;

const text = z.string();
const maybe = z.string().nullish();
const tokens = z.int().min(0);
const header = z.object({
  type: z.literal("header"),
  schema_version: z.literal(1, "only version 1 is known"),
  id: z.string().min(1).max(500),
  created_at: z.union([z.string().max(100), z.number()]).nullish(),
  parent_session_ids: z.array(z.string().min(1).max(500)).nullish(),
  lineage_operator: maybe,
  lineage_kind: maybe,
  lineage_extras: z.array(z.array(z.unknown()).length(2, "must be a pair")).nullish(),
  sandbox_backend: maybe,
  sandbox_spec: z.looseObject({ env: z.record(z.string(), z.unknown()).nullish() }).nullish(),
  sandbox_handle_id: maybe,
});
const toolCall = z.object({
  id: text,
  type: z.literal("function").optional(),
  function: z.object({ name: text, arguments: maybe }),
});
const spoken = z.object({ content: text });
const payloads = {
  system: spoken,
  user: spoken,
  assistant: z.object({ content: maybe, tool_calls: z.array(toolCall).nullish() }),
  tool_result: z.object({ tool_call_id: text, name: maybe, content: text }),
} as const;
const chunk = z.object({ type: z.literal("chunk"), index: z.int().min(0), kind: z.enum(["system", "user", "assistant", "tool_result"]) });
const trailer = z.object({
  type: z.literal("trailer"),
  closed_at: z.union([z.string().max(100), z.number()]).nullish(),
  final_chunk_count: z.int().min(0),
  cumulative_usage: z
    .object({ prompt_tokens: tokens.nullish(), completion_tokens: tokens.nullish(), total_tokens: tokens.nullish() })
    .nullish(),
});

type Kind = keyof typeof payloads;
/** A piece of the conversation. `same` is equal for pieces that say the same. */
export type V1Chunk = { readonly line: number; readonly same: string } & {
  [K in Kind]: { readonly kind: K; readonly payload: z.infer<(typeof payloads)[K]> };
}[Kind];

/** A file that was read to its end and found right. */
export interface V1File {
  /** As messages name it. */
  readonly name: string;
  /** SHA-256 of its bytes. */
  readonly digest: string;
  readonly header: z.infer<typeof header>;
  readonly chunks: readonly V1Chunk[];
  /** None: whatever wrote it was stopped. */
  readonly trailer: z.infer<typeof trailer> | undefined;
  readonly warnings: readonly string[];
}

/** True for the first line of such a file. */
export function isV1Header(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && value["type"] === "header" && "schema_version" in value;
  } catch {
    return false; // whoever reads it says what is wrong
  }
}

/** Reads all of it; throws `bundle.invalid` at the first thing that is wrong. */
export async function readV1(name: string, bytes: AsyncIterable<Uint8Array>): Promise<V1File> {
  const reading = new Reading(name);
  const hash = createHash("sha256");
  let last = 10;
  const watched = async function* (): AsyncGenerator<Uint8Array, void> {
    for await (const part of bytes) {
      hash.update(part);
      last = part.at(-1) ?? last;
      yield part;
    }
  };
  // A line is looked at when the next one is there: the last one may have been cut off.
  let before: { readonly number: number; readonly bytes: Buffer } | undefined;
  for await (const line of readLines(watched(), longest)) {
    if (before !== undefined) reading.take(before.number, before.bytes);
    before = line;
  }
  if (before !== undefined && last === 10) reading.take(before.number, before.bytes);
  else if (before !== undefined) reading.warn(`line ${before.number} has no line feed at its end: it was cut off and is left out`);
  return reading.file(hash.digest("hex"));
}

class Reading {
  readonly #name: string;
  readonly #chunks: V1Chunk[] = [];
  readonly #warnings: string[] = [];
  #header: V1File["header"] | undefined;
  #trailer: V1File["trailer"];
  #line = 0;

  constructor(name: string) {
    this.#name = name;
  }

  warn(warning: string): void {
    this.#warnings.push(warning);
  }

  take(number: number, bytes: Buffer): void {
    this.#line = number;
    if (!isUtf8(bytes)) throw this.#wrong(undefined, "it is not UTF-8");
    const read = strictJson(bytes.toString());
    if ("problem" in read) throw this.#wrong(undefined, read.problem);
    if (!isRecord(read.value)) throw this.#wrong(undefined, "it is not a JSON object");
    const { type } = read.value;
    if (this.#header === undefined && type !== "header") throw this.#wrong("type", "the first line must be a header");
    if (this.#trailer !== undefined) throw this.#wrong("type", "something comes after the trailer");
    if (type === "header") this.#takeHeader(read.value);
    else if (type === "chunk") this.#takeChunk(read.value);
    else if (type === "trailer") this.#takeTrailer(read.value);
    else throw this.#wrong("type", "it must be header, chunk or trailer");
  }

  file(digest: string): V1File {
    if (this.#header === undefined) throw this.#wrong(undefined, "it has no header");
    return {
      name: this.#name,
      digest,
      header: this.#header,
      chunks: this.#chunks,
      trailer: this.#trailer,
      warnings: this.#warnings,
    };
  }

  #takeHeader(value: Record<string, unknown>): void {
    const found = this.#fitted(header, value);
    if (this.#header === undefined) this.#header = found;
    // Version 1 wrote the header again when it went on with a file.
    else if (found.id === this.#header.id) this.warn(`line ${this.#line} repeats the header and is left out`);
    else throw this.#wrong("id", "a second header names another session");
  }

  #takeChunk(value: Record<string, unknown>): void {
    const { index, kind } = this.#fitted(chunk, value);
    if (index !== this.#chunks.length) throw this.#wrong("index", `it is ${index}, the next one must be ${this.#chunks.length}`);
    const payload = this.#fitted(payloads[kind] as z.ZodType, value["payload"], "payload");
    const same = createHash("sha256")
      .update(JSON.stringify([kind, payload]))
      .digest("base64");
    this.#chunks.push({ line: this.#line, same, kind, payload } as V1Chunk);
  }

  #takeTrailer(value: Record<string, unknown>): void {
    const found = this.#fitted(trailer, value);
    if (found.final_chunk_count !== this.#chunks.length)
      throw this.#wrong("final_chunk_count", `it is ${found.final_chunk_count}, but the file has ${counted(this.#chunks.length, "chunk")}`);
    this.#trailer = found;
  }

  #fitted<T>(schema: z.ZodType<T>, value: unknown, around?: string): T {
    const { success, data, error } = schema.safeParse(value);
    if (success) return data;
    const [issue] = error.issues;
    const path = [...(around === undefined ? [] : [around]), ...(issue?.path ?? []).map(String)];
    throw this.#wrong(path.length === 0 ? undefined : path.join("."), issue?.message ?? "it does not fit");
  }

  #wrong(field: string | undefined, problem: string): RathError {
    return wrong(this.#name, { line: Math.max(1, this.#line), field }, problem);
  }
}

/** An error that says where in which file it is. */
export function wrong(
  name: string,
  where: { readonly line?: number | undefined; readonly field?: string | undefined },
  problem: string,
  cause?: unknown,
): RathError {
  const { line, field } = where;
  const place = [line === undefined ? undefined : `line ${line}`, field === undefined ? undefined : `field "${field}"`];
  const words = place.filter((part) => part !== undefined).join(", ");
  return new RathError(
    "bundle.invalid",
    `${name} cannot be imported${words === "" ? "" : ` (${words})`}: ${problem}. Nothing was written.`,
    {
      details: { file: name, ...(line === undefined ? {} : { line }), ...(field === undefined ? {} : { field }) },
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
