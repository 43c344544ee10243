// Processes of ours, opened on a store.
import { startProcess } from "../../process.mjs";

export const OURS = new URL("./worker.mjs", import.meta.url);

/** One more process on a store; `settings` go to its `open`. */
export async function startOurs(store, settings = {}) {
  const part = startProcess(OURS);
  await part.ask("open", { store, ...settings });
  return part;
}

/** Ends processes in good order. */
export async function stopAll(...parts) {
  await Promise.all(
    parts.map(async (part) => {
      await part.ask("close");
      await part.stop();
    }),
  );
}
