// Run it, kill -9 it, run it again: the same key finds the same run, finished effects are not repeated.
import { openrath, type Session, Workflow } from "openrath";
import { act } from "./ledger.ts";

class Migrate extends Workflow {
  async forward(session: Session) {
    for (const table of ["users", "orders", "items"]) {
      session = await session.do(`copy ${table}`, () => copy(table), { repeat: "once" });
    }
    return session.do("switch over", switchOver, { repeat: "once" });
  }
}
async function copy(table: string): Promise<{ rows: number }> {
  act(`copy ${table}`);
  return { rows: table.length };
}
async function switchOver(): Promise<{ at: string }> {
  act("switch over");
  return { at: "2026-11-15" };
}

const migrate = new Migrate();
await using rath = openrath({ workflows: { migrate } });
const run = await rath.run(migrate, rath.session(), { key: "migrate-2026-11" });
const settled = await run.settle();
if (settled.status === "waiting") {
  for (const pending of settled.pending) {
    if (pending.kind !== "unknown") continue;
    console.error(`"${pending.op}" may or may not have happened. Look, then: openrath resolve ${pending.id}`);
  }
  process.exitCode = 8;
} else if (settled.status === "done") console.log(settled.session.output.at);
