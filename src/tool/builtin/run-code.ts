/** The tool `run_code`: a program by its text. It is given to the interpreter as input, so that no file is left behind. */
import type { CommandResult, Tool } from "../../session/session.ts";
import { builtin } from "./builtin.ts";
import { defaultSeconds, runCommand } from "./run-command.ts";

/** What `runCode` takes; `timeout` is in seconds. */
export interface RunCodeInput {
  readonly language: string;
  readonly code: string;
  readonly timeout?: number | undefined;
}

const interpreters: Readonly<Record<string, readonly string[]>> = {
  javascript: ["node", "-"],
  python: ["python3", "-"],
  bash: ["bash", "-s"],
};
const languages = Object.keys(interpreters);

/**
 * Runs a program in the sandbox of the session and gives what it wrote. A program that fails is a result with its exit code; a
 * language that is not known, or that the sandbox has no interpreter for, is an error.
 *
 * @example
 * const counted = await session.call(runCode, { language: "python", code: "print(sum(range(10)))" });
 */
export const runCode: Tool<RunCodeInput, CommandResult> = builtin<RunCodeInput, CommandResult>({
  name: "run_code",
  description:
    `Runs a program (${languages.join(", ")}) in the root of the workspace and returns stdout, stderr and the exit code. ` +
    "Print what you want to see. The code itself is not saved. " +
    `It is stopped after ${defaultSeconds} seconds unless timeout says otherwise.`,
  properties: {
    language: { type: "string", enum: languages },
    code: { type: "string", description: "The whole program." },
    timeout: { type: "number", exclusiveMinimum: 0, description: "Seconds." },
  },
  required: ["language", "code"],
  writes: "files",
  resource: () => "*",
  run: async ({ language, code, timeout }, context) => {
    const command = Object.hasOwn(interpreters, language) ? interpreters[language] : undefined;
    if (command === undefined) throw new Error(`${JSON.stringify(language)} is not known: use ${languages.join(", ")}.`);
    const result = await runCommand(command, { timeout, stdin: code }, context);
    // A program that ends with 127 itself has said something else than that it was not found.
    if (
      result.exitCode === 127 &&
      result.stdout === "" &&
      /not found|no such file/i.test(result.stderr) &&
      result.stderr.includes(command[0] as string)
    )
      throw new Error(`This sandbox has no ${command[0]}, so ${language} cannot be run here: use another language, or another sandbox.`);
    return result;
  },
});
