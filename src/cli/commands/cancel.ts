/** `openrath cancel RUN`: asks, durably, that a run ends, and waits until it has. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { hasEnded, rowOfRun } from "../../runtime/run-row.ts";
import { RathError } from "../../session/errors.ts";
import type { RunRow } from "../../store/store.ts";
import type { Cli } from "../cli.ts";
import { personHere } from "../decide.ts";
import { exits, Fault } from "../fault.ts";
import { progressing } from "../progress.ts";
import { findOpenRun, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

/** Whoever executes it obeys within a second. One that cannot any more loses the run after a lease, and then it is ended from here. */
const patienceMs = 8000;
const everyMs = 100;

export function define(command: Command, cli: Cli): void {
  command
    .summary("cancel a run, whoever executes it")
    .description(
      "Asks that a run ends. The request is durable: whoever executes the run obeys it, now or when it takes the run up. What was done stays on record; effects under way are aborted.",
    )
    .argument("<id>", "a run, or a session whose open run it is")
    .option("--reason <text>", "why, for the record")
    .action((id: string, { reason }: { readonly reason?: string }) => cancel(cli, id, reason));
}

async function cancel(cli: Cli, name: string, reason: string | undefined): Promise<void> {
  const { rath, runtime } = await cli.project();
  const { id } = await findOpenRun(cli, name);
  const run = await rath.attach(id);
  await run.cancel(reason, { by: personHere(cli) });
  const store = await runtime.store();
  const look = async (): Promise<RunRow> => {
    const row = (await rowOfRun(store, id)) as RunRow;
    if (row.owner !== undefined || hasEnded(row.status)) return row;
    await run.cancel(reason, { by: personHere(cli) }).catch((error: unknown) => {
      if (!RathError.is(error, "run.ended")) throw error;
    });
    return (await rowOfRun(store, id)) as RunRow;
  };
  const row = await progressing(cli, "waiting until it is cancelled", "times", () => ended(look));
  const short = await shortIds(cli);
  const cancelled = hasEnded(row.status);
  if (cli.asJson)
    cli.data({ run: id, session: row.session, workflow: row.workflow, status: row.status, owner: row.owner ?? null, cancelled });
  else if (cancelled)
    cli.note(
      row.status === "cancelled"
        ? show`${cli.errInk.yellow("cancelled")} run ${short(id)} of ${row.workflow}, session ${short(row.session)}`
        : show`run ${short(id)} of ${row.workflow} had ended before it could be cancelled: ${row.status}`,
    );
  if (cancelled) {
    cli.exit = row.status === "cancelled" ? exits.ok : exits.differs;
    return;
  }
  throw new Fault(
    exits.timeout,
    `Run ${id} is to be cancelled, but its worker ${row.owner ?? ""} has not obeyed yet. The request is on record: it is obeyed when its worker answers, or by the next one that takes it up.`,
    { next: `openrath show ${short(id)}` },
  );
}

async function ended(look: () => Promise<RunRow>): Promise<RunRow> {
  for (const until = performance.now() + patienceMs; ; await sleep(everyMs)) {
    const row = await look();
    if (hasEnded(row.status) || performance.now() > until) return row;
  }
}
