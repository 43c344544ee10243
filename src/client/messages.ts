/** One connection of a stream: its messages as they come, until it ends, breaks or falls silent. */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { Call } from "./call.ts";
import { type Connection, named } from "./connection.ts";
import { unreadable } from "./failure.ts";
import { piecesOf } from "./read-body.ts";

export interface Message {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Of one message nobody keeps more characters than these. */
const longest = 64 << 20;

/** Who is told what becomes of a connection. */
interface Listener {
  opened(): void;
  /** A heartbeat came: the connection stands, though there is nothing to say. */
  beat(): void;
}

export async function* messagesOf(connection: Connection, call: Call, { opened, beat }: Listener): AsyncGenerator<Message> {
  const silent = new AbortController();
  const { silenceMs } = connection;
  const listen = () => setTimeout(() => silent.abort(new Error(`nothing was heard for ${Math.round(silenceMs / 1000)} s`)), silenceMs);
  let timer = listen();
  try {
    const signal = call.signal === undefined ? silent.signal : AbortSignal.any([call.signal, silent.signal]);
    const response = await connection.open(call, signal);
    const type = response.headers.get("content-type") ?? "";
    if (!/^text\/event-stream\s*(?:;|$)/i.test(type)) throw unreadable(named(call), type || "no content type", response);
    opened();
    const read: EventSourceMessage[] = [];
    let tooLong = false;
    const parser = createParser({
      maxBufferSize: longest,
      onEvent: (message) => read.push(message),
      onComment: () => beat(),
      onError: ({ type }) => {
        tooLong ||= type === "max-buffer-size-exceeded";
      },
    });
    const decoder = new TextDecoder();
    for await (const piece of piecesOf(response.body, signal)) {
      clearTimeout(timer);
      parser.feed(decoder.decode(piece, { stream: true }));
      for (const message of read.splice(0)) yield messageOf(message, call, response);
      if (tooLong) throw unreadable(named(call), "a message that does not end", response);
      timer = listen();
    }
  } finally {
    clearTimeout(timer);
    silent.abort(new Error("no longer read"));
  }
}

function messageOf({ id, event = "message", data }: EventSourceMessage, call: Call, response: Response): Message {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (error) {
    throw unreadable(named(call), "a message that is not JSON", response, error);
  }
  if (typeof value !== "object" || value === null) throw unreadable(named(call), "a message that is no object", response);
  return { id: id === "" ? undefined : id, type: event, data: value as Message["data"] };
}
