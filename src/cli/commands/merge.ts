/** `openrath merge A B…`: joins branches at their common ancestor. */
import { type Command, Option } from "commander";
import { RathError } from "../../session/errors.ts";
import type { MergeOptions, Session } from "../../session/session.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly reason?: string;
  readonly context?: "answers" | "all";
  readonly conflicts?: "ours" | "theirs";
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("join branches into the first one")
    .description("Joins other branches into the first one, which goes on with both histories. Nothing changes when they conflict (exit 4).")
    .argument("<into>", "the session that goes on")
    .argument("<others...>", "the sessions that are joined into it")
    .option("--reason <text>", "why, for the record")
    .addOption(
      new Option("--context <what>", "what models read of the others: their answers, or all that was said").choices(["answers", "all"]),
    )
    .addOption(
      new Option("--conflicts <side>", "which side wins, with its whole file, where both changed the same thing").choices([
        "ours",
        "theirs",
      ]),
    )
    .action((into: string, others: readonly string[], options: Options) => merge(cli, into, others, options));
}

async function merge(cli: Cli, into: string, others: readonly string[], { reason, context, conflicts }: Options): Promise<void> {
  const { rath } = await cli.project();
  const session = await openSession(cli, into);
  const branches = await Promise.all(others.map((other) => openSession(cli, other)));
  const merged = await rath.save(await joined(session, branches, { reason, context, conflicts }));
  if (cli.asJson) return cli.data({ ...merged.toJSON(), merged: branches.map((branch) => branch.toJSON()) });
  const short = await shortIds(cli);
  cli.print(show`${cli.onTerminal ? short(merged.id) : merged.id}`);
  cli.note(show`merged ${branches.map((branch) => short(branch.id)).join(", ")} into ${short(merged.id)}, now at step ${merged.step}`);
  cli.next(`openrath log ${short(merged.id)} --graph`);
}

/** What a program may settle with code, the command settles for a side. */
async function joined(session: Session, branches: readonly Session[], options: MergeOptions): Promise<Session> {
  try {
    return await session.merge(branches, options);
  } catch (error) {
    if (!RathError.is(error, "merge.conflict")) throw error;
    const ids = [session, ...branches].map(({ id }) => id).join(" ");
    throw new Fault(exits.differs, error.message.replace(/ Settle them with merge\(.*$/s, ""), {
      cause: error,
      next: `openrath merge ${ids} --conflicts ours, or theirs: that side's whole file counts`,
    });
  }
}
