/** The spans that an OpenTelemetry SDK of the user's program still holds when a command ends: most send them only every few seconds. */
import { textOfThrown } from "../session/thrown.ts";

/** Where the API keeps what was registered, whichever copy of it was loaded: nothing is loaded here, and where nobody did, there is nothing to send. */
const registry = Symbol.for("opentelemetry.js.api.1");

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
  const provider = (globalThis as { readonly [registry]?: { readonly trace?: Provider } })[registry]?.trace;
  if (provider === undefined) return undefined;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`the collector has not answered for ${patienceMs / 1000} s`), patienceMs);
  });
  try {
    return await Promise.race([ended(provider.getDelegate?.() ?? provider), late]);
  } catch (error) {
    return textOfThrown(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Shutting it down also waits for what is on its way, which flushing does not. */
async function ended(provider: Provider): Promise<undefined> {
  if (provider.shutdown !== undefined) await provider.shutdown();
  else await provider.forceFlush?.();
}
