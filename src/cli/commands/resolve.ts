/** `openrath resolve ID`: says what became of an effect that was started and has no result. */
import type { Command } from "commander";
import type { Decision } from "../../session/session.ts";
import type { Cli } from "../cli.ts";
import { decide, personHere } from "../decide.ts";
import { exits, Fault } from "../fault.ts";
import { parsedJson } from "../options.ts";

interface Options {
  readonly ok?: string | true;
  readonly error?: string;
  readonly again?: boolean;
  readonly by?: string;
  readonly reason?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("say what became of an effect with an unknown outcome")
    .description(
      "An effect was started, then the process died: nobody knows whether it happened, and it is not repeated by itself. Look, and say what became of it.",
    )
    .argument("<id>", "the beginning of its id")
    .option("--ok [json]", "it happened, with this result")
    .option("--error <message>", "it failed, and did not happen")
    .option("--again", "it did not happen: run it again")
    .option("--by <person>", "who says so; default: the user of this machine")
    .option("--reason <text>", "how you know, for the record")
    .action((id: string, options: Options) => decide(cli, id, "unknown", () => decisionOf(cli, options)));
}

function decisionOf(cli: Cli, { ok, error, again, by, reason }: Options): Decision {
  const given = [ok, error, again].filter((one) => one !== undefined).length;
  if (given !== 1) throw new Fault(exits.usage, "Say what became of it, with one of --ok [json], --error <message> or --again.");
  const who = { by: by ?? personHere(cli), reason };
  if (again === true) return { ...who, outcome: "run-again" };
  if (error !== undefined) return { ...who, outcome: { type: "error", message: error } };
  return { ...who, outcome: { type: "ok", value: ok === true ? null : parsedJson(ok as string, "--ok") } };
}
