/** A stream as it is answered with: what every one of them has in common, whatever it tells. */
import { RathError } from "../session/errors.ts";
import { Outbox } from "./outbox.ts";
import type { Call } from "./route.ts";
import { comment, failure, retryAfter } from "./sse.ts";

/** How long a browser waits before it comes back. */
const retryMs = 1000;

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  // Proxies that buffer would hold back what happens now.
  "x-accel-buffering": "no",
};

type Calling = Pick<Call, "request" | "server" | "signal" | "runtime" | "caller">;

/**
 * Answers with what `tell` puts into the outbox. It ends when the reader leaves, the key is revoked or the server stops; none of these
 * loses anything, since what was not sent lies behind the cursor of what was. `left` is aborted then.
 */
export function openStream(call: Calling, tell: (outbox: Outbox, left: AbortSignal) => Promise<void>): Response {
  const { runtime, server, signal } = call;
  server.stopping.throwIfAborted();
  const left = new AbortController();
  const outbox = new Outbox({ most: server.limits.unread, onOver: () => left.abort() });
  const stop = (): void => outbox.end(server.stopping.aborted ? comment("the server stops: come back") : undefined);
  const beat = setInterval(() => {
    if (outbox.idle) outbox.push(comment("")); // who has not read the last one is not asked again
    void stillValid(call).then((valid) => valid || outbox.end(failure(revoked(), (text) => text)));
  }, server.limits.heartbeat);
  beat.unref();
  left.signal.addEventListener("abort", () => {
    clearInterval(beat);
    for (const source of [signal, server.stopping]) source.removeEventListener("abort", stop);
  });
  outbox.push(retryAfter(retryMs));
  if (signal.aborted) stop();
  else for (const source of [signal, server.stopping]) source.addEventListener("abort", stop, { once: true });
  tell(outbox, left.signal).catch((error: unknown) => {
    if (!RathError.is(error)) runtime.warn(`A stream ended: ${String(error)}`);
    outbox.end(failure(error, (text) => runtime.clean(text)));
  });
  return new Response(outbox.body, { headers });
}

/** A store of keys that is away for a moment revokes nobody. */
async function stillValid({ server, caller }: Calling): Promise<boolean> {
  return server.stillValid(caller).catch(() => true);
}

function revoked(): RathError {
  return new RathError("access.unauthenticated", "The key of this stream is not valid any more.");
}
