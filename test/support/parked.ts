/** Parks many runs in one process and says what they add to its memory. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openrath } from "../../src/openrath.ts";
import { Flow } from "./flow.ts";

const count = Number(process.argv[2]);
const folder = await mkdtemp(join(tmpdir(), "openrath-parked-"));
const asks = new Flow(async (session) => (await session.do("first", () => "x".repeat(1000), { repeat: "safe" })).ask("May I?"), "asks");
{
  await using rath = openrath({ store: join(folder, "store.db"), workflows: { asks } });
  const park = async (): Promise<void> => void (await (await rath.run(asks, rath.session("Go"))).settle());
  const parkAll = async (left: number): Promise<void> => {
    for (; left > 0; left -= 50) await Promise.all(Array.from({ length: Math.min(50, left) }, park));
  };
  await parkAll(200);
  const before = await used();
  await parkAll(count);
  const after = await used();
  const pending = await rath.pending();
  console.log(JSON.stringify({ heap: after.heap - before.heap, rss: after.rss - before.rss, pending: pending.length }));
}
await rm(folder, { recursive: true, force: true });

/** What is in use once nothing more can be forgotten. */
async function used(): Promise<{ readonly heap: number; readonly rss: number }> {
  for (let i = 0; i < 4; i++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}
