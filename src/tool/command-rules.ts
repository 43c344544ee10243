/**
 * Rules about commands and paths, for the place where commands are run and files are opened. A command line is read as a shell
 * would; what cannot be read, or hides another command, is refused. A list of what is allowed is a wall; a list of what is denied
 * keeps from mistakes only, since there are many ways to say one thing.
 */
import { baseName, hiddenIn, scriptOf, unseenVariable } from "./hidden-command.ts";
import { matches, mayMatch } from "./pattern.ts";
import { commandsOf, type ParsedCommand, type SimpleCommand } from "./shell-commands.ts";
import { unknown, type Word } from "./shell-words.ts";
import { workspacePath } from "./workspace-path.ts";

/** Patterns, matched against the words of each simple command with one space between them. */
export interface CommandRules {
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
}

/** No shell takes more than this as one argument. */
const mostCharacters = 131_072;

/** Every command in it. A list is one command, unless it is a shell with a command line. */
export function readCommand(command: string | readonly string[]): ParsedCommand {
  if (typeof command !== "string") {
    const script = scriptOf(command);
    if (script !== undefined) return readCommand(script);
    if (command.length === 0) return { problem: "it is empty" };
    if (command.some((part) => part.includes(unknown))) return { problem: "it has a NUL character" };
    return { commands: [{ assignments: [], words: command.map(literal), redirections: [] }] };
  }
  return command.length > mostCharacters ? { problem: `it is longer than ${mostCharacters} characters` } : commandsOf(command);
}

/** Why rules refuse these commands, or undefined. */
export function refusedByRules(rules: CommandRules, commands: readonly SimpleCommand[]): string | undefined {
  for (const command of commands) {
    const hidden = hiddenIn(command);
    if (hidden !== undefined) return `the policy cannot see what is run, because ${hidden}: give the command itself`;
    const reason = refusedOne(rules, command);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function refusedOne({ allow, deny }: CommandRules, command: SimpleCommand): string | undefined {
  // Redirections alone run nothing.
  if (command.words.length + command.assignments.length === 0) return undefined;
  const shown = shownOf(command);
  if (deny?.some((pattern) => formsOf(command).some((form) => mayMatch(pattern, form, unknown))))
    return `the policy denies the command ${shown}`;
  if (allow === undefined) return undefined;
  // What is known only when it runs is allowed where anything is: no other character of a pattern stands for it.
  const unseen = unseenVariable(command);
  const text = `${unseen === undefined ? "" : unknown}${joined([...command.assignments, ...command.words])}`;
  if (allow.some((pattern) => matches(pattern, text))) return undefined;
  const why = unseen ?? (command.words.length === 0 ? "without a rule only loops set variables, with names like x, file or i2" : undefined);
  return `the policy does not allow the command ${shown}${why === undefined ? "" : `: ${why}`}`;
}

/** All that a denied pattern may mean: with and without what is set before it, by its path and by its name. */
function formsOf({ assignments, words }: SimpleCommand): readonly string[] {
  const [name, ...rest] = words;
  if (name === undefined) return [tight(assignments)];
  const named = [{ ...name, text: baseName(name.text) }, ...rest];
  return [
    tight(words),
    tight(named),
    ...(assignments.length === 0 ? [] : [tight([...assignments, ...words]), tight([...assignments, ...named])]),
  ];
}

function joined(words: readonly Word[]): string {
  return words.map(({ text }) => text).join(" ");
}

/** A word that may become nothing takes its space with it. */
function tight(words: readonly Word[]): string {
  return words.map(({ text, splits }, index) => (index === 0 || (splits && text === unknown) ? text : ` ${text}`)).join("");
}

function shownOf({ assignments, words }: SimpleCommand): string {
  const text = joined([...assignments, ...words]).replaceAll(unknown, "…");
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

function literal(text: string): Word {
  return { kind: "word", text, bare: false, splits: false, assigns: false };
}

/** Whether a path, from the root of the workspace and with its links followed, is under one of the roots. */
export function isUnder(roots: readonly string[], path: string): boolean {
  const inside = workspacePath(path);
  if (inside === undefined) return false;
  return roots.some((root) => {
    const above = workspacePath(root);
    return above === "." || inside === above || inside.startsWith(`${above}/`);
  });
}

/** Files that are none. */
const devices = /^\/dev\/(?:null|zero|stdin|stdout|stderr|tty|fd\/\d+)$/;
const moving: ReadonlySet<string> = new Set(["cd", "pushd", "popd"]);

/** Why commands may not be connected with the files they name, or undefined. Links in them are not followed here. */
export function refusedRedirection(roots: readonly string[], commands: readonly SimpleCommand[], cwd: string): string | undefined {
  const moves = commands.some(({ words: [name] }) => name !== undefined && (name.text.includes(unknown) || moving.has(name.text)));
  for (const { text } of commands.flatMap(({ redirections }) => redirections)) {
    if (devices.test(text)) continue;
    const shown = JSON.stringify(text.replaceAll(unknown, "…"));
    if (text.includes(unknown) || (moves && !text.startsWith("/")))
      return `the policy limits files to ${roots.join(", ")}, and which file ${shown} is, is known only when the command runs: name it from the root of the workspace`;
    const path = workspacePath(text, cwd);
    if (path === undefined || !isUnder(roots, path)) return `the policy limits files to ${roots.join(", ")}: ${shown} is not among them`;
  }
  return undefined;
}
