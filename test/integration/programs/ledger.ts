/** What the user programs do to the world: a line in a file. The environment says where the process dies. */
import { appendFileSync } from "node:fs";

/** `DIE_BEFORE` and `DIE_AFTER` name an effect: the process is killed before or after its line is written. */
export function act(what: string): void {
  if (process.env["DIE_BEFORE"] === what) process.kill(process.pid, "SIGKILL");
  appendFileSync(process.env["LEDGER"] ?? "ledger.txt", `${what}\n`);
  if (process.env["DIE_AFTER"] === what) process.kill(process.pid, "SIGKILL");
}
