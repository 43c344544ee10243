/** Built once, for whoever asks in this process. */
import { buildRich } from "./rich.ts";

export const rich = await buildRich();
export const { session } = rich;
