/** Servers that say exactly what a test tells them to, well-formed or not, and a proxy that cuts connections. */
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from "node:net";

export interface Listening extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Those that are open. */
  readonly sockets: ReadonlySet<Socket>;
}

/** Listens on a free port of loopback, or on this one. */
export async function listening(serve: (socket: Socket) => void, port = 0): Promise<Listening> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const at = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${at}`,
    port: at,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers the requests it gets with these bytes, one connection each; the last is said again and again. `asked` holds the requests. */
export async function rawServer(...answers: readonly string[]): Promise<Listening & { readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const server = await listening((socket) => {
    let request = "";
    socket.on("data", (piece) => {
      request += piece.toString("latin1");
      if (!request.includes("\r\n\r\n")) return;
      socket.removeAllListeners("data").resume();
      asked.push(request);
      socket.end(answers[Math.min(asked.length, answers.length) - 1] ?? "");
    });
  });
  return { ...server, asked };
}

/** An HTTP answer in full. */
export function answered(status: number, type: string, body: string, ...headers: readonly string[]): string {
  const lines = [`HTTP/1.1 ${status} X`, `content-type: ${type}`, `content-length: ${Buffer.byteLength(body)}`, ...headers];
  return `${lines.join("\r\n")}\r\nconnection: close\r\n\r\n${body}`;
}

/** Stands before a port. Each connection is killed after so many bytes of answers as `cut` says; undefined lets it live. */
export function cuttingProxy(port: () => number, cut: () => number | undefined): Promise<Listening> {
  return listening((socket) => {
    let left = cut() ?? Number.POSITIVE_INFINITY;
    const behind = dial(port(), "127.0.0.1");
    const end = (): void => {
      socket.destroy();
      behind.destroy();
    };
    behind.on("error", end).on("close", end);
    socket.on("close", end);
    socket.pipe(behind);
    behind.on("data", (piece) => {
      const through = piece.subarray(0, Math.min(left, piece.length));
      left -= piece.length;
      if (left > 0) socket.write(through);
      else socket.end(through, () => socket.destroy());
      if (left <= 0) behind.destroy();
    });
  });
}
