/** Bodies of answers, read a piece at a time, and no longer than somebody waits for them. */

/** The pieces as they are asked for. Rejects with the reason of the signal; whoever stops early lets the connection go. */
export async function* piecesOf(body: ReadableStream<Uint8Array> | null, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  // A `fetch` that was given to us may know nothing of signals: a read that waits is ended by this alone.
  const stop = (): void => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

/** The first `most` bytes as text: what a stranger sends may have no end. */
export async function readText({ body }: Response, most: number, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let room = most;
  for await (const piece of piecesOf(body, signal)) {
    text += decoder.decode(piece.subarray(0, room), { stream: true });
    room -= piece.length;
    if (room <= 0) break;
  }
  return text + decoder.decode();
}

/** Rejects with the reason of the signal where the promise itself does not. */
export function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const left = (): void => reject(signal.reason as Error);
    if (signal.aborted) left();
    signal.addEventListener("abort", left, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", left));
  });
}
