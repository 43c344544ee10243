/**
 * Places that came with a bundle: where tools act, and what was found there. Somebody else chose them, for another machine. So each of them
 * is answered with no in the commit that stores it, under the id of the event, and nothing opens there until code of this machine
 * says `to(…)` itself.
 */
import { parseEnvelope } from "../session/codec.ts";
import { answerLogId } from "../session/id.ts";
import { Log } from "../session/log.ts";
import type { BranchWrite, StoredEvent } from "../store/store.ts";
import { link } from "./link.ts";
import type { Services } from "./services.ts";

const kinds: ReadonlySet<string> = new Set(["placement.changed", "workspace.captured"]);

/** The answers that go with events from elsewhere. */
export function refusalsOf(runtime: Services, events: readonly StoredEvent[]): readonly BranchWrite[] {
  const { platform } = runtime;
  const places = events.filter(({ envelope }) => kinds.has(parseEnvelope(platform.text(envelope)).kind));
  return places.map(({ id }) => {
    const log = new Log(answerLogId(platform, id), "answer");
    const data = { question: id, approve: false, reason: "it came with a bundle" };
    const node = link(runtime, { log, parents: [], kind: "answer.given", data, by: "runtime" });
    return { session: log.id, expectedHead: undefined, events: [runtime.toStored(node)], about: { log: "answer" as const } };
  });
}

/** Whether a placement, or what was found there, is somebody else's word. */
export async function isRefused(runtime: Services, event: string): Promise<boolean> {
  return (await runtime.answers.find(event)) !== undefined;
}
