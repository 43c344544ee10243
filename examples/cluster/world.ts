/** A payment provider and a mailer that stand for real ones. What they do is in the table `ledger`, under the key of the call. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolContext } from "openrath";
import type { Pool } from "pg";

/** No uniqueness: what is done twice must be seen twice. */
export const ledgerTable =
  "CREATE TABLE ledger (key text, tool text, detail text, asked int DEFAULT 1, worker int, confirmed bool DEFAULT false)";

/** What a payment provider or a mailer does. They take a moment between doing something and saying so. */
export async function act(tool: string, detail: string, { key, deps }: ToolContext): Promise<{ readonly receipt: string }> {
  const { db } = deps as { readonly db: Pool };
  const again = tool === "refund" ? await db.query("UPDATE ledger SET asked = asked + 1 WHERE key = $1", [key]) : undefined;
  if (!again?.rowCount)
    await db.query("INSERT INTO ledger (key, tool, detail, worker) VALUES ($1, $2, $3, $4)", [key, tool, detail, process.pid]);
  await sleep(1500);
  await db.query("UPDATE ledger SET confirmed = true WHERE key = $1", [key]);
  return { receipt: key.slice(0, 8) };
}
