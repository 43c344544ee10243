// A fork must cost the same whatever lies behind it.
import { openrath } from "../../dist/index.js";
import { median, now, progress, settleHeap } from "../measure.mjs";
import { row } from "../report.mjs";
import { EVENTS_PER_ROUND, finish, Repeated } from "./rounds.mjs";

const MANY = 10_000;

export async function measure({ quick }) {
  const rows = [];
  for (const events of quick ? [10, 10_000] : [10, 10_000, 100_000]) {
    progress(`fork with ${events} events behind it`);
    const rath = openrath({ store: "memory" });
    const session = await finish(rath, new Repeated(Math.ceil(events / EVENTS_PER_ROUND)));
    forks(session, "warm", MANY);
    const times = [];
    for (let i = 0; i < 2000; i++) {
      const begin = now();
      session.fork(`x${i}`);
      times.push(now() - begin);
    }
    rows.push(row(`fork, ${events} events behind`, 1000 * median(times), "µs", "<= 10"));
    if (events === 10_000) rows.push(...many(session));
    await rath.close();
  }
  return rows;
}

/** Time and memory of many forks of one value, all kept. */
function many(session) {
  const before = settleHeap();
  const begin = now();
  const kept = forks(session, "many", MANY);
  const ms = now() - begin;
  const megabytes = (settleHeap() - before) / 1e6;
  if (new Set(kept.map((fork) => fork.id)).size !== MANY) throw new Error("two forks have one id");
  return [row(`${MANY} forks of one session`, ms, "ms", "< 1000"), row(`${MANY} forks of one session, memory`, megabytes, "MB", "< 50")];
}

function forks(session, label, count) {
  return Array.from({ length: count }, (_, i) => session.fork(`${label}${i}`));
}
