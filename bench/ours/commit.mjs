// One durable effect and one tool round against one raw commit of the same bytes, in turns within the same loop.
import { join } from "node:path";
import { sqliteStore } from "../../dist/store/sqlite.js";
import { inDirectory, median, now, progress } from "../measure.mjs";
import { rawCommits } from "../raw.mjs";
import { row } from "../report.mjs";
import { effect, finish, openDurable, Repeated, toolRound } from "./rounds.mjs";

/** Around which round the median is taken: [label, first, last]. */
const WINDOWS = [
  [30, 20, 40],
  [200, 150, 250],
  [800, 700, 900],
  [3000, 2800, 3000],
];
/** After so many rounds nothing is compiled any more; before, what a figure shows is how warm the process was, not how long the session is. */
const WARM_UP = 8000;

export async function measure({ quick }) {
  const windows = quick ? WINDOWS.slice(0, 3) : WINDOWS;
  const repeats = quick ? 3 : 5;
  const rows = [];
  for (const [name, step, goal] of [
    ["round", toolRound, "<= 1.5"],
    ["effect", effect, undefined],
  ]) {
    const bytes = await bytesOf(step);
    progress(`${name}, warm-up`);
    await interleaved(step, bytes, quick ? WARM_UP / 4 : WARM_UP);
    const passes = [];
    for (let i = 0; i < repeats; i++) {
      progress(`${name} against raw commit of ${bytes} bytes, pass ${i + 1} of ${repeats}`);
      passes.push(await interleaved(step, bytes, windows.at(-1)[2]));
    }
    const ratios = windows.map(([, from, to]) =>
      median(passes.map((pass) => inWindow(pass.ours, from, to) / inWindow(pass.raw, from, to))),
    );
    for (const [i, [label, from, to]] of windows.entries()) {
      rows.push(row(`durable ${name} / raw commit, at ${label}`, ratios[i], "ratio", label === 200 ? goal : undefined));
      if (label !== 200) continue;
      rows.push(row(`durable ${name}, at 200`, 1000 * median(passes.map((pass) => inWindow(pass.ours, from, to))), "µs"));
      rows.push(row(`raw commit of ${bytes} B, at 200`, 1000 * median(passes.map((pass) => inWindow(pass.raw, from, to))), "µs"));
    }
    if (!quick) rows.push(row(`durable ${name}, ratio at 3000 / at 30`, ratios[3] / ratios[0], "ratio", goal && "0.8..1.2"));
  }
  return rows;
}

const inWindow = (times, from, to) => median(times.slice(from, to));

/** Milliseconds per step, ours and raw, taken in turns. */
function interleaved(step, bytes, times) {
  return inDirectory(async (directory) => {
    const raw = rawCommits(join(directory, "raw.db"));
    const rath = await openDurable(directory);
    const body = Buffer.alloc(bytes, "x");
    const spent = { ours: [], raw: [] };
    const before = () => {
      const begin = now();
      raw.commit(body);
      spent.raw.push(now() - begin);
    };
    // No forced collection here: it would throw compiled code away with the garbage.
    await finish(rath, new Repeated(times, step, { before, spent: spent.ours }));
    await rath.close();
    raw.close();
    return spent;
  });
}

/** How many bytes one step adds to the log: envelopes and data as they are stored. */
function bytesOf(step) {
  return inDirectory(async (directory) => {
    const times = 100;
    const rath = await openDurable(directory);
    const session = await finish(rath, new Repeated(times, step));
    await rath.close();
    const store = sqliteStore(join(directory, "rath.db"));
    let bytes = 0;
    for await (const event of store.events({ session: session.id })) bytes += event.envelope.length + (event.data?.length ?? 0);
    await store[Symbol.asyncDispose]();
    return Math.round(bytes / times);
  });
}
