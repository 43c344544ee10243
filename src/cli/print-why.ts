/** A chain of events that led to something: one hop a line, the nearest first. */
import { mostHops, type Why, type WhyHop } from "../audit/why.ts";
import { shortEvent } from "../wire/format.ts";
import type { Cli } from "./cli.ts";
import { printList } from "./print-list.ts";
import { shortIds } from "./sessions.ts";
import { show } from "./shown.ts";

export async function printWhy(cli: Cli, { hops }: Why): Promise<void> {
  const short = await shortIds(cli);
  const home = hops[0]?.event.session;
  printList(cli, hops, {
    columns: [
      { name: "RELATION", cell: ({ relation }) => relation },
      { name: "EVENT", cell: ({ event }) => cli.ink.cyan(shortEvent(event.id)), plain: ({ event }) => event.id },
      { name: "STEP", cell: ({ event }) => event.step, right: true },
      // Only what happened elsewhere says where.
      {
        name: "SESSION",
        cell: ({ event }) => (event.session === home ? "" : short(event.session)),
        plain: ({ event }) => event.session,
        optional: true,
      },
      // Not cut: who took a memory back, and why, stands at the end.
      { name: "WHAT", cell: ({ summary }) => summary },
    ],
    data: dataOf,
    empty: show`Nothing on record led to it: a person or the program said or did it.`,
  });
  if (hops.length >= mostHops) cli.note(show`${cli.errInk.dim(`what is farther away than ${mostHops} hops is left out`)}`);
}

function dataOf({ relation, event: { id, kind, session, step, by, at }, summary }: WhyHop): object {
  return { relation, event: id, kind, session, step, by, at, summary };
}
