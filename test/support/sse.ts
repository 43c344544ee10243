/** Streams of a server as tests read them: message by message, over `fetch` or a real connection. */
import { createParser } from "eventsource-parser";
import { local } from "./local-call.ts";

export interface Told {
  readonly id: string | undefined;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into what they are told
  readonly data: any;
}

export interface Listening extends AsyncDisposable {
  readonly response: Response;
  /** Everything that was read, comments too. */
  readonly raw: string[];
  /** The next message; undefined when the stream has ended. */
  next(): Promise<Told | undefined>;
  /** Reads until a message fits, and gives all up to it. */
  until(fits: (told: Told) => boolean): Promise<Told[]>;
}

type Fetch = (request: Request, env?: object) => Promise<Response>;

/** Opens a stream, after a message that was seen. */
export async function listen(fetched: Fetch, url: string, after?: string): Promise<Listening> {
  const stop = new AbortController();
  const headers: Record<string, string> = after === undefined ? {} : { "last-event-id": after };
  const response = await fetched(new Request(url, { headers, signal: stop.signal }), local);
  const raw: string[] = [];
  const waiting: Told[] = [];
  const parser = createParser({
    onEvent: ({ id, event = "message", data }) => waiting.push({ id, type: event, data: JSON.parse(data) }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream() as never).getReader() as ReadableStreamDefaultReader<string>;
  const next = async (): Promise<Told | undefined> => {
    while (waiting.length === 0) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      raw.push(value);
      parser.feed(value);
    }
    return waiting.shift();
  };
  return {
    response,
    raw,
    next,
    until: async (fits) => {
      const all: Told[] = [];
      for (;;) {
        const told = await next();
        if (told === undefined) throw new Error(`the stream ended after ${JSON.stringify(all.slice(-3))}`);
        all.push(told);
        if (fits(told)) return all;
      }
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await reader.cancel().catch(() => {});
    },
  };
}

/** The ids of the events among what was told. */
export function eventsIn(told: readonly Told[]): string[] {
  return told.flatMap(({ type, data }) => (type === "event" ? [data.event.id as string] : []));
}
