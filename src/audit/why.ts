/** Why something is as it is: the events that led to it, step by step. */
import type { MemoryItem } from "../memory/memory.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Why } from "../session/why.ts";

/** The events that led to a memory. */
export async function whyMemory(runtime: Runtime, item: MemoryItem): Promise<Why> {
  throw new Error(`not yet ${runtime} ${item}`);
}
