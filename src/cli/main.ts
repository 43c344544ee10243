#!/usr/bin/env node
import { version } from "../runtime/version.ts";
/** The command `openrath`. It imports nothing before it is needed, so that it starts at once. */
import { projectsOwn } from "./hand-over.ts";

const argv = process.argv.slice(2);
const own = projectsOwn(argv, process.cwd());
if (own !== undefined) await import(own);
else if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-v")) process.stdout.write(`${version()}\n`);
else await main();

async function main(): Promise<void> {
  const interruption = new AbortController();
  // The first Ctrl+C cancels the work, the second one ends the process. SIGTERM ends it at once, but for commands that heed it.
  const interrupt = (code: number): void => {
    if (interruption.signal.aborted) process.exit(code);
    interruption.abort(new Error("interrupted"));
  };
  process.on("SIGINT", () => interrupt(130));
  const isQuiet = argv.includes("--quiet") || argv.includes("-q");
  const [{ runCli }, { processHost }, { sendSpans }, { neutral }] = await Promise.all([
    import("./program.ts"),
    import("./terminal.ts"),
    import("./send-spans.ts"),
    import("../wire/neutral.ts"),
  ]);
  process.removeAllListeners("warning").on("warning", ({ name, message }) => {
    // What Node itself thinks of its modules and options is no news to the user of a command.
    if (name !== "OpenRathWarning" || isQuiet) return;
    process.stderr.write(`warning: ${neutral(message)}\n`);
  });
  const code = await runCli(
    argv,
    processHost(interruption.signal, () => void process.on("SIGTERM", () => interrupt(143))),
  );
  const unsent = await sendSpans();
  if (unsent !== undefined && !isQuiet) process.stderr.write(`warning: not all spans were sent: ${neutral(unsent)}\n`);
  // What a user's program left open must not keep the command from ending; what was written must arrive first.
  process.stderr.write("", () => process.stdout.write("", () => process.exit(code)));
}
