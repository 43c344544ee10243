// Group commit: how many durable events a second one process writes from 1 and from 64 sessions at a time.
import { inDirectory, median, now, progress } from "../measure.mjs";
import { row } from "../report.mjs";
import { effect, finish, openDurable, Repeated } from "./rounds.mjs";

const EVENTS_PER_EFFECT = 2;

export async function measure({ quick }) {
  const rows = [];
  for (const sessions of [1, 64]) {
    const effects = sessions === 1 ? 1000 : 100;
    const rates = [];
    for (let pass = 0; pass <= (quick ? 1 : 3); pass++) {
      progress(`${sessions} sessions with ${effects} effects each, pass ${pass}`);
      const rate = await inDirectory((directory) => eventsPerSecond(directory, sessions, effects));
      if (pass > 0) rates.push(rate); // the first is warm-up
    }
    rows.push(row(`durable events from ${sessions} session${sessions > 1 ? "s" : ""}`, median(rates), "events/s"));
  }
  return rows;
}

async function eventsPerSecond(directory, sessions, effects) {
  const rath = await openDurable(directory);
  const begin = now();
  await Promise.all(Array.from({ length: sessions }, () => finish(rath, new Repeated(effects, effect))));
  const seconds = (now() - begin) / 1000;
  await rath.close();
  return (sessions * effects * EVENTS_PER_EFFECT) / seconds;
}
