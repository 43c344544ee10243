import type { Session } from "../../session/session.ts";
import type { Runtime } from "../../runtime/runtime.ts";
export async function importBundle(_runtime: Runtime, _source: string | AsyncIterable<Uint8Array>): Promise<Session> { throw new Error("soon"); }
