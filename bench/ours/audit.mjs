// Questions about a large session, each against reading the rows it needs: those of the logs behind the session, through the store
// port. To ask about a session it has to be opened, so both sides read them once; what asking adds is shown beside it.
import { join } from "node:path";
import { blame } from "../../dist/audit/audit.js";
import { verify, why } from "../../dist/index.js";
import { sqliteStore } from "../../dist/store/sqlite.js";
import { inDirectory, median, now, progress, settleHeap } from "../measure.mjs";
import { row } from "../report.mjs";
import { path, words, writeLargeSession } from "./audit-session.mjs";
import { openDurable } from "./rounds.mjs";

const PASSES = 5;

// Every question is measured in the same way: add one here (diff, grep). It gets the session and throws when the answer is wrong.
const QUESTIONS = {
  "why a line": async (session) => {
    const { hops } = await why(session, "notes/answer.md:2");
    if (hops[0]?.event.kind !== "tool.returned" || !hops.some(({ relation }) => relation === "was-in-context")) throw new Error("no why");
  },
  "why a phrase": async (session) => {
    const { hops } = await why(session, { answer: words });
    if (!hops.some(({ evidence }) => evidence.file?.path === path)) throw new Error("the phrase was not followed to its file");
  },
  blame: async (session) => {
    const lines = await blame(session, path);
    if (lines[0]?.text !== words) throw new Error("no blame");
  },
  verify: async (session) => {
    const report = await verify(session);
    if (!report.ok) throw new Error(String(report));
  },
};

export function measure({ quick }) {
  const shape = quick ? { events: 20_000, branches: 200 } : { events: 100_000, branches: 1000 };
  return inDirectory(async (directory) => {
    progress(`writing a session of ${shape.events} events on ${shape.branches} branches`);
    const rath = await openDurable(directory);
    const id = await writeLargeSession(rath, shape);
    await rath.close();
    const logs = await logsBehind(directory, id);
    const rows = [];
    for (const [name, ask] of Object.entries(QUESTIONS)) rows.push(...(await compare(directory, id, logs, name, ask)));
    return rows.map((r) => ({ ...r, name: `${r.name}, ${shape.events} events, ${shape.branches} branches` }));
  });
}

async function logsBehind(directory, id) {
  const rath = await openDurable(directory);
  const ids = new Set();
  for (const { session } of (await rath.open(id)).events()) ids.add(session);
  await rath.close();
  return [...ids];
}

async function compare(directory, id, logs, name, ask) {
  const [raw, ours, alone] = [[], [], []];
  for (let pass = 0; pass <= PASSES; pass++) {
    progress(`${name}, pass ${pass} of ${PASSES}`);
    settleHeap();
    const store = sqliteStore(join(directory, "rath.db"));
    const one = now();
    let read = 0;
    for (const session of logs) for await (const event of store.events({ session })) read += event.envelope.length;
    const two = now();
    await store[Symbol.asyncDispose]();
    if (read === 0) throw new Error("there are no rows");
    settleHeap();
    const three = now();
    const rath = await openDurable(directory);
    const session = await rath.open(id);
    const four = now();
    await ask(session);
    const five = now();
    await rath.close();
    if (pass === 0) continue; // warm-up
    raw.push(two - one);
    ours.push(five - three);
    alone.push(five - four);
  }
  const ratio = median(ours.map((ms, i) => ms / raw[i]));
  return [
    row(`open and ${name} / reading the rows`, ratio, "ratio", "<= 2"),
    row(`${name}, session open`, median(alone), "ms"),
    row(`${name}: reading the rows`, median(raw), "ms"),
  ];
}
