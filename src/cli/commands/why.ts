/** `openrath why ID [TARGET]`: the events that led to a line, an answer, an event, a call, a memory, a route, a check or a cost. */
import type { Command } from "commander";
import { type WhyTarget, why } from "../../audit/why.ts";
import { isMemoryUri } from "../../session/memory-uri.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { printWhy } from "../print-why.ts";
import { openSession } from "../sessions.ts";

const targets =
  "PATH:LINE, answer=WORDS, event=ID, call=TOOL or call=ID, memory=NAME, route=CHOICE, check=NAME, cost, cost=MODEL or cost=budget";

export function define(command: Command, cli: Cli): void {
  command
    .summary("show the events that led to something")
    .description(
      "Shows what led to something, each event under the one it explains: the call that wrote it, the reply that made the call, what the model had before it, and the memories among that, with the events that justify them. What was in context is not said to be the cause. When piped, each line begins with its number and the numbers of those it explains.",
    )
    .argument("<id>", "a session, or a place in it: ID@step")
    .argument("[target]", `${targets}; the newest answer when left out`)
    .action(async (id: string, target: string | undefined) => {
      const asked = targetOf(target);
      const session = await openSession(cli, id);
      await printWhy(cli, await why(session, asked), session.id);
    });
}

function targetOf(given: string | undefined): WhyTarget {
  if (given === undefined) return { answer: "" };
  if (isMemoryUri(given)) return { memory: given };
  const [, kind = "", name = ""] = /^(answer|event|call|memory|route|check|cost)(?:=(.*))?$/s.exec(given) ?? [];
  switch (kind) {
    case "answer":
      return { answer: name };
    case "event":
      return { event: name.toLowerCase() };
    case "call":
      return { call: name };
    case "memory":
      return { memory: name };
    case "route":
      return { route: name };
    case "check":
      return { check: name };
    case "cost":
      return { cost: name };
    default:
      if (/^.+:[1-9]\d*$/s.test(given)) return given as `${string}:${number}`;
      throw new Fault(exits.usage, `${given} names nothing that can be asked about.`, { next: `give ${targets}` });
  }
}
