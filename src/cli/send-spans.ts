/** The spans that an OpenTelemetry SDK of the user's program still holds when a command ends: most send them only every few seconds. */
import { textOfThrown } from "../session/thrown.ts";

/** Whoever loads the API leaves this behind, whichever copy of it: where nobody did, there is nothing to send, and nothing is loaded here. */
const loaded = Symbol.for("opentelemetry.js.api.1");

/** A collector that does not answer must not keep the command from ending. */
const patienceMs = 2000;

/** What the API hands out, and the SDK behind it. */
interface Provider {
  getDelegate?(): Provider;
  shutdown?(): Promise<void>;
  forceFlush?(): Promise<void>;
}

/** Gives the registered SDK a moment to send what it has. Resolves to what went wrong, in words. */
export async function sendSpans(): Promise<string | undefined> {
  if (!(loaded in globalThis)) return undefined;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`the collector has not answered for ${patienceMs / 1000} s`), patienceMs);
  });
  try {
    return await Promise.race([ended(), late]);
  } catch (error) {
    return textOfThrown(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Shutting it down also waits for what is on its way, which flushing does not. */
async function ended(): Promise<undefined> {
  const { trace } = await import("@opentelemetry/api");
  const provider = trace.getTracerProvider() as Provider;
  const registered = provider.getDelegate?.() ?? provider;
  if (registered.shutdown !== undefined) await registered.shutdown();
  else await registered.forceFlush?.();
}
