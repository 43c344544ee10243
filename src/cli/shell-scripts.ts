/** Scripts that complete command lines: made from what the commands say of themselves, for each shell in its own words. */
import type { Argument, Command, Option } from "commander";
import { shellWord } from "./shell-word.ts";

/** What a word may be. */
type Words = "ids" | "files" | "nothing";

interface Choice {
  readonly option: Option;
  /** Undefined for one that takes no value. */
  readonly values: readonly string[] | "any" | undefined;
}

/** One command, with what may follow it. */
interface Described {
  /** Its words, without the first: "approvals ls". */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly Choice[];
  readonly words: Words;
}

export const shells = ["bash", "zsh", "fish"] as const;

/** The script that a shell reads. */
export function shellScript(shell: (typeof shells)[number], program: Command): string {
  const all = described(program, "");
  switch (shell) {
    case "bash":
      return bash(all);
    case "zsh":
      return zsh(all);
    case "fish":
      return fish(all);
    default:
      return shell satisfies never;
  }
}

function described(command: Command, path: string): readonly Described[] {
  const shown = command.createHelp().visibleCommands(command);
  const commands = shown.map((one) => ({ name: one.name(), summary: one.summary() || one.description() }));
  const options = command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      option,
      values: option.required || option.optional ? (option.argChoices ?? ("any" as const)) : undefined,
    }));
  const inner = shown
    .filter((one) => one.name() !== "help")
    .flatMap((one) => described(one, path === "" ? one.name() : `${path} ${one.name()}`));
  return [{ path, commands, options, words: wordsOf(command.registeredArguments) }, ...inner];
}

const named: ReadonlySet<string> = new Set(["id", "ids", "session", "from", "to", "into", "others"]);

function wordsOf(given: readonly Argument[]): Words {
  if (given.some((argument) => named.has(argument.name()))) return "ids";
  return given.length === 0 ? "nothing" : "files";
}

function flagsOf({ option }: Choice): readonly string[] {
  return [option.long, option.short].flatMap((flag) => flag ?? []);
}

function bash(all: readonly Described[]): string {
  const paths = all.flatMap(({ path }) => (path === "" ? [] : [`"${path}"`])).join("|");
  const cases = all.map(
    ({ path, commands, options, words }) =>
      `    "${path}") commands="${commands.map(({ name }) => name).join(" ")}" options="${options.flatMap(flagsOf).join(" ")}" kind="${words}" ;;`,
  );
  return `# Completes openrath in bash. Once: openrath completion bash > ~/.local/share/bash-completion/completions/openrath
_openrath() {
  local word index path="" commands="" options="" kind="" values=""
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "\${path:+$path }$word" in
    ${paths}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  case "$path $before" in
${valueCases(all, (values) => (values === "any" ? `kind="files" values=" "` : `values="${values.join(" ")}"`)).join("\n")}
  esac
  COMPREPLY=()
  if [ "$values" = " " ]; then COMPREPLY=($(compgen -f -- "$current"))
  elif [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [ "\${current:0:1}" = "-" ]; then COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [ -n "$commands" ]; then COMPREPLY=($(compgen -W "$commands" -- "$current"))
  elif [ "$kind" = "ids" ]; then COMPREPLY=($(compgen -W "$(openrath completion ids 2>/dev/null | cut -f1)" -- "$current"))
  elif [ "$kind" = "files" ]; then COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -F _openrath openrath
`;
}

/** Lines of a case over "path option", for options that take a value. */
function valueCases(all: readonly Described[], does: (values: readonly string[] | "any") => string): readonly string[] {
  return all.flatMap(({ path, options }) =>
    options.flatMap((choice) =>
      choice.values === undefined
        ? []
        : [
            `    ${flagsOf(choice)
              .map((flag) => `"${path} ${flag}"`)
              .join("|")}) ${does(choice.values)} ;;`,
          ],
    ),
  );
}

function zsh(all: readonly Described[]): string {
  // In a description a colon ends the word it describes.
  const item = (name: string, about: string): string => shellWord(`${name.replaceAll(":", "\\:")}:${about}`);
  const paths = all.flatMap(({ path }) => (path === "" ? [] : [`"${path}"`])).join("|");
  const cases = all.map(({ path, commands, options, words }) => {
    const inner = commands.map(({ name, summary }) => item(name, summary)).join(" ");
    const flags = options.flatMap((choice) => flagsOf(choice).map((flag) => item(flag, choice.option.description))).join(" ");
    return `    "${path}") commands=(${inner}); options=(${flags}); kind=${words} ;;`;
  });
  return `#compdef openrath
# Completes openrath in zsh. Once: openrath completion zsh > a folder of $fpath, as _openrath
_openrath() {
  local word where kind=nothing before="\${words[CURRENT-1]}"
  local -a commands options values
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${where:+$where }$word" in
    ${paths}) where="\${where:+$where }$word" ;;
    esac
  done
  case "$where" in
${cases.join("\n")}
  esac
  case "$where $before" in
${valueCases(all, (values) => (values === "any" ? "_files; return" : `values=(${values.map(shellWord).join(" ")})`)).join("\n")}
  esac
  if (( \${#values} )); then compadd -a values
  elif [[ "\${words[CURRENT]}" == -* ]]; then _describe option options
  elif (( \${#commands} )); then _describe command commands
  elif [[ $kind == ids ]]; then
    local -a ids
    ids=("\${(@f)$(openrath completion ids 2>/dev/null)}")
    ids=("\${(@)ids/$'\\t'/:}")
    _describe -V session ids
  elif [[ $kind == files ]]; then _files
  fi
}
if [ "$funcstack[1]" = "_openrath" ]; then _openrath "$@"; else compdef _openrath openrath; fi
`;
}

function fish(all: readonly Described[]): string {
  const lines = all.flatMap(({ path, commands, options, words }) => {
    const inner = commands.map(({ name }) => name).join(" ");
    const depth =
      path === ""
        ? "__fish_use_subcommand"
        : path
            .split(" ")
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join("; and ");
    const here = `complete -c openrath -n ${shellWord(path !== "" && inner !== "" ? `${depth}; and not __fish_seen_subcommand_from ${inner}` : depth)}`;
    return [
      ...commands.map(({ name, summary }) => `${here} -a ${shellWord(name)} -d ${shellWord(summary)}`),
      ...options.map(({ option, values }) => {
        const flags = [option.long && `-l ${option.long.slice(2)}`, option.short && `-s ${option.short.slice(1)}`]
          .filter(Boolean)
          .join(" ");
        const takes = values === undefined ? "" : values === "any" ? " -r -F" : ` -x -a ${shellWord(values.join(" "))}`;
        return `complete -c openrath -n ${shellWord(path === "" ? "true" : depth)} ${flags}${takes} -d ${shellWord(option.description)}`;
      }),
      ...(words === "ids" ? [`${here} -k -a '(openrath completion ids 2>/dev/null)'`] : []),
      ...(words === "files" ? [`${here} -F`] : []),
    ];
  });
  return `# Completes openrath in fish. Once: openrath completion fish > ~/.config/fish/completions/openrath.fish
complete -c openrath -f
${lines.join("\n")}
`;
}
