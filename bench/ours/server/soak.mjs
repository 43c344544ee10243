// Readers of a server for as long as one likes: npm run soak -- --server [--minutes 10] [--readers 1000].
import { join } from "node:path";
import { parseArgs } from "node:util";
import { inDirectory } from "../../measure.mjs";
import { startProcess } from "../../process.mjs";
import { follow } from "./streams.mjs";

const { values } = parseArgs({
  options: { server: { type: "boolean" }, minutes: { type: "string", default: "10" }, readers: { type: "string", default: "1000" } },
});
await inDirectory(async (directory) => {
  const host = startProcess(new URL("./host.mjs", import.meta.url));
  try {
    const { port, token } = await host.ask("start", join(directory, "rath.db"));
    const sessions = await host.ask("fill", { sessions: 10, events: 2 });
    const seconds = Number(values.minutes) * 60;
    console.log(`soak: ${values.readers} readers for ${values.minutes} minutes`);
    const report = await follow(host, {
      port,
      token,
      sessions,
      readers: Number(values.readers),
      seconds,
      perSecond: 10,
      progress: console.log,
    });
    await host.ask("stop");
    const grown = report.end.rss / report.early.rss;
    const bad = report.lost > 0 || report.twice > 0 || grown > 1.25;
    console.log(JSON.stringify({ ...report, grown }, undefined, 2));
    console.log(bad ? "soak: FAILED" : "soak: sound");
    process.exitCode = bad ? 1 : 0;
  } finally {
    await host.stop();
  }
});
