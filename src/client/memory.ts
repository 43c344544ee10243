/** Calls about memory. */
import type { Asked } from "../wire/api/asked.ts";
import type {
  MemoryChanged,
  MemoryFound,
  MemoryPut,
  MemoryRecordResource,
  MemoryUseResource,
  memoryDecision,
  memoryListQuery,
  memoryRollback,
  memorySearchQuery,
} from "../wire/api/memory.ts";
import type { WhyResource } from "../wire/api/why.ts";
import { at, type CallOptions } from "./call.ts";
import type { Connection } from "./connection.ts";
import type { PageQuery, Pages } from "./pages.ts";

/** Which memories a list has. */
export type MemoriesQuery = Asked<typeof memoryListQuery>;
/** What is looked for, beside the words. */
export type MemorySearchQuery = Asked<typeof memorySearchQuery>;
/** To where memory goes back, and why. */
export type MemoryRollback = Asked<typeof memoryRollback>;
/** Why a memory is taken back. */
export type MemoryReason = Asked<typeof memoryDecision>;

/**
 * Calls about what is remembered. A memory is named by its key, its uri, or "uri@version".
 *
 * @example
 * const { memory } = connect({ url: "http://127.0.0.1:7284", key: token });
 * await memory.remember("billing/currency", { content: "Invoices are in euros.", reason: "said by accounting" });
 * const { items } = await memory.search({ query: "currency of invoices" });
 */
export interface MemoryCalls {
  /** What is remembered, the newest version of each, oldest write first. */
  list(query?: MemoriesQuery & CallOptions): Pages<MemoryRecordResource>;
  /** What is remembered and matches, best first. */
  search(query: MemorySearchQuery & CallOptions): Promise<MemoryFound>;
  /** One memory, retracted or not. */
  get(memory: string, options?: CallOptions): Promise<MemoryRecordResource>;
  /** Remembers something under a key, for everybody from now on. */
  remember(key: string, memory: MemoryPut, options?: CallOptions): Promise<MemoryRecordResource>;
  /** Forgets a memory: nobody recalls it any more. What was made of it stays. */
  forget(memory: string, query: MemoryReason & CallOptions): Promise<MemoryChanged>;
  /** Every version of a memory, oldest first. */
  history(memory: string, query?: PageQuery & CallOptions): Pages<MemoryRecordResource>;
  /** The events that led to a memory, nearest first. */
  why(memory: string, options?: CallOptions): Promise<WhyResource>;
  /** Where a memory was recalled, and which model calls read it. */
  usedBy(memory: string, query?: PageQuery & CallOptions): Pages<MemoryUseResource>;
  /** What was made of a memory and holds now: what `retract` takes back with it. */
  derivedFrom(memory: string, query?: PageQuery & CallOptions): Pages<MemoryRecordResource>;
  /** Takes a memory back, and everything that was made of it. */
  retract(memory: string, why: MemoryReason, options?: CallOptions): Promise<MemoryChanged>;
  /** Makes all memory what it was at a revision or a time. */
  rollback(to: MemoryRollback, options?: CallOptions): Promise<MemoryChanged>;
}

export function memoryCalls(connection: Connection): MemoryCalls {
  return {
    list: (query) => connection.list("/v1/memories", query),
    search: async (query) => connection.get("/v1/memory/search", query),
    get: async (memory, options) => connection.get(at`/v1/memories/${memory}`, options),
    remember: async (key, memory, options) => connection.put(at`/v1/memories/${key}`, memory, options),
    forget: async (memory, query) => connection.delete(at`/v1/memories/${memory}`, query),
    history: (memory, query) => connection.list(at`/v1/memories/${memory}/versions`, query),
    why: async (memory, options) => connection.get(at`/v1/memories/${memory}/why`, options),
    usedBy: (memory, query) => connection.list(at`/v1/memories/${memory}/uses`, query),
    derivedFrom: (memory, query) => connection.list(at`/v1/memories/${memory}/derived`, query),
    retract: async (memory, why, options) => connection.post(at`/v1/memories/${memory}/retract`, why, options),
    rollback: async (to, options) => connection.post("/v1/memory/rollback", to, options),
  };
}
