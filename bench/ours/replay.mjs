// A verified replay: the program runs again over its log, every result taken from it, nothing done anew.
import { replay } from "../../dist/index.js";
import { inDirectory, median, now, progress } from "../measure.mjs";
import { row } from "../report.mjs";
import { EVENTS_PER_ROUND, finish, openDurable, Repeated, toolRound } from "./rounds.mjs";

const PASSES = 3;

export function measure({ quick }) {
  const rounds = (quick ? 4_000 : 20_000) / EVENTS_PER_ROUND;
  return inDirectory(async (directory) => {
    const rath = await openDurable(directory);
    progress(`recording ${rounds} rounds`);
    const { id } = await finish(rath, new Repeated(rounds));
    const session = await rath.open(id);
    const rates = [];
    for (let pass = 0; pass <= PASSES; pass++) {
      progress(`replaying, pass ${pass} of ${PASSES}`);
      const begin = now();
      const report = await replay(session, new Repeated(rounds, toolRound));
      const seconds = (now() - begin) / 1000;
      if (!report.identical) throw new Error(`the replay differs: ${report}`);
      if (report.events < rounds * EVENTS_PER_ROUND) throw new Error(`only ${report.events} events were replayed`);
      if (pass > 0) rates.push(report.events / seconds); // the first is warm-up
    }
    await rath.close();
    return [row(`replay of ${rounds * EVENTS_PER_ROUND} events`, median(rates), "events/s", ">= 20000")];
  });
}
