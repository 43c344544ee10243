/** What `shell` and `run_code` have in common: a command that is run to its end, told as it goes, and shortened for its reader. */
import type { CommandResult, ToolContext } from "../../session/session.ts";
import { progressOf } from "./progress.ts";
import { shorten } from "./shorten.ts";

/** A command that nobody gave a time may be one that never ends. */
export const defaultSeconds = 120;

export async function runCommand(
  command: string | readonly string[],
  { timeout = defaultSeconds, stdin }: { readonly timeout?: number | undefined; readonly stdin?: string | undefined },
  context: ToolContext,
): Promise<CommandResult> {
  const told = progressOf(context);
  const result = await context.sandbox.exec(command, {
    stdin,
    signal: context.signal,
    timeoutMs: timeout * 1000,
    onOutput: (_, text) => told.add(text),
  });
  told.end();
  return { ...result, stdout: shorten(result.stdout), stderr: shorten(result.stderr) };
}
