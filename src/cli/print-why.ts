/** Events that led to something: on a terminal each under what it explains, else the nearest first, by their numbers. */
import { inTree, mostHops, type Why, type WhyHop } from "../audit/why.ts";
import { shortEvent } from "../wire/format.ts";
import type { Cli } from "./cli.ts";
import { printList } from "./print-list.ts";
import { shortIds } from "./sessions.ts";
import { show } from "./shown.ts";

/** Deeper ones stand under each other. */
const deepest = 12;

/** `home` is the session that was asked about. */
export async function printWhy(cli: Cli, { hops }: Why, home = hops[0]?.event.session): Promise<void> {
  const short = await shortIds(cli);
  const placed = inTree(hops);
  const shown = cli.onTerminal && !cli.asJson ? placed : [...placed].sort((a, b) => a.index - b.index);
  printList(cli, shown, {
    columns: [
      { name: "HOP", cell: () => "", plain: ({ index }) => index, optional: true },
      { name: "EXPLAINS", cell: () => "", plain: ({ hop }) => hop.explains.join(","), optional: true },
      {
        name: "RELATION",
        cell: ({ hop, depth }) => `${"  ".repeat(Math.min(depth, deepest))}${hop.relation}`,
        plain: ({ hop }) => hop.relation,
      },
      { name: "EVENT", cell: ({ hop }) => cli.ink.cyan(shortEvent(hop.event.id)), plain: ({ hop }) => hop.event.id },
      { name: "STEP", cell: ({ hop }) => hop.event.step, right: true },
      // Only what happened elsewhere says where.
      {
        name: "SESSION",
        cell: ({ hop }) => (hop.event.session === home ? "" : short(hop.event.session)),
        plain: ({ hop }) => hop.event.session,
        optional: true,
      },
      // Not cut: who took a memory back, and why, stands at the end.
      { name: "WHAT", cell: ({ hop }) => hop.summary },
    ],
    data: ({ hop }) => dataOf(hop),
    empty: show`Nothing on record led to it: a person or the program said or did it.`,
  });
  if (hops.length >= mostHops) cli.note(show`${cli.errInk.dim(`what is farther away than ${mostHops} hops is left out`)}`);
}

function dataOf({ relation, explains, event: { id, kind, session, step, by, at }, summary, evidence }: WhyHop): object {
  return { relation, explains, event: id, kind, session, step, by, at, summary, evidence };
}
