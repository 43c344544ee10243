/** The pieces of a file as events: messages, replies and results of tools like any others, behind one that says where they come from. */
import type { Linking } from "../../runtime/link.ts";
import { facts } from "../../session/codec.ts";
import type { DataOf, EventKind } from "../../session/event.ts";
import { stateOf } from "../../session/fold.ts";
import { SharedText } from "../../session/json.ts";
import type { Node } from "../../session/log.ts";
import type { Platform } from "../../session/platform.ts";
import { digestOf } from "../../session/request.ts";
import { strictJson } from "./strict-json.ts";
import { type Planned, parentIds } from "./v1-plan.ts";
import { type V1Chunk, type V1File, v1 } from "./v1-read.ts";

/** Who wrote what people did not. */
const by = "import";

/** An event to be linked behind the one before it. */
export type Linked = Pick<Linking, "kind" | "data" | "by" | "facts"> & { readonly kind: EventKind };
/** Links an event, and gives its place. */
export type Add = (event: Linked) => Node;

/** How many events a piece becomes. */
export function eventsOf({ kind }: V1Chunk): number {
  return kind === "assistant" || kind === "tool_result" ? 2 : 1;
}

/** How many events come before those of the pieces. */
export function eventsBefore({ base, file }: Planned): number {
  if (base === undefined) return 1 + new Set(parentIds(file)).size;
  return base.merged.length === 0 ? 2 : 3;
}

/** How many there are in all. */
export function eventsIn(plan: Planned): number {
  let count = eventsBefore(plan) + (plan.file.trailer === undefined ? 1 : 0);
  for (const chunk of plan.chunks) count += eventsOf(chunk);
  return count;
}

/** What the file says of itself. Its usage counts: it was spent on what follows. */
export function importedEvent(file: V1File): Linked {
  const { header, trailer, chunks, digest, warnings } = file;
  const { prompt_tokens, completion_tokens } = trailer?.cumulative_usage ?? {};
  const { env, ...spec } = header.sandbox_spec ?? {};
  const sandbox = {
    ...given("backend", header.sandbox_backend),
    ...given("handle", header.sandbox_handle_id),
    ...(header.sandbox_spec == null ? {} : { spec: { ...spec, ...(env == null ? {} : { env: Object.keys(env).sort() }) } }),
  };
  const data: DataOf<"session.imported"> = {
    format: v1,
    id: header.id,
    parents: [...parentIds(file)],
    digest,
    ...given("createdAt", header.created_at == null ? undefined : String(header.created_at)),
    ...given("closedAt", trailer?.closed_at == null ? undefined : String(trailer.closed_at)),
    ...given("kind", header.lineage_kind),
    ...given("operator", header.lineage_operator),
    ...((header.lineage_extras ?? []).length === 0 ? {} : { extras: header.lineage_extras as unknown[][] }),
    ...(Object.keys(sandbox).length === 0 ? {} : { sandbox }),
    chunks: chunks.length,
    ...(trailer === undefined ? { interrupted: true } : {}),
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
  };
  const usage = { cacheWrite: 0, cached: 0, input: prompt_tokens ?? 0, output: completion_tokens ?? 0, reasoning: 0, usd: 0 };
  return { kind: "session.imported", data, by, facts: facts(usage.input + usage.output === 0 ? {} : { usage }) };
}

function given<K extends string>(key: K, value: string | null | undefined): { readonly [P in K]?: string } {
  return value == null ? {} : ({ [key]: value } as { readonly [P in K]: string });
}

/** Links the pieces, one after the other. */
export class Pieces {
  readonly #platform: Platform;
  readonly #add: Add;
  /** What no file says: it was not kept with the replies. */
  #configuration: SharedText;
  #calls: readonly { readonly id: string; readonly name: string; readonly input: string; taken: boolean }[] = [];

  constructor(platform: Platform, add: Add, before: readonly V1Chunk[]) {
    this.#platform = platform;
    this.#add = add;
    this.#configuration = SharedText.of(JSON.stringify({ instructions: "", tools: [] }), platform);
    // A fork may go on with the results of calls that were made before it.
    for (const chunk of before) this.#note(chunk);
  }

  link(chunk: V1Chunk, tip: Node): Node {
    switch (chunk.kind) {
      case "system":
      case "user":
        return this.#message(chunk);
      case "assistant":
        return this.#reply(chunk, tip);
      case "tool_result":
        return this.#result(chunk);
      default:
        return chunk satisfies never;
    }
  }

  /** Which calls the results that follow may belong to. */
  #note(chunk: V1Chunk): void {
    if (chunk.kind === "assistant")
      this.#calls = (chunk.payload.tool_calls ?? []).map(({ id, function: { name, arguments: input } }) => ({
        id,
        name,
        input: input ?? "",
        taken: false,
      }));
    else if (chunk.kind === "tool_result") this.#take(chunk.payload.tool_call_id);
    else this.#calls = [];
  }

  #take(id: string): { readonly index: number; readonly name: string; readonly input: string } | undefined {
    const index = this.#calls.findIndex((call) => call.id === id && !call.taken);
    const call = this.#calls[index];
    if (call === undefined) return undefined;
    call.taken = true;
    return { index, name: call.name, input: call.input };
  }

  #message(chunk: V1Chunk & { readonly kind: "system" | "user" }): Node {
    this.#note(chunk);
    const data = { role: chunk.kind, parts: [{ type: "text", text: chunk.payload.content }], outside: true } as const;
    return this.#add({ kind: "message.added", data, by: chunk.kind === "user" ? "user" : by, facts: facts({ outside: true }) });
  }

  #reply(chunk: V1Chunk & { readonly kind: "assistant" }, tip: Node): Node {
    this.#note(chunk);
    const { content } = chunk.payload;
    const request = digestOf(stateOf(tip).context, this.#platform);
    this.#add({ kind: "model.called", data: { model: "unknown", configuration: this.#configuration, request }, by });
    this.#configuration = this.#configuration.again();
    const calls = this.#calls.map(({ id, name, input }) => ({ type: "call", id, tool: name, input }) as const);
    const parts = [...(content == null || content === "" ? [] : [{ type: "text", text: content } as const]), ...calls];
    const data = { parts, finish: calls.length > 0 ? "calls" : "stop", unpriced: true } as const;
    return this.#add({ kind: "model.returned", data, by, facts: facts({ outcome: "ok", outside: true }) });
  }

  /** The result of a call that nobody made stays on record; models do not read it, since providers refuse it. */
  #result(chunk: V1Chunk & { readonly kind: "tool_result" }): Node {
    const { tool_call_id: id, name, content } = chunk.payload;
    const call = this.#take(id);
    const input = call === undefined ? undefined : strictJson(call.input === "" ? "{}" : call.input);
    const called = {
      name: call?.name ?? name ?? "unknown",
      repeat: "once",
      ...(input === undefined ? {} : "value" in input ? { input: input.value } : { raw: call?.input }),
      ...(call === undefined ? {} : { index: call.index }),
    };
    this.#add({ kind: "tool.called", data: called, by });
    const value = strictJson(content);
    return this.#add({
      kind: "tool.returned",
      data: { value: "value" in value ? value.value : content },
      by,
      facts: facts({ outcome: "ok" }),
    });
  }
}

/** What is said of a file without a trailer. */
export function interruptedEvent(): Linked {
  const reason = "The imported file ends without a trailer: whatever wrote it was interrupted.";
  return { kind: "agent.stopped", data: { stop: "error", reason }, by };
}
