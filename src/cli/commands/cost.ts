/** `openrath cost ID`: tokens, money and time, by branch, agent, model, tool or run; limits that were reached, and interruptions. */
import { type Command, Option } from "commander";
import { type Cost, type CostBy, type CostRow, cost, crossedText, interruptedText } from "../../audit/cost.ts";
import { count, exact, money, plural, seconds, shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { type Column, printList } from "../print-list.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

export function define(command: Command, cli: Cli): void {
  command
    .summary("show what a session cost")
    .description(
      "Adds up tokens, money and time over every branch of a session, also those that were rejected; says where limits were reached and where runs were interrupted. Results that a rerun took from the record are not paid twice.",
    )
    .argument("<id>", "a session")
    .addOption(new Option("--by <what>", "what each line is about").choices(["branch", "agent", "model", "tool", "run"]).default("branch"))
    .action((id: string, { by }: { readonly by: CostBy }) => print(cli, id, by));
}

async function print(cli: Cli, id: string, by: CostBy): Promise<void> {
  const session = await openSession(cli, id);
  const found = await cost(session, { by });
  const short = await shortIds(cli);
  // One value: what belongs to no row, limits and interruptions are part of the answer.
  if (cli.settings.json === true) return cli.data(found);
  printList(cli, found.rows, {
    columns: columns(by, ({ name, label }) =>
      by === "branch" || by === "run" ? `${short(name)}${label === undefined ? "" : ` ${label}`}` : name,
    ),
    data: ({ name, calls, failed, reused, ms, usage }) => ({ [by]: name, calls, failed, reused, ms, ...usage }),
    empty: show`Nothing was spent: session ${short(session.id)} has no ${by === "tool" ? "call of a tool" : by === "model" ? "call of a model" : "effect"} on record.`,
  });
  if (!cli.onTerminal) return;
  if (found.rows.length > 0) cli.note(show`${cli.errInk.dim(remark(found))}`);
  for (const one of found.crossed) cli.note(show`${cli.errInk.yellow(crossedText(one))} ${cli.errInk.dim(`(${shortEvent(one.event)})`)}`);
  for (const one of found.interrupted) cli.note(show`${cli.errInk.yellow(interruptedText({ ...one, run: short(one.run) }))}`);
}

function columns(by: CostBy, named: (row: CostRow) => string): readonly Column<CostRow>[] {
  const some = (value: number): string => (value > 0 ? count(value) : "");
  return [
    { name: by.toUpperCase(), cell: named, plain: ({ name }) => name },
    { name: "CALLS", cell: ({ calls }) => calls, right: true },
    { name: "FAILED", cell: ({ failed }) => some(failed), plain: ({ failed }) => failed, right: true, optional: true },
    { name: "INPUT", cell: ({ usage }) => some(usage.input), plain: ({ usage }) => usage.input, right: true, optional: true },
    { name: "CACHED", cell: ({ usage }) => some(usage.cached), plain: ({ usage }) => usage.cached, right: true, optional: true },
    { name: "OUTPUT", cell: ({ usage }) => some(usage.output), plain: ({ usage }) => usage.output, right: true, optional: true },
    { name: "REASONING", cell: ({ usage }) => some(usage.reasoning), plain: ({ usage }) => usage.reasoning, right: true, optional: true },
    { name: "COST", cell: ({ usage }) => money(usage.usd), plain: ({ usage }) => exact(usage.usd), right: true },
    { name: "TIME", cell: ({ ms }) => seconds(ms), plain: ({ ms }) => ms, right: true },
    { name: "REUSED", cell: ({ reused }) => some(reused), plain: ({ reused }) => reused, right: true, optional: true },
  ];
}

function remark({ by, total, rest, usage, unpriced }: Cost): string {
  const all = `${money(total.usage.usd)} on all branches, ${money(usage.usd)} of it in this session's own past`;
  const outside = by === "tool" && rest.usage.usd > 0 ? `; ${money(rest.usage.usd)} outside of tools` : "";
  return unpriced.length === 0
    ? `${all}${outside}`
    : `${all}${outside}; ${plural(unpriced.length, "call")} without a price (first: ${shortEvent(unpriced[0] as string)})`;
}
