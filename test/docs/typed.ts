/**
 * node --import tsx test/docs/typed.ts '[["ls"], ["log", "ID", "--graph"]]'
 *
 * Executes command lines of `openrath` one after the other in this folder, as a terminal of 100 columns would show them, and prints what each
 * wrote, a JSON value a line. `ID` stands for the session of the first run, `FORK` for the newest fork: they may be given as NAME=VALUE.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runCli } from "../../src/cli/program.ts";
import { type Project, projectOf } from "../../src/cli/project.ts";
import type { Rath } from "../../src/index.ts";

export interface Typed {
  readonly argv: readonly string[];
  readonly exit: number;
  /** Both streams, as they were written. */
  readonly text: string;
  readonly names: Readonly<Record<string, string>>;
}

const [commands = "[]", ...given] = process.argv.slice(2);
const names: Record<string, string> = Object.fromEntries(given.map((one) => one.split("=") as [string, string]));

let calls = 0;
/** Each command of a terminal is a process of its own, with a Rath of its own. */
async function open(): Promise<Project> {
  const file = join(process.cwd(), "openrath.config.ts");
  const { rath } = (await import(`${pathToFileURL(file).href}?${calls++}`)) as { readonly rath: Rath };
  return projectOf(rath, file);
}

for (const words of JSON.parse(commands) as string[][]) {
  const argv = words.map((word) => word.replace(/\b(ID|FORK)\b/g, (name) => names[name] ?? name));
  let text = "";
  const terminal = {
    columns: 100,
    isTTY: true,
    write: (part: string): void => {
      text += part;
    },
  };
  const host = {
    ...{ out: terminal, err: terminal, env: process.env, cwd: process.cwd(), now: () => new Date() },
    ...{ signal: new AbortController().signal, input: { isTTY: false, text: async () => "", lines: async function* () {} } },
  };
  const exit = await runCli(argv, host, open);
  // What was shown while it worked, and wiped away again, is not what stands there in the end.
  text = text
    .split("\n")
    .map((line) => line.split("\u001b[K").at(-1))
    .join("\n");
  const [, session] = /session ([0-9a-f-]+)/.exec(text) ?? [];
  if (argv[0] === "run" && session !== undefined) names["ID"] ??= session;
  const [fork] = /^[0-9a-f-]+/.exec(text) ?? [];
  if (argv[0] === "fork" && fork !== undefined) names["FORK"] = fork;
  process.stdout.write(`${JSON.stringify({ argv, exit, text, names } satisfies Typed)}\n`);
}
