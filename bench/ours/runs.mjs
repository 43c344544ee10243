// Durable runs: how many a second, how soon another worker takes over, how soon a decision has an effect, what waiting runs cost.
// Every candidate runs in processes of its own (runs/worker.mjs, peers/dbos.mjs); this one only conducts.
import { join } from "node:path";
import { inDirectory } from "../measure.mjs";
import { withPostgres } from "../postgres.mjs";
import { parked } from "./runs/parked.mjs";
import { throughput } from "./runs/throughput.mjs";

export function measure({ quick }) {
  return inDirectory((directory) =>
    withPostgres(directory, async (database) => {
      let files = 0;
      const stores = [
        ["SQLite", () => join(directory, `rath-${files++}.db`)],
        ["PostgreSQL", database],
      ].filter(([name]) => name !== process.env["SKIP"]);
      const given = { quick, stores: new Map(stores) };
      return [...(await throughput(given)), ...(await parked(given))];
    }),
  );
}
