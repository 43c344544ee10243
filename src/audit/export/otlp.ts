/** A session as OpenTelemetry traces: one request of OTLP in its JSON encoding, with a span on each line. */
import { version } from "../../runtime/version.ts";
import type { Session } from "../../session/session.ts";
import { requestAround, type Span, spanJson } from "./otlp-json.ts";
import { spansOf } from "./otlp-spans.ts";

/** What goes into a trace. */
export interface OtlpOptions {
  /** Messages, arguments, results and the texts of errors too. Without it only what happened is told, not what was said. */
  readonly content?: boolean | undefined;
  /** `service.name` of the resource. */
  readonly service?: string | undefined;
}

/** The lines of the request. */
export async function* otlpLines(session: Session, options: OtlpOptions = {}): AsyncGenerator<string, void> {
  const spans = await spansOf(session, options.content === true);
  const [before, after] = aroundSpans(options);
  yield before;
  for (const [index, span] of spans.entries()) yield `${spanJson(span)}${index < spans.length - 1 ? "," : ""}`;
  yield after;
}

/** Requests of at most so many spans each. */
export async function* otlpBatches(
  session: Session,
  options: OtlpOptions & { readonly batch: number },
): AsyncGenerator<{ readonly body: string; readonly spans: number }, void> {
  const spans = await spansOf(session, options.content === true);
  const [before, after] = aroundSpans(options);
  for (let from = 0; from < spans.length; from += options.batch) {
    const some: readonly Span[] = spans.slice(from, from + options.batch);
    yield { body: `${before}${some.map(spanJson).join(",")}${after}`, spans: some.length };
  }
}

function aroundSpans({ service = "openrath" }: OtlpOptions): readonly [string, string] {
  const current = version();
  return requestAround({ "service.name": service, "openrath.version": current }, { name: "openrath", version: current });
}
