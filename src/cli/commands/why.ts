/** `openrath why ID [TARGET]`: the events that led to a line, an event, a memory, an answer or a route. */
import type { Command } from "commander";
import { type WhyTarget, why } from "../../audit/why.ts";
import { isMemoryUri } from "../../session/memory-uri.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { printWhy } from "../print-why.ts";
import { openSession } from "../sessions.ts";

export function define(command: Command, cli: Cli): void {
  command
    .summary("show the events that led to something")
    .description(
      "Shows what led to something, nearest first: the call that wrote it, the reply that made the call, what the model had before it, and the memories among that, with the events that justify them. What was in context is not said to be the cause.",
    )
    .argument("<id>", "a session, or a place in it: ID@step")
    .argument("[target]", "PATH:LINE, event=ID, memory=NAME, answer=WORDS or route=CHOICE; the newest answer when left out")
    .action(async (id: string, target: string | undefined) => {
      const asked = targetOf(target);
      await printWhy(cli, await why(await openSession(cli, id), asked));
    });
}

function targetOf(given: string | undefined): WhyTarget {
  if (given === undefined) return { answer: "" };
  if (isMemoryUri(given)) return { memory: given };
  const [, kind = "", name = ""] = /^(event|memory|answer|route)=(.*)$/s.exec(given) ?? [];
  switch (kind) {
    case "event":
      return { event: name.toLowerCase() };
    case "memory":
      return { memory: name };
    case "answer":
      return { answer: name };
    case "route":
      return { route: name };
    default:
      if (/^.+:[1-9]\d*$/s.test(given)) return given as `${string}:${number}`;
      throw new Fault(exits.usage, `${given} names nothing that can be asked about.`, {
        next: "give PATH:LINE, event=ID, memory=NAME, answer=WORDS or route=CHOICE",
      });
  }
}
