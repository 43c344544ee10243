/**
 * One process of the memory kill test: executes its runs, two at a time, on the files that all share, and ends itself by SIGKILL at
 * the n-th point of a name. Lines: READY, DYING point, STUCK run why.
 *
 * node --import tsx memory-worker.ts FOLDER RUNS POINT NTH MUTANT
 */
import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { MemoryStore } from "../../src/memory/memory.ts";
import { sqliteMemory } from "../../src/memory/sqlite.ts";
import { composeRath } from "../../src/openrath.ts";
import { Key } from "../../src/runtime/key.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { Learner } from "./memory-learner.ts";
import { breakRuntime, mutated } from "./memory-mutants.ts";

const [folder = "", runs = "", point = "", nth = "1", mutant = "none"] = process.argv.slice(2);

let left = Number(nth);

/** Dies here when it is this point's turn. */
function pass(name: string): void {
  if (name !== point || --left > 0) return;
  writeSync(1, `DYING ${name}\n`);
  process.kill(process.pid, "SIGKILL");
  for (;;); // the signal comes any moment
}

async function around<T>(name: string, act: () => Promise<T>): Promise<T> {
  pass(`before ${name}`);
  const done = await act();
  pass(`after ${name}`);
  return done;
}

function mortalStore(store: Store): Store {
  return {
    ...store,
    append: (write) => around(write.run?.status === "done" ? "end" : "append", () => store.append(write)),
  };
}

function mortalMemory(memory: MemoryStore): MemoryStore {
  return {
    ...memory,
    write: (writes, options) =>
      around(writes.every(({ item }) => item.key.startsWith("now-")) ? "now" : "publish", () => memory.write(writes, options)),
    used: (uses) => around("used", () => memory.used(uses)),
  };
}

breakRuntime(mutant);
const rath = composeRath(
  {
    store: mortalStore(sqliteStore(join(folder, "store.db"))),
    memory: mortalMemory(mutated(mutant, sqliteMemory(join(folder, "store.memory.db")))),
    implicitForks: "error",
  },
  { openKey: async () => new Key(readFileSync(join(folder, "signing-key.pem"), "utf8")) },
);

async function work(n: number): Promise<void> {
  const run = await rath.run(new Learner(), rath.session(`Learn ${n}.`), { key: `run-${n}` });
  const settled = await run.settle();
  if (settled.status === "done") return;
  const why = settled.status === "failed" ? settled.error.message : JSON.stringify(settled);
  writeSync(1, `STUCK ${n} ${settled.status} ${why.replaceAll("\n", " ")}\n`);
}

process.removeAllListeners("warning");
process.on("warning", () => {}); // refused writes are expected here; the record says them
writeSync(1, "READY\n");
const waiting = runs.split(",").map(Number);
const next = async (): Promise<void> => {
  for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) await work(n);
};
await Promise.all([next(), next()]);
await rath.close();
