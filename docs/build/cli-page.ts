/** The reference of the command line, from the commands themselves. */
import type { Argument, Command, Option } from "commander";
import { Cli } from "../../src/cli/cli.ts";
import { exits } from "../../src/cli/fault.ts";
import { programFor } from "../../src/cli/program.ts";
import { openProject } from "../../src/cli/project.ts";
import { processHost } from "../../src/cli/terminal.ts";
import { blocks, code, plain, table } from "./markdown.ts";

const sharedGroup = "Output:";

export async function cliPage(): Promise<string> {
  const program = await programFor(
    [],
    new Cli(
      processHost(new AbortController().signal, () => {}),
      openProject,
    ),
  );
  const groups = new Map<string, Command[]>();
  for (const command of program.commands) {
    const heading = command.helpGroup().replace(":", "");
    groups.set(heading, [...(groups.get(heading) ?? []), command]);
  }
  return blocks(
    "---\noutline: [2, 3]\n---",
    "# Command line",
    "Made from the commands themselves: `openrath help COMMAND` says the same on a terminal. They work on the project file " +
      "`openrath.config.ts` (or `.mts`, `.js`, `.mjs`), found from the current folder upwards, which exports `rath`. Data is on stdout, the rest on stderr. " +
      "Ids may be shortened to a beginning that only one has; `ID@step` and `ID@event` name a place in the past.",
    ...[...groups].flatMap(([heading, commands]) => [`## ${heading}`, ...commands.flatMap((command) => section(command))]),
    "## What every command takes",
    optionTable(program.options.filter(({ helpGroupHeading }) => helpGroupHeading === sharedGroup)),
    "## Exit codes",
    table(
      ["code", "meaning"],
      Object.entries(exits).map(([name, number]) => [String(number), exitWords(name)]),
    ),
  );
}

/** `notFound` → `not found`. */
function exitWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function section(command: Command, above = "openrath"): readonly string[] {
  const path = `${above} ${command.name()}`;
  const own = command.options.filter(({ helpGroupHeading, hidden }) => helpGroupHeading !== sharedGroup && !hidden);
  const usage = [path, ...command.registeredArguments.map(argumentTerm), ...(own.length > 0 ? ["[options]"] : [])].join(" ");
  const inner = command.commands.flatMap((one) => section(one, path));
  return [
    `${above === "openrath" ? "###" : "####"} ${path} {#${path.replaceAll(" ", "-")}}`,
    plain(command.description() === "" ? `${sentence(command.summary())}` : command.description()),
    ...(inner.length > 0 && command.registeredArguments.length === 0 && own.length === 0 ? [] : [`\`\`\`sh\n${usage}\n\`\`\``]),
    table(
      ["argument", ""],
      command.registeredArguments.map((argument) => [code(argumentTerm(argument)), plain(argument.description)]),
    ),
    optionTable(own),
    ...inner,
  ];
}

function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}

function argumentTerm(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function optionTable(options: readonly Option[]): string {
  return table(
    ["option", ""],
    options.map(({ flags, description, defaultValue, mandatory }) => {
      const usual = defaultValue === undefined || typeof defaultValue === "boolean" ? "" : ` (default: ${String(defaultValue)})`;
      return [code(flags), plain(`${description}${usual}${mandatory ? " (required)" : ""}`)];
    }),
  );
}
