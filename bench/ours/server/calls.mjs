// Calls over sockets that are kept open, with as little of a client as possible: what is measured is the server.
import { connect } from "node:net";

/** How many calls a second come back, from so many connections at once, in so many milliseconds. */
export async function callsPerSecond(port, request, { connections = 16, ms }) {
  const until = performance.now() + ms;
  const begin = performance.now();
  const counts = await Promise.all(Array.from({ length: connections }, () => callUntil(port, request, until)));
  return counts.reduce((sum, count) => sum + count, 0) / ((performance.now() - begin) / 1000);
}

function callUntil(port, request, until) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let count = 0;
    let missing = -1;
    let head = "";
    const next = () => {
      missing = -1;
      head = "";
      socket.write(request);
    };
    socket.on("connect", next).on("error", reject);
    socket.on("data", (piece) => {
      if (missing < 0) {
        head += piece.toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) return;
        if (!/^HTTP\/1\.1 20[01] /.test(head)) return reject(new Error(head.slice(0, 500)));
        missing = Number(/\r\ncontent-length: (\d+)/i.exec(head)[1]) - (head.length - end - 4);
      } else missing -= piece.length;
      if (missing > 0) return;
      count++;
      if (performance.now() < until) return next();
      socket.destroy();
      resolve(count);
    });
  });
}

export function request(method, path, { token, body } = {}) {
  const lines = [`${method} ${path} HTTP/1.1`, "host: 127.0.0.1", ...(token === undefined ? [] : [`authorization: Bearer ${token}`])];
  if (body !== undefined) lines.push("content-type: application/json", `content-length: ${Buffer.byteLength(body)}`);
  return `${lines.join("\r\n")}\r\n\r\n${body ?? ""}`;
}
