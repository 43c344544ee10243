/** What a call is answered with, before anybody sends it. A `Response` costs more than most answers do: it is made where one is asked for. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadableStream<Uint8Array> | null;
}

export function responseOf({ status, headers, body }: Answer): Response {
  return new Response(body as string | ReadableStream<Uint8Array<ArrayBuffer>> | null, { status, headers });
}
