/** Calls under the spans of whoever watches. A telemetry that fails changes nothing about them. */
import type { CallSpan, Telemetry } from "../runtime/telemetry.ts";
import { textOfThrown } from "../session/thrown.ts";

/** The answer of the work, which is done once, whatever the telemetry does with it. */
export async function spanned<A extends { readonly status: number }>(
  telemetry: Telemetry | undefined,
  about: CallSpan,
  work: () => Promise<A>,
  warn: (message: string) => void,
): Promise<A> {
  if (telemetry === undefined) return work();
  let answer: Promise<A> | undefined;
  const once = (): Promise<A> => {
    answer ??= work();
    return answer;
  };
  try {
    await telemetry.call(about, once);
  } catch (error) {
    warn(`A call was not watched: the telemetry failed (${textOfThrown(error)}).`);
  }
  return once();
}
