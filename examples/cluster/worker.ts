/** One worker: takes tickets off the database until it is told to stop, or until whoever started it is gone. */
import { openCluster } from "./team.ts";

const stop = new AbortController();
for (const sign of ["SIGTERM", "disconnect"] as const) process.once(sign, () => stop.abort());
process.on("SIGINT", () => {}); // Ctrl+C is for whoever started it
const rath = openCluster(process.env["DATABASE_URL"] ?? "");
await rath.work({ concurrency: 4, drain: "2s", signal: stop.signal });
await rath.close();
process.exit();
