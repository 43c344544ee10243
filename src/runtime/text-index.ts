/** Which index finds texts in the store of a runtime. Apart from the runtime itself: only questions about the past open it. */
import type { TextIndex } from "../store/text-index.ts";
import type { Runtime } from "./runtime.ts";

type OpenIndex = () => Promise<TextIndex | undefined>;

const openers = new WeakMap<Runtime, OpenIndex>();

/** Said once, by whoever puts a runtime together. */
export function indexedBy(runtime: Runtime, open: OpenIndex): void {
  openers.set(runtime, open);
}

/** The index of the runtime's store, for whoever asked to close; undefined where there is none. */
export async function openTextIndex(runtime: Runtime): Promise<TextIndex | undefined> {
  return openers.get(runtime)?.();
}
