/**
 * Commands that run another command which a rule would not see. Where rules about commands apply they are refused, and whoever
 * asked is told to give the command itself.
 */
import { mayMatch } from "./pattern.ts";
import type { SimpleCommand } from "./shell-commands.ts";
import { unknown, type Word } from "./shell-words.ts";

const running: ReadonlySet<string> = new Set(
  [
    "eval source . exec command builtin alias trap enable coproc mapfile readarray bind complete compgen fc",
    "env sudo su doas pkexec runuser xargs parallel nohup nice ionice chrt taskset time timeout stdbuf unbuffer setsid setpriv chroot unshare nsenter flock",
    "strace ltrace gdb watch script expect entr busybox toybox start-stop-daemon systemd-run at batch zsh ksh mksh fish csh tcsh pwsh",
  ].flatMap((names) => names.split(" ")),
);
const shells: ReadonlySet<string> = new Set(["sh", "bash", "dash", "ash", "rbash"]);
/** They read a subscript as arithmetic, which may run commands. */
const evaluating: ReadonlySet<string> = new Set("test [ printf read let declare typeset local export readonly unset wait".split(" "));
const findRuns = ["-exec", "-execdir", "-ok", "-okdir"];

/** Why it cannot be seen what is run, or undefined. */
export function hiddenIn({ assignments, words }: SimpleCommand): string | undefined {
  if (assignments.some(({ text }) => /\$\(|`/.test(text))) return "a variable is set to a command";
  const [name, ...rest] = words;
  if (name === undefined) return undefined;
  if (name.text.includes(unknown)) return "the name of the command is known only when it runs";
  // Joined with the rest by spaces, "git x/evil" would look like git.
  if (/[\s=]/.test(name.text)) return "the name of the command has a blank or an equals sign in it";
  const program = baseName(name.text);
  if (running.has(program) && !isQuestion(program, rest)) return `"${program}" runs another command`;
  if (shells.has(program) && !isScript(rest)) return `"${program}" runs commands of its own`;
  if (program === "find" && rest.some(mayRun)) return '"find" may run another command';
  if (evaluating.has(program) && rest.some(evaluates)) return `"${program}" runs a command inside [ ]`;
  return undefined;
}

/**
 * Why it cannot be seen which variable it sets, or looks at with a subscript that is evaluated; or undefined. Only of those that do
 * it by an option: `read` and `export` are for nothing else, and as safe as the pattern that allows them.
 */
export function unseenVariable({ words: [name, ...rest] }: SimpleCommand): string | undefined {
  if (name === undefined || naming.get(name.text)?.(rest) !== true) return undefined;
  return `"${name.text}" may be given the name of a variable: quote what is put in, and leave that option out`;
}

const naming: ReadonlyMap<string, (rest: readonly Word[]) => boolean> = new Map([
  ["printf", ([first]) => first !== undefined && mayMatch("-v*", first.text, unknown)],
  ["wait", (rest) => rest.some(({ text }) => mayMatch("-*p*", text, unknown))],
  ["test", looksAtVariable],
  ["[", looksAtVariable],
]);

function looksAtVariable(rest: readonly Word[]): boolean {
  return rest.some(({ text, splits }, at) => splits || (mayMatch("-v", text, unknown) && /[\0[]/.test(rest[at + 1]?.text ?? "")));
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The text that a shell is given to run by `sh -c`, as a list; undefined when it is no such list. */
export function scriptOf([name = "", ...rest]: readonly string[]): string | undefined {
  if (!/^(?:\/(?:usr\/)?bin\/)?(?:sh|bash|dash)$/.test(name)) return undefined;
  const at = rest.findIndex((option) => !/^-[eulx]+$/.test(option));
  const [option = "", script] = rest.slice(at);
  return /^-[eulx]*c$/.test(option) && script !== undefined && !/^[-+]/.test(script) ? script : undefined;
}

/** Asks where a command is, or prints the environment. */
function isQuestion(program: string, rest: readonly Word[]): boolean {
  if (program === "env") return rest.length === 0;
  return program === "command" && /^-[vV]$/.test(rest[0]?.text ?? "");
}

/** A shell that runs a file, which is a command like any other. */
function isScript(rest: readonly Word[]): boolean {
  const file = rest.find(({ text }) => !/^-[eunvx]+$/.test(text));
  return file !== undefined && file.text !== "" && !/^[-+\0]/.test(file.text);
}

function evaluates({ text }: Word): boolean {
  const at = text.indexOf("[");
  return at >= 0 && /\$\(|`/.test(text.slice(at));
}

function mayRun(word: Word): boolean {
  return word.splits || findRuns.some((option) => mayMatch(option, word.text, unknown));
}
