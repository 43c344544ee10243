/** Runs a command that does not end, and a background one, until it is killed. */
import { localSandbox } from "../../src/sandbox/local.ts";

const [, , directory, mark] = process.argv as unknown as [string, string, string, string];
const sandbox = await localSandbox().open({ session: "s", directory, network: "none", env: {} });
await sandbox.start?.(`exec -a background-${mark} sleep 1000`);
await sandbox.exec(`setsid bash -c 'exec -a daemon-${mark} sleep 1000' & echo running; exec -a command-${mark} sleep 1000`, {
  onOutput: (_from, text) => console.log(text),
});
