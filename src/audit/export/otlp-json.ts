/** OTLP in its JSON encoding: ids in hex, 64-bit integers as text, enumerations as numbers. */

/** A value of an attribute. Whole numbers are integers; give `{ double }` where a fraction is meant. */
export type AttributeValue = string | number | boolean | readonly string[] | { readonly double: number };
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** The kinds of spans that are used here. */
export const spanKinds = { internal: 1, client: 3 } as const;

/** A span as it is built: times in ISO, attributes by name. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parent: Span | undefined;
  name: string;
  readonly kind: (typeof spanKinds)[keyof typeof spanKinds];
  start: string;
  end: string;
  readonly attributes: Record<string, AttributeValue | undefined>;
  readonly events: { readonly at: string; readonly name: string; readonly attributes: Attributes }[];
  readonly links: { readonly to: { readonly traceId: string; readonly spanId: string }; readonly attributes: Attributes }[];
  error?: { readonly message?: string | undefined } | undefined;
}

/** The beginning and end of a request around its spans, each of them JSON. */
export function requestAround(resource: Attributes, scope: { readonly name: string; readonly version: string }): readonly [string, string] {
  const about = `{"attributes":${JSON.stringify(attributesOf(resource))}}`;
  return [`{"resourceSpans":[{"resource":${about},"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[`, "]}]}]}"];
}

/** A span as JSON. */
export function spanJson(span: Span): string {
  const { traceId, spanId, parent, name, kind, start, end, attributes, events, links, error } = span;
  return JSON.stringify({
    traceId,
    spanId,
    ...(parent === undefined ? {} : { parentSpanId: parent.spanId }),
    name: formed(name),
    kind,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(end),
    attributes: attributesOf(attributes),
    ...(events.length === 0
      ? {}
      : {
          events: events.map((event) => ({
            timeUnixNano: nanoseconds(event.at),
            name: event.name,
            attributes: attributesOf(event.attributes),
          })),
        }),
    ...(links.length === 0
      ? {}
      : { links: links.map(({ to, attributes: about }) => ({ traceId: to.traceId, spanId: to.spanId, attributes: attributesOf(about) })) }),
    status: error === undefined ? {} : { code: 2, ...(error.message === undefined ? {} : { message: formed(error.message) }) },
  });
}

function attributesOf(attributes: Attributes): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: encodedValue(value) }]));
}

function encodedValue(value: AttributeValue): object {
  switch (typeof value) {
    case "string":
      return { stringValue: formed(value) };
    case "boolean":
      return { boolValue: value };
    case "number":
      return Number.isSafeInteger(value) ? { intValue: String(value) } : doubleOf(value);
    default:
      return "double" in value ? doubleOf(value.double) : { arrayValue: { values: value.map((one) => ({ stringValue: formed(one) })) } };
  }
}

function doubleOf(value: number): object {
  // What JSON cannot say is text in protobuf's JSON.
  return { doubleValue: Number.isFinite(value) ? value : Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity" };
}

/** Strings of protobuf are UTF-8, which has no lone surrogates. */
function formed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? Buffer.from(text).toString() : text;
}

function nanoseconds(iso: string): string {
  return `${Math.max(0, Date.parse(iso))}000000`;
}
