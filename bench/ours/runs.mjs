// Durable runs: how many a second, how soon another worker takes over, how soon a decision has an effect, what waiting runs cost.
// Every candidate runs in processes of its own (runs/worker.mjs, peers/dbos.mjs); this one only conducts.
import { join } from "node:path";
import { inDirectory } from "../measure.mjs";
import { withPostgres } from "../postgres.mjs";
import { decisions } from "./runs/decisions.mjs";
import { parked } from "./runs/parked.mjs";
import { recovery } from "./runs/recovery.mjs";
import { throughput } from "./runs/throughput.mjs";
import { workers } from "./runs/workers.mjs";

export function measure({ quick }) {
  return inDirectory((directory) =>
    withPostgres(directory, async (database) => {
      process.env["OPENRATH_HOME"] = join(directory, "home"); // where a runtime on PostgreSQL keeps its key
      let files = 0;
      /** Each makes an empty store and returns its address. */
      const stores = new Map([
        ["SQLite", () => join(directory, `rath-${files++}.db`)],
        ["PostgreSQL", database],
      ]);
      const rows = [];
      for (const part of [throughput, workers, recovery, decisions, parked]) rows.push(...(await part({ quick, stores })));
      return rows;
    }),
  );
}
