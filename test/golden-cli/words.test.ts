/** The words of all commands: what is printed as the next one to type can be typed, and help says "configuration" of agents alone. */
import { readdir, readFile } from "node:fs/promises";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { Cli } from "../../src/cli/cli.ts";
import { programFor } from "../../src/cli/program.ts";
import { openProject } from "../../src/cli/project.ts";
import type { Host } from "../../src/cli/terminal.ts";

/** The lines that begin with next, in everything that the golden files hold. */
async function printed(): Promise<readonly string[]> {
  const here = new URL(".", import.meta.url);
  const files = (await readdir(here)).filter((name) => name.endsWith(".txt"));
  const texts = await Promise.all(files.map((name) => readFile(new URL(name, here), "utf8")));
  const lines = texts.flatMap((text) => [...text.matchAll(/^(?:next|then): openrath ([^,\n]+)/gm)].map(([, words = ""]) => words));
  return [...new Set(lines)];
}

function everyCommand(): Promise<Command> {
  return programFor([], new Cli({ out: {}, err: {}, env: {} } as Host, openProject));
}

function commandOf(program: Command, words: readonly string[]): Command | undefined {
  const one = program.commands.find((command) => command.name() === words[0]);
  return one?.commands.find((command) => command.name() === words[1]) ?? one;
}

// Mutant: `openrath scan` prints `openrath erase --event ID`, which needs --reason.
test("every next command that is printed has the options without which it is refused", async () => {
  const program = await everyCommand();
  const wrong = (await printed()).filter((line) => {
    const words = line.split(" ");
    const command = commandOf(program, words);
    return command === undefined || command.options.some(({ mandatory, long }) => mandatory && !words.includes(long ?? ""));
  });
  expect(wrong).toEqual([]);
});

test("help calls openrath.config.ts the project file", async () => {
  const all = (await everyCommand()).commands.flatMap((command) => [command, ...command.commands]);
  const said = all.flatMap((one) => [
    ...[one.description(), one.summary()],
    ...[...one.options, ...one.registeredArguments].map(({ description }) => description),
  ]);
  expect(said.filter((text) => /configuration/i.test(text))).toEqual([]);
});
