// Many readers of streams, each of which must be told every event exactly once, and how long that takes.
import { connect } from "node:net";
import { request } from "./calls.mjs";

/**
 * Follows the project and several sessions with so many readers while messages are added for so long.
 * @returns what was delivered, how fast, what was lost or came twice, and what the server had in use after the first fifth and at the end.
 */
export async function follow(host, { port, token, sessions, readers, seconds, perSecond, progress = () => {} }) {
  const followed = await Promise.all(
    Array.from({ length: readers }, (_, i) => {
      const session = i % 2 === 0 ? undefined : sessions[((i - 1) / 2) % sessions.length];
      return reader(port, session === undefined ? "/v1/stream" : `/v1/sessions/${session}/stream`, token, session);
    }),
  );
  const total = Math.round(seconds * perSecond);
  const sent = new Map(sessions.map((id) => [id, 0]));
  const begin = performance.now();
  let early;
  for (let number = 0; number < total; number++) {
    const session = sessions[number % sessions.length];
    await host.ask("say", { session, number });
    sent.set(session, sent.get(session) + 1);
    if (number === Math.floor(total / 5)) {
      for (const { waits } of followed) waits.length = 0; // warm-up
      early = await host.ask("memory");
    }
    if (number % (perSecond * 10) === 0) progress(`${number} of ${total} events`);
    const due = begin + ((number + 1) * 1000) / perSecond;
    if (due > performance.now()) await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
  }
  const wanted = ({ session }) => (session === undefined ? total : sent.get(session));
  const late = performance.now() + 15_000;
  while (followed.some((one) => one.seen.size < wanted(one)) && performance.now() < late)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const end = await host.ask("memory");
  const waits = Float64Array.from(followed.flatMap((one) => one.waits)).sort();
  for (const { socket } of followed) socket.destroy();
  return {
    events: total,
    delivered: followed.reduce((sum, { seen }) => sum + seen.size, 0),
    lost: followed.reduce((sum, one) => sum + wanted(one) - one.seen.size, 0),
    twice: followed.reduce((sum, { twice }) => sum + twice(), 0),
    p50: waits[Math.floor(waits.length * 0.5)],
    p99: waits[Math.floor(waits.length * 0.99)],
    ...{ early, end },
  };
}

/** Reads a stream and notes which numbers came, and after how long. Ready once the stream has begun. */
function reader(port, path, token, session) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const seen = new Set();
    const waits = [];
    let [rest, again] = ["", 0];
    const one = { socket, session, seen, waits, twice: () => again };
    socket.on("connect", () => socket.write(request("GET", path, { token }))).on("error", reject);
    socket.on("data", (piece) => {
      const now = performance.timeOrigin + performance.now();
      rest += piece.toString("latin1");
      // Who is told where it stands misses nothing that comes after.
      if (rest.includes("event: open")) resolve(one);
      if (/^HTTP\/1\.1 [45]/.test(rest)) reject(new Error(rest.slice(0, 500)));
      const end = rest.lastIndexOf("\n\n");
      if (end < 0) return;
      for (const [, number, at] of rest.slice(0, end).matchAll(/no=(\d+) at=([\d.]+);/g)) {
        if (seen.has(number)) again++;
        seen.add(number);
        waits.push(now - Number(at));
      }
      rest = rest.slice(end);
    });
  });
}
