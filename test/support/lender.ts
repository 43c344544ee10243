/**
 * Lends all test files of one run the same thing, which is made when the first of them asks.
 *
 * Test files run in processes of their own that end before the run does, so it belongs to the process that outlives them. They ask over
 * a socket, whose port they are given, and are told in text.
 */
import { connect, createServer } from "node:net";
import { text } from "node:stream/consumers";

export interface Lender {
  readonly port: number;
  close(): void;
}

export async function lend(make: () => Promise<string>): Promise<Lender> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    make().then(
      (told) => socket.end(told),
      (error: unknown) => socket.end(`failed: ${String(error)}`),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return { port: (server.address() as { port: number }).port, close: () => server.close() };
}

/** What is lent, once it is there. */
export async function borrow(port: number): Promise<string> {
  const told = await text(connect(port, "127.0.0.1"));
  if (told.startsWith("failed: ")) throw new Error(told);
  return told;
}
