/**
 * `openrath/telemetry`: OpenTelemetry spans while work is done. They say what `openrath export --format otlp` says of the record later,
 * but live, and what tools and models call is under them. Which SDK takes them is the application's choice; without one nothing happens.
 */
import type { Span, SpanOptions } from "@opentelemetry/api";
import { context, diag, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { clipped, errorTypeOf, invocation, placeOf, runId, type Told, toldOf } from "../audit/export/otlp-effects.ts";
import type { Attributes } from "../audit/export/otlp-json.ts";
import { nodePlatform } from "../runtime/platform.ts";
import type { Telemetry } from "../runtime/telemetry.ts";
import { version } from "../runtime/version.ts";
import { opOf } from "../session/event.ts";
import type { Node } from "../session/log.ts";
import { textOfThrown } from "../session/thrown.ts";
import { errorType, genAi } from "../wire/gen-ai.ts";

export type { CallSpan, RunSpan, Telemetry } from "../runtime/telemetry.ts";

/**
 * Spans for `openrath({ telemetry })`, made with the globally registered OpenTelemetry SDK. Runs are under the trace they were started
 * in, also when another process takes them up. With `content`, what was said and given to tools is in the spans too.
 *
 * @example
 * const rath = openrath({ store: "memory", telemetry: telemetry() });
 */
export function telemetry(options: { readonly content?: boolean | undefined } = {}): Telemetry {
  const content = options.content === true;
  const tracer = trace.getTracer("openrath", version());
  /** Who asked a model: that tells agents from other workflows. */
  const agents = new Set<string>();
  const within = <T>(
    name: string,
    about: SpanOptions,
    parent: ReturnType<typeof context.active>,
    work: (span: Span) => Promise<T>,
    then: (value: T, span: Span) => void,
  ): Promise<T> =>
    tracer.startActiveSpan(name, about, parent, async (span) => {
      try {
        const value = await work(span);
        told(() => then(value, span));
        return value;
      } catch (error) {
        span.setAttribute(errorType, error instanceof Error ? error.name : "thrown");
        span.setStatus({ code: SpanStatusCode.ERROR, ...(content ? { message: textOfThrown(error) } : {}) });
        throw error;
      } finally {
        span.end();
      }
    });
  return {
    run: ({ run, workflow, session, trace: started }, work) =>
      within(
        `run ${workflow}`,
        { attributes: { [runId]: run, [genAi.workflow]: workflow, [genAi.conversation]: session } },
        started === undefined ? context.active() : propagation.extract(ROOT_CONTEXT, { traceparent: started }),
        work,
        () => {},
      ),
    workflow: (began, work) => {
      const entered = began as Node;
      const worked = async (span: Span) => {
        try {
          return await work();
        } finally {
          told(() => tell(span, invocation(entered, agents.has(entered.by), nodePlatform)));
        }
      };
      return within(entered.by, {}, context.active(), worked, () => {});
    },
    effect: (event, work) => {
      const called = event as unknown as Node;
      if (called.kind === "model.called") agents.add(called.by);
      const kind = called.kind === "model.called" ? SpanKind.CLIENT : SpanKind.INTERNAL;
      return within(opOf(called.kind as "do.called"), { kind }, context.active(), work, (returned, span) =>
        describe(span, called, returned as unknown as Node, content),
      );
    },
    call: ({ method, route, headers }, work) =>
      within(
        `${method} ${route}`,
        { kind: SpanKind.SERVER, attributes: { "http.request.method": method, "http.route": route } },
        propagation.extract(context.active(), headers, {
          get: (from, key) => from.get(key) ?? undefined,
          keys: (from) => [...from.keys()],
        }),
        work,
        ({ status }, span) => {
          span.setAttribute("http.response.status_code", status);
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        },
      ),
    trace: () => {
      const carrier: Record<string, string> = {};
      propagation.inject(context.active(), carrier);
      return carrier["traceparent"];
    },
  };
}

/** What cannot be told is no reason for the work to fail. */
function told(tell: () => void): void {
  try {
    tell();
  } catch (error) {
    diag.warn(`openrath: a span was not described (${textOfThrown(error)})`);
  }
}

/** As the export of the record would: the same names and attributes. */
function describe(span: Span, called: Node, returned: Node, content: boolean): void {
  const op = opOf(called.kind as "do.called");
  const { name, attributes } = toldOf({ op, called, returned }, nodePlatform, content);
  tell(span, { name: clipped(name), attributes: { ...attributes, ...placeOf(called) } });
  const error = errorTypeOf(returned, nodePlatform);
  if (error === undefined) return;
  span.setAttribute(errorType, error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function tell(span: Span, { name, attributes }: Pick<Told, "name" | "attributes">): void {
  span.updateName(name);
  span.setAttributes(plain(attributes));
}

/** Numbers that are not whole are marked for the wire format of the export; here they are numbers. */
function plain(attributes: Attributes): Record<string, string | number | boolean | string[]> {
  const found: Record<string, string | number | boolean | string[]> = {};
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    found[key] = typeof value === "object" && "double" in value ? value.double : (value as string | number | boolean | string[]);
  }
  return found;
}
