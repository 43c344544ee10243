import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { sendStream } from "./send-stream.ts";

class Outgoing extends EventEmitter {
  readonly written: number[] = [];
  destroyed = false;
  ended = false;
  full = false;
  writeHead(status: number): void {
    this.written.push(status);
  }
  flushHeaders(): void {}
  write(piece: Uint8Array): boolean {
    if (this.written.length < 100) this.written.push(piece[0] as number);
    return !this.full;
  }
  end(): void {
    this.ended = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
}

const sending = (outgoing: Outgoing, body: ReadableStream<Uint8Array>): Promise<void> =>
  sendStream({ status: 200, headers: {}, body }, outgoing as unknown as ServerResponse);

// Mutant: each piece is read in what follows the one before it (`read().then(flow)` that `flow` returns).
test("a stream that lasts keeps nothing of what it sent", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const used = (): number => {
    gc();
    return process.memoryUsage().heapUsed;
  };
  const [first, last] = [5000, 100_000];
  const heap: number[] = [];
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (++sent === first || sent === last) heap.push(used());
      if (sent > last) controller.close();
      else controller.enqueue(Uint8Array.of(7));
    },
  });
  const outgoing = new Outgoing();
  await sending(outgoing, body);
  expect([outgoing.ended, outgoing.written.slice(0, 3), heap.length]).toEqual([true, [200, 7, 7], 2]);
  expect(((heap[1] as number) - (heap[0] as number)) / (last - first)).toBeLessThan(40);
});

test("a reader that is slow is waited for, and one that leaves ends it", async () => {
  const outgoing = new Outgoing();
  outgoing.full = true;
  let cancelled = false;
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => controller.enqueue(Uint8Array.of(++pulled)),
      cancel: () => {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const done = sending(outgoing, body);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await turn();
  expect(outgoing.written).toEqual([200, 1]);
  outgoing.emit("drain");
  await turn();
  expect(outgoing.written).toEqual([200, 1, 2]);
  outgoing.destroyed = true;
  outgoing.emit("close");
  await done;
  expect([cancelled, outgoing.listenerCount("drain")]).toEqual([true, 0]);
});

// Mutants: a connection that was closed before is written to until the stream ends, which may be never; what goes wrong rejects.
test("nothing is read for a reader that left before the answer, or that cannot be answered", async () => {
  const cancelled: string[] = [];
  const endless = (name: string): ReadableStream<Uint8Array> =>
    new ReadableStream<Uint8Array>(
      {
        pull: () => Promise.reject(new Error(`${name} was read`)),
        cancel: () => void cancelled.push(name),
      },
      { highWaterMark: 0 },
    );
  const gone = new Outgoing();
  gone.destroyed = true;
  await sending(gone, endless("gone"));
  const odd = new Outgoing();
  odd.writeHead = () => {
    throw new TypeError("Invalid character in header content");
  };
  await sending(odd, endless("odd"));
  expect(cancelled).toEqual(["gone", "odd"]);
  expect([gone.written, odd.written, odd.destroyed]).toEqual([[], [], true]);
});
